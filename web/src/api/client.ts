/** The server's API as functions. Each throws a Problem when the server refuses. */
import { signal } from "@preact/signals";
import { Problem, readProblem } from "./problem.ts";
import { cannot, saved, savedFilm } from "./saved.ts";
import { passing } from "./storage.ts";
import type {
  Film,
  FilmRequest,
  HeadMargins,
  HeadMarginsRequest,
  Lens,
  ModelList,
  PartialTranslation,
  PatchCellsRequest,
  PatchedAnswer,
  RepeatRequest,
  Repetition,
  Run,
  RunEvents,
  StreamDone,
  StreamRequest,
  Trace,
  TraceRequest,
  TranslateAnswer,
  TranslateRequest,
} from "./types.ts";

export { asProblem, isAbort, Problem } from "./problem.ts";

const KEY = "translucid-key";

/** Whether the server has refused a request for want of a key; the frame then asks for one. */
export const keyWanted = signal(false);

/** Whether the key that was sent is a wrong one. */
export const keyRefused = signal(false);

/** Whether a word can be a key: a header carries printable ASCII, and a key has no spaces. */
export function canBeKey(word: string): boolean {
  return /^[\x21-\x7e]+$/.test(word);
}

/** Keep the API key until the tab is closed. */
export function setKey(key: string): void {
  passing.set(KEY, key);
  keyWanted.value = false;
}

/** The key that is kept; one that no header can carry is dropped. */
function keptKey(): string | null {
  const key = passing.get(KEY);
  if (key === null || canBeKey(key)) return key;
  passing.set(KEY, null);
  return null;
}

function headers(json: boolean): Record<string, string> {
  const key = keptKey();
  return {
    ...(json ? { "Content-Type": "application/json" } : {}),
    ...(key ? { Authorization: `Bearer ${key}` } : {}),
  };
}

/** Send a request to the server; addresses are relative, so that a proxy's path is kept. */
async function send(path: string, body?: unknown, abort?: AbortSignal): Promise<Response> {
  if (saved) throw cannot("ask the network");
  const posting = body !== undefined;
  const asked: RequestInit = {
    method: posting ? "POST" : "GET",
    headers: new Headers(headers(posting)),
    ...(posting ? { body: JSON.stringify(body) } : {}),
    ...(abort ? { signal: abort } : {}),
  };
  let response: Response;
  try {
    response = await fetch(path, asked);
  } catch (error) {
    if (error instanceof TypeError) {
      throw new Problem(0, "No answer", "The server does not answer. Is it still running?");
    }
    throw error;
  }
  if (response.ok) return response;
  if (response.status === 401) {
    keyRefused.value = passing.get(KEY) !== null;
    keyWanted.value = true;
  }
  throw await readProblem(response);
}

async function json<T>(path: string, body?: unknown, abort?: AbortSignal): Promise<T> {
  return (await send(path, body, abort)).json() as Promise<T>;
}

/** The models that are served, and what the server allows. */
export function listModels(abort?: AbortSignal): Promise<ModelList> {
  if (!saved) return json<ModelList>("v1/models", undefined, abort);
  const { version, model, run } = saved;
  return Promise.resolve({ version, models: [model], limits: {}, runs: run !== null });
}

const vocabularies = new Map<string, Promise<string[]>>();

/** The pieces of a model's vocabulary by id; asked for once. */
export function vocabulary(model: string): Promise<string[]> {
  if (saved) return Promise.resolve(saved.vocabulary ?? []);
  const known = vocabularies.get(model);
  if (known) return known;
  const asked = json<{ pieces: string[] }>(
    `v1/models/${encodeURIComponent(model)}/vocabulary`,
  ).then((answer) => answer.pieces);
  asked.catch(() => vocabularies.delete(model));
  vocabularies.set(model, asked);
  return asked;
}

/** Translations of several texts. */
export const translate = (request: TranslateRequest, abort?: AbortSignal) =>
  json<TranslateAnswer>("v1/translate", request, abort);

/** The training runs that the server shows. */
export function listRuns(abort?: AbortSignal): Promise<Run[]> {
  if (saved) return Promise.resolve(saved.run ? [saved.run.run] : []);
  return json<{ runs: Run[] }>("v1/runs", undefined, abort).then((answer) => answer.runs);
}

/** A run's events from a place in its file on. */
export async function runEvents(
  name: string,
  after: number,
  abort?: AbortSignal,
): Promise<RunEvents> {
  // A saved run does not go on, whatever its state was.
  if (saved) {
    const events = saved.run?.events ?? [];
    return { events, next: 0, state: "finished", more: false, restarted: false, unreadable: 0 };
  }
  const path = `v1/runs/${encodeURIComponent(name)}/events?after=${after}`;
  return json<RunEvents>(path, undefined, abort);
}

/** One head on one sentence, checkpoint after checkpoint. */
export function film(name: string, request: FilmRequest, abort?: AbortSignal): Promise<Film> {
  if (saved) return savedFilm(saved, request);
  return json<Film>(`v1/runs/${encodeURIComponent(name)}/film`, request, abort);
}

/** What a stream tells while it goes on, and once at its end. */
interface StreamListener {
  partial: (soFar: PartialTranslation) => void;
  done: (end: StreamDone) => void;
}

/** Translate one text and hear of every step; resolves after `done`. */
export async function streamTranslation(
  request: StreamRequest,
  listener: StreamListener,
  abort?: AbortSignal,
): Promise<void> {
  const response = await send("v1/translate/stream", request, abort);
  if (!response.body) throw new Problem(0, "No stream", "The server sent no stream.");
  for await (const event of events(response.body)) {
    const data = JSON.parse(event.data);
    if (event.name === "partial") listener.partial(data as PartialTranslation);
    if (event.name === "problem")
      throw new Problem(data.status, data.title, data.detail, data.type);
    if (event.name === "done") {
      listener.done(data as StreamDone);
      return;
    }
  }
  throw new Problem(0, "Cut short", "The server ended the stream before the translation was done.");
}

/** How a trace can be made again, and the id under which the server knows it now. */
interface Origin {
  request: TraceRequest;
  id: string;
  again: Promise<void> | null;
}

const origins = new WeakMap<Trace, Origin>();

/** Translate a text and record everything on the way. */
export async function makeTrace(request: TraceRequest, abort?: AbortSignal): Promise<Trace> {
  const trace = await json<Trace>("v1/trace", request, abort);
  origins.set(trace, { request, id: trace.id, again: null });
  return trace;
}

/**
 * Ask for a part of a trace. The server keeps traces for a while only: one that it has forgotten
 * is made again, once, and has the same numbers because nothing in it is left to chance. Only
 * another model has others: a server that was started anew may have one.
 */
export async function sendOfTrace(trace: Trace, path: string): Promise<Response> {
  const origin = origins.get(trace) as Origin; // makeTrace makes all traces
  const asked = origin.id;
  try {
    return await send(`v1/trace/${asked}/${path}`);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
  }
  if (origin.id === asked) {
    origin.again ??= json<Trace>("v1/trace", origin.request)
      .then((made) => {
        if (made.model_hash !== trace.model_hash) throw anotherModel(trace.model_name);
        origin.id = made.id;
      })
      .finally(() => {
        origin.again = null;
      });
    await origin.again;
  }
  return send(`v1/trace/${origin.id}/${path}`);
}

function anotherModel(name: string): Problem {
  const detail = `The server has another model “${name}” now. Reload the page to look into that one.`;
  return new Problem(0, "Another model", detail);
}

/** The present page with this trace inside, as one HTML file, and a name for it. */
export async function savedPage(
  trace: Trace,
  hash: string,
): Promise<{ name: string; content: Blob }> {
  const query = new URLSearchParams({ address: hash });
  const response = await sendOfTrace(trace, `page?${query}`);
  const [, name] =
    /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
  return { name: name ?? "trace.html", content: await response.blob() };
}

/** What two runs do with some cells of each other. */
export const patchCells = (request: PatchCellsRequest, abort?: AbortSignal) =>
  json<PatchedAnswer>("v1/patch/cells", request, abort);

/** One decision with each head switched off by itself. */
export const tryHeads = (request: HeadMarginsRequest, abort?: AbortSignal) =>
  json<HeadMargins>("v1/heads", request, abort);

/** The same decision in other sentences. */
export const repeatPatch = (request: RepeatRequest, abort?: AbortSignal) =>
  json<Repetition>("v1/patch/repeat", request, abort);

const lenses = new WeakMap<Trace, Promise<Lens>>();

/** The logit lens and the decoder lens of a trace; asked for once. */
export function lens(trace: Trace): Promise<Lens> {
  if (saved) {
    const here = saved.lens;
    return here ? Promise.resolve(here) : Promise.reject(cannot("read layers early"));
  }
  const known = lenses.get(trace);
  if (known) return known;
  const asked = sendOfTrace(trace, "lens").then((response) => response.json() as Promise<Lens>);
  asked.catch(() => lenses.delete(trace));
  lenses.set(trace, asked);
  return asked;
}

/** One server-sent event. */
interface ServerEvent {
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
