import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HOME } from "../state/address.ts";
import { fixed } from "../state/store.ts";
import {
  canBeKey,
  events,
  listModels,
  makeTrace,
  sendOfTrace,
  setKey,
  takeEvents,
} from "./client.ts";
import { asProblem, readProblem } from "./problem.ts";
import { locateTensor, type Saved, saved } from "./saved.ts";
import { kept, passing } from "./storage.ts";
import { attentionName, part, readFloats, type Tensor, value } from "./tensors.ts";

const KEY = "translucid-key";

let sent: { path: string; request: RequestInit }[] = [];

/** A server that answers as `answer` says. */
function serve(answer: (path: string) => Response): void {
  vi.stubGlobal("fetch", async (path: string, request: RequestInit) => {
    sent.push({ path, request });
    return answer(path);
  });
}

beforeEach(() => {
  sent = [];
});

afterEach(() => {
  passing.set(KEY, null);
  vi.unstubAllGlobals();
});

/** A server that has forgotten the trace "first" and makes it again, with the model `hash`. */
async function forgotten(hash: string): Promise<Response> {
  const made = [
    { id: "first", model_name: "fr-en", model_hash: "old" },
    { id: "second", model_name: "fr-en", model_hash: hash },
  ];
  serve((path) => {
    if (path === "v1/trace") return Response.json(made.shift());
    if (path.startsWith("v1/trace/first/")) return new Response("gone", { status: 404 });
    return new Response("the lens of the second");
  });
  return sendOfTrace(await makeTrace({ text: "chat" }), "lens");
}

test("a trace that the server has forgotten is made again", async () => {
  expect(await (await forgotten("old")).text()).toBe("the lens of the second");
});

test("a trace is not made again by another model", async () => {
  await expect(forgotten("new")).rejects.toMatchObject({
    title: "Another model",
    detail: "The server has another model “fr-en” now. Reload the page to look into that one.",
  });
  expect(sent.some(({ path }) => path.startsWith("v1/trace/second"))).toBe(false);
});

test("a key is printable ASCII without spaces", () => {
  expect(["a1-_~!", "x"].every(canBeKey)).toBe(true);
  expect(["", "two words", "cut…", "clé", "tab\t", "line\n"].some(canBeKey)).toBe(false);
});

test("a key is sent; one that no header can carry is dropped, and the server asked without", async () => {
  serve(() => Response.json({ models: [] }));
  const authorization = (): string | null =>
    new Headers(sent.at(-1)?.request.headers).get("Authorization");
  setKey("secret");
  await listModels();
  expect(authorization()).toBe("Bearer secret");
  setKey("secr…");
  await listModels();
  expect(authorization()).toBeNull();
  expect(passing.get(KEY)).toBeNull();
});

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

function refused(status: number, body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers });
}

test("the server's own words are kept", async () => {
  const body = JSON.stringify({ title: "Queue full", detail: "64 wait; try later", type: "/p/q" });
  const problem = await readProblem(refused(429, body, { "Retry-After": "3" }));
  expect(problem).toMatchObject({
    status: 429,
    title: "Queue full",
    detail: "64 wait; try later",
    type: "/p/q",
    retryAfter: 3,
  });
});

test("faults of fields stand in for a missing detail", async () => {
  const faults = [
    { where: "search.beam", problem: "17 is above 16" },
    { where: "text", problem: "missing" },
  ];
  const problem = await readProblem(refused(422, JSON.stringify({ title: "Bad fields", faults })));
  expect(problem.detail).toBe("search.beam: 17 is above 16; text: missing");
});

test("a body that is no JSON is told as it is, cut", async () => {
  const problem = await readProblem(refused(502, `<h1>Bad gateway</h1>${"x".repeat(999)}`));
  expect(problem.status).toBe(502);
  expect(problem.detail).toHaveLength(300);
  expect(problem.retryAfter).toBeNull();
});

test("any error becomes a problem", () => {
  expect(asProblem(new Error("odd"))).toMatchObject({ status: 0, detail: "odd" });
  expect(asProblem("word").detail).toBe("word");
});

const SHAPE = [2, 3, 4];
const cube: Tensor = { shape: SHAPE, data: Float32Array.from({ length: 24 }, (_, i) => i) };

test("a value, and the same value by way of parts", () => {
  for (let i = 0; i < 2; i++) {
    for (let j = 0; j < 3; j++) {
      for (let k = 0; k < 4; k++) {
        expect(value(cube, i, j, k)).toBe(i * 12 + j * 4 + k);
        expect(value(part(cube, i), j, k)).toBe(value(cube, i, j, k));
        expect(part(part(cube, i), j).data[k]).toBe(value(cube, i, j, k));
      }
    }
  }
});

test("a part is a view and has the shape of what is left", () => {
  expect(part(cube, 1).shape).toEqual([3, 4]);
  expect(part(cube, 1).data.buffer).toBe(cube.data.buffer);
  expect(part(cube).data).toEqual(cube.data);
});

test("what lies outside is refused with its place", () => {
  expect(() => value(cube, 0, 3, 0)).toThrow("index 3 of axis 1 is outside [2,3,4]");
  expect(() => value(cube, 0, 1)).toThrow("no number at [0,1] in a tensor of the shape [2,3,4]");
  expect(() => part(cube, -1)).toThrow("index -1 of axis 0");
});

test("bytes are read as little-endian numbers, −∞ too", () => {
  const view = new DataView(new ArrayBuffer(12));
  [1.5, Number.NEGATIVE_INFINITY, -0.1].forEach((number, at) => {
    view.setFloat32(4 * at, number, true);
  });
  expect([...readFloats(view.buffer)]).toEqual([1.5, Number.NEGATIVE_INFINITY, Math.fround(-0.1)]);
});

test("names of attentions", () => {
  expect(attentionName("encoder", 0)).toBe("encoder.0.self_attention");
  expect(attentionName("decoder", 2)).toBe("decoder.2.self_attention");
  expect(attentionName("cross", 1)).toBe("decoder.1.cross_attention");
});

test("a page of a server has nothing saved inside", () => {
  expect(saved).toBeNull();
});

test("tensors stand one after another in the order of their names", () => {
  const tensors = { one: [2, 3], two: [4], three: [1, 1, 5], nothing: [0, 7] };
  expect(locateTensor(tensors, "one")).toEqual({ shape: [2, 3], start: 0, end: 6 });
  expect(locateTensor(tensors, "three")).toEqual({ shape: [1, 1, 5], start: 10, end: 15 });
  expect(locateTensor(tensors, "nothing")).toEqual({ shape: [0, 7], start: 15, end: 15 });
  expect(locateTensor(tensors, "four")).toBeNull();
});

test("what a saved page cannot compute anew stays as it was, the rest of an address is free", () => {
  const steps = [7, 8, 9].map((id) => ({ token: { id } }));
  const without = [{ side: "cross", layer: 0, head: 1 }];
  const of = { trace: { source: "Le chat", prefix_length: 2, steps, without } };
  const asked = { ...HOME, text: "Autre", beam: 9, prefix: [], panel: "lens" as const, layer: 3 };
  expect(fixed(asked, of as unknown as Saved)).toEqual({
    ...asked,
    view: "explore",
    text: "Le chat",
    prefix: [7, 8],
    without,
    beam: null,
  });
});

const refusing = kept(() => {
  throw new DOMException("denied", "SecurityError");
});

function browsers(): Storage {
  const words = new Map<string, string>();
  return {
    getItem: (name: string) => words.get(name) ?? null,
    setItem: (name: string, word: string) => words.set(name, word),
    removeItem: (name: string) => words.delete(name),
  } as unknown as Storage;
}

test("what was kept is there for the next page", () => {
  const storage = browsers();
  kept(() => storage).set("theme", "dark");
  const next = kept(() => storage);
  expect(next.get("theme")).toBe("dark");
  next.set("theme", null);
  expect(next.get("theme")).toBeNull();
  expect(kept(() => storage).get("theme")).toBeNull();
});

test("a browser that keeps nothing breaks nothing", () => {
  expect(refusing.get("theme")).toBeNull();
  refusing.set("theme", "dark");
  expect(refusing.get("theme")).toBe("dark");
  refusing.set("theme", null);
  expect(refusing.get("theme")).toBeNull();
  expect(kept(() => undefined).get("theme")).toBeNull();
});

test("faults of ours are not hidden", () => {
  const wrong = kept(() => {
    throw new TypeError("ours");
  });
  expect(() => wrong.get("theme")).toThrow("ours");
});
