import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { canBeKey, listModels, makeTrace, sendOfTrace, setKey } from "./client.ts";
import { passing } from "./storage.ts";

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
