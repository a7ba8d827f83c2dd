import { expect, test } from "vitest";
import { randoms } from "../attention/madeUp.ts";
import { gelu, largestPlaces, layerNorm, lengthOf, products, silu, sum } from "./arithmetic.ts";

test("a normalised vector has the mean 0 and the variance 1", () => {
  const random = randoms(3);
  const x = Float32Array.from({ length: 64 }, () => 5 * random() + 2);
  const ones = x.map(() => 1);
  const { unit, result, mean } = layerNorm(x, ones, ones, 0);
  expect(sum(unit)).toBeCloseTo(0, 6);
  expect(sum(unit.map((value) => value * value)) / 64).toBeCloseTo(1, 6);
  expect(result[7]).toBeCloseTo((unit[7] ?? 0) + 1, 12);
  expect(mean).toBeCloseTo(sum(x) / 64, 6);
});

test("ε keeps a constant vector from being divided by 0", () => {
  const zeros = [0, 0];
  expect([...layerNorm([3, 3], [1, 1], zeros, 1e-5).result]).toEqual(zeros);
});

test("the activations are those of their papers", () => {
  // Φ(1) = 0.841344746, from any table.
  expect(gelu(1)).toBeCloseTo(0.841344746, 6);
  expect(gelu(-1)).toBeCloseTo(-0.158655254, 6);
  expect(gelu(0)).toBe(0);
  expect(silu(2)).toBeCloseTo(2 / (1 + Math.exp(-2)), 12);
});

test("products, lengths and largest places", () => {
  expect(products([1, 2], [3, -4])).toEqual([3, -8]);
  expect(lengthOf([3, 4])).toBe(5);
  expect(largestPlaces([0.5, -3, 2], 2)).toEqual([1, 2]);
});
