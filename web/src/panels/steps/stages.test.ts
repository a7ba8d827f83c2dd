import { expect, test } from "vitest";
import { nextStage, STAGES, stageOf } from "./stages.ts";

test("the six steps are played in order and end", () => {
  const played = [];
  for (let at = nextStage(null); at !== null; at = nextStage(at)) played.push(at);
  expect(played).toEqual([1, 2, 3, 4, 5, 6]);
  expect(STAGES.map(({ stage }) => stage)).toEqual(played);
});

test("an address that names no step shows all", () => {
  expect(stageOf("3")).toBe(3);
  for (const word of [undefined, "", "0", "7", "3.0", "x"]) expect(stageOf(word)).toBeNull();
});
