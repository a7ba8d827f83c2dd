import { expect, test } from "vitest";
import type { LensCell } from "../../api/types.ts";
import {
  COLUMNS,
  logitRows,
  readingTable,
  settledCounts,
  settlesAt,
  topProbability,
} from "./readings.ts";

const cell = (rank: number): LensCell => ({
  top: [{ id: 7, piece: "▁cat", log_prob: Math.log(0.5) }],
  log_prob: -rank,
  rank,
  entropy: 1,
});
const rows = logitRows([
  [cell(3), cell(1), cell(2)],
  [cell(1), cell(2), cell(5)],
  [cell(1), cell(1), cell(2)],
]);

test("a token settles where it is first and stays so to the end", () => {
  expect(settlesAt(rows, 0)).toBe(1);
  expect(settlesAt(rows, 1)).toBe(2);
  expect(settlesAt(rows, 2)).toBe(null);
});

test("counts of settled tokens never fall from layer to layer", () => {
  expect(settledCounts(rows)).toEqual([0, 1, 2]);
});

test("the last row is the network's own, and only that", () => {
  expect(rows.map(({ own }) => own)).toEqual([false, false, true]);
});

test("the table has a line a cell, with the numbers unrounded", () => {
  const table = readingTable(rows, ["▁The", "▁cat", "</s>"]);
  expect(table.length).toBe(9);
  expect(table[0]).toEqual([0, 1, "▁The", "▁cat", Math.log(0.5), -3, 3, 1]);
  expect(table.every((line) => line.length === COLUMNS.length)).toBe(true);
});

test("the shade is the probability of the likeliest token", () => {
  expect(topProbability(cell(1))).toBeCloseTo(0.5, 12);
  expect(topProbability({ top: [], log_prob: 0, rank: 1, entropy: 0 })).toBe(0);
});
