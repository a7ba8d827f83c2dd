import { expect, test } from "vitest";
import { LIGHT } from "../../drawing/colours.ts";
import { type Numbers, sumReach } from "./numbers.ts";
import { sheetPicture, sheetTable } from "./picture.ts";
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

const numbers: Numbers = {
  q: Float32Array.of(1, 2),
  k: [Float32Array.of(1, 0), Float32Array.of(0, 1)],
  v: [Float32Array.of(4, 0), Float32Array.of(0, -8)],
  raw: Float32Array.of(1, 2),
  scaled: Float32Array.of(0.5, 1),
  mask: Float32Array.of(0, Number.NEGATIVE_INFINITY),
  weights: Float32Array.of(1, 0),
  output: Float32Array.of(4, 0),
};

test("the saved table has all numbers, and −∞ as such", () => {
  const { columns, rows } = sheetTable({ numbers, keys: ["a", "b"] });
  expect(columns).toEqual([
    ...["key", "q·k", "scaled", "mask", "exponential", "weight"],
    ...["k0", "k1", "v0", "v1"],
  ]);
  expect(rows[0]).toEqual(["a", 1, 0.5, 0, Math.exp(0.5), 1, 1, 0, 4, 0]);
  expect(rows[1]).toEqual(["b", 2, 1, "−∞", 0, 0, 0, 1, 0, -8]);
  expect(rows[2]?.slice(6)).toEqual([1, 2, "", ""]);
  expect(rows[3]?.slice(6)).toEqual(["", "", 4, 0]);
});

test("the picture writes the numbers and hatches what is hidden", () => {
  const sheet = { title: "T", numbers, query: "x", keys: ["a", "b"], chosen: 0 };
  const { svg } = sheetPicture(sheet, LIGHT);
  for (const words of ["2.000", "0.500", "−∞", "1.649", "1.0000", "÷ √2"]) {
    expect(svg).toContain(`>${words}<`);
  }
  expect(svg.match(/url\(#hatch\)/g)).toHaveLength(1);
  // q, two keys, two values, two weighted values and the sum, two cells each.
  expect(svg.match(/height="17"/g)).toHaveLength(8 * 2);
});

test("weighted values and their sum share one scale", () => {
  expect(sumReach(numbers)).toBe(4);
});
