import { expect, test } from "vitest";
import { changedKeys } from "./keep.ts";

test("keys are changed one by one, and an empty word takes one away", () => {
  const keys = { run: "a", at: "300", scale: "own" };
  expect(changedKeys(keys, { at: "", frame: "2" })).toEqual({ run: "a", scale: "own", frame: "2" });
  expect(keys.at).toBe("300");
});
