import { expect, test } from "vitest";
import { LIGHT } from "../../drawing/colours.ts";
import { cellSize, dots, rampBytes } from "./thumbnail.ts";

test("each dot has the colour of its weight", () => {
  const weights = { shape: [1, 3], data: Float32Array.of(0, 0.5, 1) };
  const found = dots(weights, rampBytes(LIGHT.heat), 1);
  const hex = (at: number) =>
    `#${[0, 1, 2].map((part) => (found[4 * at + part] ?? 0).toString(16).padStart(2, "0")).join("")}`;
  expect([hex(0), hex(1), hex(2)]).toEqual([LIGHT.heat[0], LIGHT.heat[24], LIGHT.heat[48]]);
  expect([found[3], found[7], found[11]]).toEqual([255, 255, 255]);
});

test("colours may end at the largest weight", () => {
  const weights = { shape: [1, 1], data: Float32Array.of(0.25) };
  const bytes = rampBytes(LIGHT.heat);
  expect([...dots(weights, bytes, 0.25)]).toEqual([...bytes.subarray(3 * 48), 255]);
});

test("cells are never smaller than the hatching needs nor larger than a label", () => {
  expect(cellSize(60, 60)).toBe(3);
  expect(cellSize(300, 10)).toBe(3);
  expect(cellSize(4, 4)).toBe(24);
  expect(cellSize(12, 16)).toBe(12);
});
