import { expect, test } from "vitest";
import { LIGHT } from "../../drawing/colours.ts";
import { buildCurves, drawPath, FAINTEST, isInView, layOutStage, strength } from "./curves.ts";
import { cellSize, dots, rampBytes } from "./HeadGrid.tsx";
import { sentences, weightsFor } from "./madeUp.ts";
import { arcsPicture, headsPicture, headsTable, weightsTable } from "./pictures.ts";
import { labels } from "./tokens.ts";

test("a saved table has every weight at full precision", () => {
  const of = sentences("cross");
  const weights = weightsFor(of, 9);
  const table = weightsTable(weights, labels(of.queries), labels(of.keys));
  expect(table.columns).toHaveLength(1 + of.keys.length);
  expect(table.rows.flatMap((row) => row.slice(1))).toEqual([...weights.data]);
});

test("the table of heads has one row per head and no number for what cannot be", () => {
  const table = headsTable([
    {
      ...{ side: "decoder", layer: 1, head: 0, role: "mixed", rule: "" },
      ...{ entropy: 1, evenness: 0.5, distance: 1, queries: 2, shares: { previous: 0.4 } },
    },
  ]);
  const row = table.rows[0] ?? [];
  expect(row.slice(0, 2)).toEqual([2, 1]);
  expect(row[table.columns.indexOf("next")]).toBe("");
  expect(row[table.columns.indexOf("previous")]).toBeGreaterThan(0);
});

test("the saved lines are as many as the drawn ones, and labels stay text", () => {
  const of = sentences("cross");
  const stage = layOutStage(of, [40, 40, 40], [40, 40, 40, 40]);
  const curves = buildCurves(weightsFor(of, 3), of, stage, new Set());
  const names = { queries: ["<s>", "a", "b"], keys: ["w", "x", "y", "z"] };
  const { svg } = arcsPicture("A & B", stage, curves, names, 1, LIGHT);
  expect(svg.match(/<path /g)).toHaveLength(curves.length);
  expect(svg.match(/<text /g)).toHaveLength(1 + 3 + 4);
  expect(svg).not.toContain("<s>");
  expect(svg).toContain("A &#38; B");
});

test("the overview has an image and a caption a head, inside its edges", () => {
  const heads = [0, 1].flatMap((layer) =>
    [0, 1, 2].map((head) => ({ layer, head, image: "data:,", caption: `head ${head}` })),
  );
  const { svg, width, height } = headsPicture("All heads", heads, [4, 8], LIGHT);
  expect(svg.match(/<image /g)).toHaveLength(6);
  for (const [, x, y, w, h] of svg.matchAll(
    /<image x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g,
  )) {
    expect(Number(x) + Number(w)).toBeLessThan(width);
    expect(Number(y) + Number(h)).toBeLessThan(height);
    expect(Number(w)).toBe(2 * Number(h));
  }
});

const NONE: ReadonlySet<number> = new Set();
const SIDES = ["encoder", "decoder", "cross"] as const;

const stageFor = (side: (typeof SIDES)[number]) => {
  const of = sentences(side);
  return {
    of,
    stage: layOutStage(
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
    const found = buildCurves(weights, of, stage, NONE);
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
  for (const { points } of buildCurves(weightsFor(of, 2), of, stage, NONE)) {
    expect(points[3]).toBeLessThan(stage.queries.top);
  }
  const encoder = stageFor("encoder");
  for (const { row, column, points } of buildCurves(
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
  const found = buildCurves(weightsFor(of, 4), of, stage, new Set([3]));
  expect(found.some((one) => one.column === 3)).toBe(false);
});

test("a curve is written as a path, stronger ones thicker", () => {
  const curve = { row: 0, column: 1, weight: 0.5, points: [0, 1, 2, 3, 4, 5, 6, 7.25] as const };
  expect(drawPath(curve)).toBe("M0 1C2 3 4 5 6 7.3");
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
