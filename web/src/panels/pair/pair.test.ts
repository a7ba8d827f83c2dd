import { expect, test } from "vitest";
import type { Cell, CellShare, Patching, TraceToken } from "../../api/types.ts";
import { HOME } from "../../state/address.ts";
import { baselineRequest, traceRequest } from "../../state/requests.ts";
import {
  clicked,
  columnNames,
  describe,
  gridOf,
  hundredths,
  looksOf,
  nameOf,
  parseCells,
  patched,
  ranked,
  writeCells,
} from "./cells.ts";

function tokens(...pieces: string[]): TraceToken[] {
  return pieces.map((piece, id) => ({ id, piece, start: 0, end: 0 }));
}

function share(cell: Cell, forward: number, backward: number): CellShare {
  return {
    cell,
    forward,
    backward,
    controls: null,
    agrees: Math.abs(forward - backward) <= 0.2,
    translations: ["one", "two"],
  };
}

const SOURCE: Cell = { part: "source", layer: 0, index: 1 };
const CROSS: Cell = { part: "cross", layer: 3, index: 1 };
const OTHER: Cell = { part: "cross", layer: 3, index: 0 };

const PATCHING: Patching = {
  first: "too tired",
  second: "very dark",
  first_translation: "trop fatigué",
  second_translation: "trop sombre",
  first_tokens: tokens("▁too", "▁ti", "red", "</s>"),
  second_tokens: tokens("▁too", "▁dark", "</s>"),
  target_tokens: tokens("<s>", "▁trop"),
  models: ["m", "m"],
  columns: [
    { first: [0, 1], second: [0, 1], differs: false },
    { first: [1, 3], second: [1, 2], differs: true },
    { first: [3, 4], second: [2, 3], differs: false },
  ],
  decision: { step: 1, first: 7, second: 8, pieces: ["▁il", "▁elle"], margins: [2, -3] },
  control: null,
  cells: [
    ...[0, 1, 2].map((index) =>
      share({ part: "source", layer: 0, index }, index === 1 ? 1 : 0, index === 1 ? 1 : 0),
    ),
    share(OTHER, 0.1, 0.5),
    share(CROSS, 0.8, 0.6),
  ],
  rows: [{ cell: CROSS, column: null, first: [0, 0.9, 0.1], second: [0.7, 0.3, 0] }],
  everything: { source: [1, 1], heads: [1, 1], target: [1, 1] },
};

test("cells are named as people count", () => {
  expect(nameOf(CROSS)).toBe("cross 4.2");
  expect(nameOf(SOURCE)).toBe("source 0.2");
  expect(describe(CROSS, PATCHING)).toBe("decoder to source, layer 4, head 2");
  expect(describe(SOURCE, PATCHING)).toBe("encoder state of “ti ·red / dark” as it enters");
});

test("columns carry both words where they differ", () => {
  expect(columnNames(PATCHING)).toEqual(["too", "ti ·red / dark", "</s>"]);
});

test("the cells of an address are those that there are, each once", () => {
  expect(parseCells("cross.4.2_cross.9.9_cross.4.2_source.0.2", PATCHING)).toEqual([CROSS, SOURCE]);
  expect(parseCells(undefined, PATCHING)).toEqual([]);
  expect(writeCells([CROSS, SOURCE])).toBe("cross.4.2_source.0.2");
  expect(writeCells([])).toBeNull();
});

test("a click takes one cell, collecting takes more", () => {
  expect(clicked([], CROSS, false)).toEqual([CROSS]);
  expect(clicked([CROSS], CROSS, false)).toEqual([]);
  expect(clicked([CROSS, SOURCE], CROSS, false)).toEqual([CROSS]);
  expect(clicked([CROSS], SOURCE, true)).toEqual([CROSS, SOURCE]);
  expect(clicked([CROSS, SOURCE], CROSS, true)).toEqual([SOURCE]);
});

test("the margin of a patched run follows from its share", () => {
  const one = PATCHING.cells[4] as CellShare;
  expect(patched(PATCHING, one, "1")).toMatchObject({ share: 0.8, translation: "one" });
  expect(patched(PATCHING, one, "1").margin).toBeCloseTo(2 - 0.8 * 5);
  expect(patched(PATCHING, one, "2").margin).toBeCloseTo(-3 + 0.6 * 5);
});

test("a part is a table of layers, and the largest share comes first", () => {
  const grid = gridOf(PATCHING, "cross");
  expect([grid.rows, grid.columns]).toEqual([["layer 4"], ["1", "2"]]);
  expect(gridOf(PATCHING, "source").rows).toEqual(["embedding"]);
  expect(ranked(PATCHING, "cross").map(({ cell }) => cell)).toEqual([CROSS, OTHER]);
});

test("a head looks at the columns where either run looks", () => {
  expect(looksOf(PATCHING, CROSS)).toEqual({
    from: null,
    looks: [
      { label: "ti ·red / dark", first: 0.9, second: 0.3 },
      { label: "too", first: 0, second: 0.7 },
      { label: "</s>", first: 0.1, second: 0 },
    ],
  });
  expect(looksOf(PATCHING, SOURCE)).toBeNull();
});

test.each([
  [0.617, ".62"],
  [1, "1"],
  [-0.5, "−.50"],
  [0.001, "0"],
  [1.023, "1.02"],
])("%f is written as %s", (value, words) => {
  expect(hundredths(value)).toBe(words);
});

test("only this panel asks for a comparison", () => {
  const model = {
    name: "m",
    default: true,
    targets: ["fr"],
    directions: [["en", "fr"]],
    search: {},
  };
  const list = { version: "1", models: [model], limits: {}, runs: false };
  const address = { ...HOME, text: "a", extra: { against: " b\n" } };
  const ask = (panel: "pair" | "map") => traceRequest({ ...address, panel }, list as never);
  expect(ask("pair")).toMatchObject({ text: "a", against: "b" });
  expect(ask("map")).not.toHaveProperty("against");
  expect(baselineRequest(ask("pair"))).not.toHaveProperty("against");
});
