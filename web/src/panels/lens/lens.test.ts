import { expect, test } from "vitest";
import type { HeadId, HeadMargins, LensCell, ModelConfig } from "../../api/types.ts";
import { DARK, heat, LIGHT } from "../../drawing/colours.ts";
import { moveCell } from "../../drawing/cursor.ts";
import { allHeads, headName, includes, layerToggled, switched, toggled } from "./headList.ts";
import { byName, largest, lossesOf, ranked, sweepKey } from "./headLosses.ts";
import {
  COLUMNS,
  logitRows,
  readingTable,
  settledCounts,
  settlesAt,
  topProbability,
} from "./LensGrid.tsx";
import { lensPicture, switchesPicture, switchesTable } from "./pictures.ts";

const config = { encoder_layers: 3, decoder_layers: 2, heads: 4 } as ModelConfig;

test("a network has its heads once each, in the order of the three attentions", () => {
  const names = allHeads(config).map(headName);
  expect(names.length).toBe((3 + 2 + 2) * 4);
  expect(new Set(names).size).toBe(names.length);
  expect(names[0]).toBe("encoder 1.1");
  expect(names.at(-1)).toBe("cross 2.4");
});

test("turning a head twice leaves the list as it was", () => {
  const off = [{ side: "cross", layer: 1, head: 2 } as const];
  for (const head of allHeads(config)) {
    expect(toggled(toggled(off, head, config), head, config)).toEqual(off);
  }
});

test("the list keeps the network's order, however it came to be", () => {
  const first = toggled([], { side: "cross", layer: 1, head: 2 }, config);
  const both = toggled(first, { side: "encoder", layer: 0, head: 3 }, config);
  expect(both.map(headName)).toEqual(["encoder 1.4", "cross 2.3"]);
});

test("a layer goes off as a whole, and on again when all of it is off", () => {
  const partly = toggled([], { side: "decoder", layer: 1, head: 0 }, config);
  const off = layerToggled(partly, "decoder", 1, config);
  expect(off.map(headName)).toEqual(["decoder 2.1", "decoder 2.2", "decoder 2.3", "decoder 2.4"]);
  expect(layerToggled(off, "decoder", 1, config)).toEqual([]);
});

test("heads that the network does not have are forgotten", () => {
  const wrong = { side: "encoder", layer: 9, head: 0 } as const;
  expect(includes(switched([wrong], [], true, config), wrong)).toBe(false);
});

test("arrow keys move by one and stop at the edges", () => {
  expect(moveCell("ArrowUp", { row: 1, column: 1 }, 3, 4)).toEqual({ row: 0, column: 1 });
  expect(moveCell("ArrowUp", { row: 0, column: 1 }, 3, 4)).toEqual({ row: 0, column: 1 });
  expect(moveCell("ArrowDown", { row: 2, column: 3 }, 3, 4)).toEqual({ row: 2, column: 3 });
  expect(moveCell("ArrowLeft", { row: 2, column: 3 }, 3, 4)).toEqual({ row: 2, column: 2 });
  expect(moveCell("ArrowRight", { row: 2, column: 1 }, 3, 4)).toEqual({ row: 2, column: 2 });
});

test("Home and End stay in the row, other keys mean nothing", () => {
  expect(moveCell("End", { row: 2, column: 1 }, 3, 4)).toEqual({ row: 2, column: 3 });
  expect(moveCell("Home", { row: 2, column: 1 }, 3, 4)).toEqual({ row: 2, column: 0 });
  expect(moveCell("x", { row: 2, column: 1 }, 3, 4)).toBe(null);
});

const found: HeadMargins = {
  step: 1,
  first: 7,
  second: 8,
  pieces: ["▁il", "▁elle"],
  margin: 2,
  heads: [
    { side: "encoder", layer: 0, head: 0, margin: 1, flips: false },
    { side: "cross", layer: 1, head: 1, margin: -5, flips: true },
    { side: "cross", layer: 1, head: 2, margin: 2.5, flips: false },
  ],
};

test("the head that matters most comes first, one that stands in the way last", () => {
  const losses = lossesOf(found);
  expect(losses.map(({ loss }) => loss)).toEqual([1, 7, -0.5]);
  expect(ranked(losses).map(({ head }) => head.head)).toEqual([1, 0, 2]);
  expect(largest(losses)).toBe(7);
  expect(byName(losses).get("cross 2.2")).toMatchObject({ margin: -5, flips: true });
});

test("another decision is another sweep", () => {
  const request = { text: "a", model: "m" };
  const keys = (
    [
      [0, [7, 8]],
      [0, [7, 9]],
      [1, [7, 8]],
    ] as const
  ).map(([step, [a, b]]) => sweepKey(request, { step, tokens: [a, b] }));
  expect(new Set(keys).size).toBe(3);
});

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

test("the table has one line per cell, with the numbers unrounded", () => {
  const table = readingTable(rows, ["▁The", "▁cat", "</s>"]);
  expect(table.length).toBe(9);
  expect(table[0]).toEqual([1, 1, "▁The", "▁cat", Math.log(0.5), -3, 3, 1]);
  expect(table.every((line) => line.length === COLUMNS.length)).toBe(true);
});

test("the shade is the probability of the likeliest token", () => {
  expect(topProbability(cell(1))).toBeCloseTo(0.5, 12);
  expect(topProbability({ top: [], log_prob: 0, rank: 1, entropy: 0 })).toBe(0);
});

const cellOf = (piece: string, probability: number, rank: number): LensCell => ({
  top: [{ id: 7, piece, log_prob: Math.log(probability) }],
  log_prob: -1,
  rank,
  entropy: 1,
});

test("a lens is drawn in the colours of its theme, with token, probability and rank", () => {
  const rows = logitRows([[cellOf("▁<b>", 0.25, 12)], [cellOf("▁cat", 1, 1)]]);
  for (const colours of [LIGHT, DARK]) {
    const { svg } = lensPicture("Logit lens", rows, ["▁cat"], colours);
    expect(svg).toContain("0.25 · #12");
    expect(svg).toContain(heat(0.25, colours));
    expect(svg).toContain(heat(1, colours));
    expect(svg).not.toContain("<b>");
  }
});

const small = { encoder_layers: 1, decoder_layers: 2, heads: 2 } as ModelConfig;
const off: HeadId = { side: "cross", layer: 1, head: 0 };
const measured = {
  head: { side: "encoder", layer: 0, head: 1 } as HeadId,
  margin: -3,
  loss: 2,
  flips: true,
};

test("heads that are off are hatched, losses are written on those that are on", () => {
  const { svg } = switchesPicture(small, [off], [measured], LIGHT);
  expect(svg.match(/url\(#hatch\)/g)?.length).toBe(1);
  expect(svg).toContain(">2.00<");
  expect(svg.match(/>on</g)?.length).toBe(8);
});

test("the table has one line per head, and nothing where nothing was measured", () => {
  const { rows } = switchesTable(small, [off], [measured]);
  expect(rows.length).toBe(10);
  expect(rows[1]).toEqual(["encoder", 0, 1, 1, -3, 2, 1]);
  expect(rows[8]).toEqual(["cross", 1, 0, 0, "", "", ""]);
});
