import { expect, test } from "vitest";
import { events, takeEvents } from "./events.ts";

const STREAM =
  'event: partial\ndata: {"stable":"Le é 語 🙂"}\n\n: a sign of life\n\nevent: done\r\ndata: a\r\ndata: b\r\n\r\n';
const FOUND = [
  { name: "partial", data: '{"stable":"Le é 語 🙂"}' },
  { name: "done", data: "a\nb" },
];

function body(pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

async function all<T>(found: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of found) list.push(one);
  return list;
}

test("events are the same however the bytes are cut", async () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const found = await all(events(body([bytes.slice(0, cut), bytes.slice(cut)])));
    expect(found, `cut at ${cut}`).toEqual(FOUND);
  }
});

test("bytes that come one by one give the same events", async () => {
  const bytes = [...new TextEncoder().encode(STREAM)].map((byte) => Uint8Array.of(byte));
  expect(await all(events(body(bytes)))).toEqual(FOUND);
});

test("what is not whole waits", () => {
  expect(takeEvents("data: a\n\ndata: b\n")).toEqual({
    events: [{ name: "message", data: "a" }],
    rest: "data: b\n",
  });
});
