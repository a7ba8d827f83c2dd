import { expect, test } from "vitest";
import { sentences, weightsFor } from "./madeUp.ts";
import { largest, readColumn, readRow, shareOn, told } from "./reading.ts";

const NONE: ReadonlySet<number> = new Set();

test("a row is read best first and always adds up to what the network gave", () => {
  for (let seed = 1; seed <= 30; seed++) {
    for (const side of ["encoder", "decoder", "cross"] as const) {
      const of = sentences(side);
      const weights = weightsFor(of, seed);
      of.queries.forEach((_, row) => {
        const found = readRow(weights, row, of, new Set([1]), 2);
        expect(found.total).toBeCloseTo(1, 5);
        const shown = found.top.reduce((sum, one) => sum + one.weight, 0);
        expect(shown + found.others.weight + found.hidden.weight).toBeCloseTo(1, 5);
        expect(found.top.map((one) => one.weight)).toEqual(
          found.top.map((one) => one.weight).sort((a, b) => b - a),
        );
        expect(found.top.map((one) => one.place)).not.toContain(1);
      });
    }
  }
});

test("hiding a column never changes the numbers of the others", () => {
  const of = sentences("cross");
  const weights = weightsFor(of, 7);
  const before = readRow(weights, 1, of, NONE, 9).top.filter((one) => one.place !== 3);
  expect(readRow(weights, 1, of, new Set([3]), 9).top).toEqual(before);
});

test("masked tokens are counted, not listed", () => {
  const of = sentences("decoder");
  const weights = weightsFor(of, 3);
  expect(readRow(weights, 0, of, NONE, 9)).toMatchObject({ masked: 2, top: [{ place: 0 }] });
  expect(readColumn(weights, 2, of, 9)).toMatchObject({ masked: 2, top: [{ place: 2 }] });
});

test("a column holds what all rows give it", () => {
  const of = sentences("cross");
  const weights = weightsFor(of, 5);
  const total = of.keys.reduce(
    (sum, _, column) => sum + readColumn(weights, column, of, 9).total,
    0,
  );
  expect(total).toBeCloseTo(of.queries.length, 5);
});

test("the share on some columns is the mean over rows", () => {
  const weights = { shape: [2, 2], data: Float32Array.of(0.25, 0.75, 0.5, 0.5) };
  expect(shareOn(weights, new Set([0]))).toBe(0.375);
  expect(shareOn(weights, new Set([0, 1]))).toBe(1);
  expect(largest(weights)).toBe(0.75);
});

test("words that occur twice are told apart by their place", () => {
  expect(told(["a", "b", "a"])).toEqual(["a (0)", "b", "a (2)"]);
});
