/** One server-sent event. */
export interface ServerEvent {
  name: string;
  data: string;
}

/** Take the whole events off the front of a text; return them and what is left. */
export function takeEvents(text: string): { events: ServerEvent[]; rest: string } {
  const blocks = text.replace(/\r\n?/g, "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  return { events: blocks.map(readEvent).filter((event) => event.data !== ""), rest };
}

function readEvent(block: string): ServerEvent {
  const event: ServerEvent = { name: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event.name = value;
    if (field === "data") event.data += event.data === "" ? value : `\n${value}`;
  }
  return event;
}

/** The events of a response's body, as they arrive. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      waiting += done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true });
      // A \r at the end may be half of \r\n: it waits for the rest.
      const half = waiting.endsWith("\r") ? "\r" : "";
      const taken = takeEvents(waiting.slice(0, waiting.length - half.length));
      waiting = taken.rest + half;
      yield* taken.events;
      if (done) return;
    }
  } finally {
    await reader.cancel();
  }
}
