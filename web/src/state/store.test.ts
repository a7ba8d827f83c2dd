import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeTrace } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { tensor } from "../api/tensors.ts";
import type { Trace } from "../api/types.ts";
import { useLayers } from "../panels/attention/inView.ts";
import { format, HOME } from "./address.ts";
import { notices, putAllAway, tell } from "./notices.ts";
import { newText, retry } from "./store.ts";
import { useLens, useTensor } from "./useTensor.ts";

test("a new text has nothing of what was forced or looked at in the old one", () => {
  const old = { ...HOME, text: "chat noir", prefix: [4, 5], step: 3, query: 2, layer: 1 };
  expect(format({ ...old, ...newText("livre") })).toBe("#/translate?text=livre&layer=2");
});

afterEach(putAllAway);

test("a notice says whether asking again may help", () => {
  tell(new Problem(0, "Not copied", "The browser refused."));
  tell(new Problem(0, "No answer", "Is it still running?"), { again: true });
  expect(notices.value.map(({ again }) => again)).toEqual([false, true]);
});

test("a problem is shown once", () => {
  for (let times = 0; times < 3; times++) tell(new Problem(0, "No answer", "Is it running?"));
  expect(notices.value).toHaveLength(1);
});

const drawn = vi.hoisted(() => ({ last: "", redraws: 0, later: null as (() => void)[] | null }));

// One component with one effect: it runs when what it depends on has changed, or `later`.
vi.mock("preact/hooks", () => ({
  useState: () => [undefined, () => drawn.redraws++],
  useEffect: (effect: () => void, on: unknown[]) => {
    const now = JSON.stringify(on);
    if (now !== drawn.last) {
      if (drawn.later) drawn.later.push(effect);
      else effect();
    }
    drawn.last = now;
  },
}));

let asked = 0;

beforeEach(() => {
  asked = 0;
  Object.assign(drawn, { last: "", redraws: 0, later: null });
  vi.stubGlobal("fetch", async (path: string) => {
    if (path === "v1/trace") return Response.json({ id: "1", model: { encoder_layers: 1 } });
    asked += 1;
    return new Response("{}", { status: 500 });
  });
});

afterEach(() => {
  putAllAway();
  vi.unstubAllGlobals();
});

test.each<[string, (trace: Trace) => unknown]>([
  ["a tensor", (trace) => useTensor(trace, "logits", [0])],
  ["the lenses", useLens],
  ["the weights of all layers", (trace) => useLayers(trace, "encoder")],
])("%s that did not come can be asked for again", async (_name, use) => {
  const trace = await makeTrace({ text: "chat" });
  const failed = () => expect(notices.value.map(({ again }) => again)).toEqual([true]);
  use(trace);
  await vi.waitFor(failed);
  use(trace);
  expect(asked).toBe(1);
  putAllAway();
  retry();
  use(trace);
  await vi.waitFor(failed);
  expect(asked).toBe(2);
});

test("a tensor that arrives between a drawing and its effect is drawn", async () => {
  const trace = await makeTrace({ text: "chat" });
  const headers = { "X-Shape": "2" };
  vi.stubGlobal("fetch", async () => new Response(new Float32Array([1, 2]), { headers }));
  const arrived = tensor(trace, "logits");
  const later: (() => void)[] = [];
  drawn.later = later;
  expect(useTensor(trace, "logits")).toBeUndefined();
  await arrived;
  for (const effect of later) effect();
  await vi.waitFor(() => expect(drawn.redraws).toBe(1));
  expect(useTensor(trace, "logits")?.data).toEqual(new Float32Array([1, 2]));
});
