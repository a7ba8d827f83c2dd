import { expect, test } from "vitest";
import type { Model, ModelList } from "../api/types.ts";
import { HOME } from "./address.ts";
import {
  baselineRequest,
  findModel,
  findTarget,
  listSources,
  notServed,
  oneSentence,
  streamRequest,
  traceRequest,
} from "./requests.ts";

function model(name: string, directions: [string, string][], more: Partial<Model> = {}): Model {
  const targets = [...new Set(directions.map(([, into]) => into))];
  const search = { method: "beam", beam: 4, n_best: 1, length_penalty: 0.6 } as Model["search"];
  return { name, directions, targets, search, default: false, ...more } as Model;
}

const LIST = {
  models: [
    model("small", [["fr", "en"]]),
    model(
      "both",
      [
        ["fr", "en"],
        ["en", "fr"],
        ["de", "en"],
      ],
      { default: true },
    ),
  ],
  limits: { max_n_best: 3 },
} as unknown as ModelList;

test("what an address asks for and is not served is told", () => {
  expect(notServed(LIST, HOME)).toBeNull();
  expect(notServed(undefined, { ...HOME, model: "gone" })).toBeNull();
  expect(notServed(LIST, { ...HOME, model: "small", target: "en" })).toBeNull();
  expect(notServed(LIST, { ...HOME, model: "gone" })).toBe(
    "This server has no model “gone”. Showing “both” instead.",
  );
  expect(notServed(LIST, { ...HOME, target: "ja" })).toBe(
    "“both” does not translate into “ja”. Showing “en” instead.",
  );
});

test("the named model, else the default one", () => {
  expect(findModel(LIST, HOME)?.name).toBe("both");
  expect(findModel(LIST, { ...HOME, model: "small" })?.name).toBe("small");
  expect(findModel(LIST, { ...HOME, model: "gone" })?.name).toBe("both");
  expect(findModel(undefined, HOME)).toBeUndefined();
});

test("the target that the model has, and the sources that go there", () => {
  const both = LIST.models[1];
  expect(findTarget(both, HOME)).toBe("en");
  expect(findTarget(both, { ...HOME, target: "fr" })).toBe("fr");
  expect(findTarget(both, { ...HOME, target: "ja" })).toBe("en");
  expect(listSources(both, "en")).toEqual(["fr", "de"]);
});

test("several pasted lines become one sentence", () => {
  expect(oneSentence("  Le chat\r\n\r\n noir\tdort. ")).toBe("Le chat noir dort.");
});

test("a trace is asked for with what was changed, and only that", () => {
  expect(traceRequest({ ...HOME, text: " \n" }, LIST)).toBeNull();
  expect(traceRequest({ ...HOME, text: "a" }, undefined)).toBeNull();
  expect(traceRequest({ ...HOME, text: "a\nb", step: 3, temperature: 2 }, LIST)).toEqual({
    text: "a b",
    model: "both",
    target: "en",
    search: { n_best: 1 },
    level: "full",
  });
  const without = [{ side: "cross" as const, layer: 0, head: 1 }];
  const changed = traceRequest(
    { ...HOME, text: "a", method: "greedy", beam: 2, alpha: 0, prefix: [7], without },
    LIST,
  );
  expect(changed).toMatchObject({
    search: { method: "greedy", length_penalty: 0, n_best: 1 },
    prefix: [7],
    without,
  });
  expect(baselineRequest(changed)).toEqual({
    text: "a",
    model: "both",
    target: "en",
    level: "full",
    search: { method: "greedy", length_penalty: 0, n_best: 1 },
  });
});

test("alternatives: as many as the beam finds and the server allows", () => {
  const best = (changes: object) =>
    streamRequest({ ...HOME, text: "a\nb", ...changes }, LIST)?.search?.n_best;
  expect(best({})).toBe(3);
  expect(best({ beam: 2 })).toBe(2);
  expect(best({ method: "greedy" })).toBe(1);
  expect(streamRequest({ ...HOME, text: "a\nb" }, LIST)?.text).toBe("a\nb");
});
