import { expect, it } from "vitest";
import { wholeOf, withExtra } from "./extra.ts";

it("sets some keys, takes others away, and leaves the rest", () => {
  const before = { seed: "3", tree: "both", grow: "1" };
  expect(withExtra(before, { seed: "4", grow: null })).toEqual({ seed: "4", tree: "both" });
  expect(before.grow).toBe("1");
});

it("reads whole numbers only, and bounds them", () => {
  expect(wholeOf("12", 100, 7)).toBe(12);
  expect(wholeOf("120", 100, 7)).toBe(100);
  for (const word of [undefined, "", "-1", "1.5", "x", "1e9", "99999999999"]) {
    expect(wholeOf(word, 100, 7)).toBe(7);
    expect(wholeOf(word, 100, null)).toBeNull();
  }
});
