import { expect, test } from "vitest";
import { curvesOf, FAINTEST, isInView, pathOf, stageOf, strength } from "./curves.ts";
import { sentences, weightsFor } from "./madeUp.ts";

const NONE: ReadonlySet<number> = new Set();
const SIDES = ["encoder", "decoder", "cross"] as const;

const stageFor = (side: (typeof SIDES)[number]) => {
  const of = sentences(side);
  return {
    of,
    stage: stageOf(
      of,
      of.queries.map(() => 40),
      of.keys.map(() => 60),
    ),
  };
};

test("tokens of a row do not touch and stay inside the drawing", () => {
  for (const side of SIDES) {
    const { stage } = stageFor(side);
    for (const row of [stage.queries, stage.keys]) {
      const left = row.middles.map((middle, at) => middle - (row.widths[at] ?? 0) / 2);
      const right = row.middles.map((middle, at) => middle + (row.widths[at] ?? 0) / 2);
      expect(Math.min(...left)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...right)).toBeLessThanOrEqual(stage.width);
      for (let at = 1; at < left.length; at++) {
        expect(left[at]).toBeGreaterThan(right[at - 1] as number);
      }
      expect(row.top + 28).toBeLessThanOrEqual(stage.height);
    }
  }
});

test("every weight of note is a line from its query to its key, strong ones last", () => {
  for (const side of SIDES) {
    const { of, stage } = stageFor(side);
    const weights = weightsFor(of, 11);
    const found = curvesOf(weights, of, stage, NONE);
    const expected = weights.data.filter((one) => one >= FAINTEST).length;
    expect(found).toHaveLength(expected);
    expect(found.map((one) => one.weight)).toEqual([...found.map((one) => one.weight)].sort());
    for (const { row, column, points } of found) {
      if (side !== "cross" && row === column) continue;
      expect(points[0]).toBe(stage.queries.middles[row]);
      expect(points[6]).toBe(stage.keys.middles[column]);
    }
  }
});

test("the decoder only looks back, above its row; the encoder looks ahead below", () => {
  const { of, stage } = stageFor("decoder");
  for (const { points } of curvesOf(weightsFor(of, 2), of, stage, NONE)) {
    expect(points[3]).toBeLessThan(stage.queries.top);
  }
  const encoder = stageFor("encoder");
  for (const { row, column, points } of curvesOf(
    weightsFor(encoder.of, 2),
    encoder.of,
    encoder.stage,
    NONE,
  )) {
    if (column > row) expect(points[3]).toBeGreaterThan(encoder.stage.queries.top);
    for (const y of [points[3], points[5]].map((peak) => (peak + 0) as number)) {
      // A cubic reaches three quarters of the way to its control points.
      const base = column > row ? encoder.stage.queries.top + 28 : encoder.stage.queries.top;
      const peak = base + (y - base) * 0.75;
      expect(peak).toBeGreaterThanOrEqual(0);
      expect(peak).toBeLessThanOrEqual(encoder.stage.height);
    }
  }
});

test("hidden columns have no lines", () => {
  const { of, stage } = stageFor("cross");
  const found = curvesOf(weightsFor(of, 4), of, stage, new Set([3]));
  expect(found.some((one) => one.column === 3)).toBe(false);
});

test("a curve is written as a path, stronger ones thicker", () => {
  const curve = { row: 0, column: 1, weight: 0.5, points: [0, 1, 2, 3, 4, 5, 6, 7.25] as const };
  expect(pathOf(curve)).toBe("M0 1C2 3 4 5 6 7.3");
  expect(strength(1).width).toBeGreaterThan(strength(0.1).width);
  expect(strength(1).opacity).toBeLessThanOrEqual(1);
});

const curve = (from: number, to: number) => ({
  row: 0,
  column: 1,
  weight: 0.5,
  points: [from, 0, from, 9, to, 9, to, 0] as const,
});

test("lines that begin, end or pass over what is on the screen are drawn, others are not", () => {
  const view = { left: 1000, width: 500 };
  for (const [from, to] of [
    [1200, 1300],
    [200, 1100],
    [1400, 3000],
    [3000, 100],
  ] as const) {
    expect(isInView(curve(from, to), view)).toBe(true);
  }
  expect(isInView(curve(100, 900), view)).toBe(false);
  expect(isInView(curve(2000, 1600), view)).toBe(false);
});
