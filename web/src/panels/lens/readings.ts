/** What the two lenses say, put in order for a table of cells; every function is pure. */

import type { LensCell } from "../../api/types.ts";

/** A row of cells: one layer, a cell a step. */
export interface ReadingRow {
  name: string;
  cells: LensCell[];
  /** Whether this is what the network itself says. */
  own: boolean;
}

/** Return the rows of the logit lens: a decoder layer each, the network's own last. */
export function logitRows(layers: LensCell[][]): ReadingRow[] {
  return named(layers, "decoder layer");
}

/** Return the rows of the decoder lens: an encoder layer each, the network's own last. */
export function decoderRows(readings: { cells: LensCell[] }[]): ReadingRow[] {
  return named(
    readings.map(({ cells }) => cells),
    "encoder layer",
  );
}

function named(layers: LensCell[][], what: string): ReadingRow[] {
  return layers.map((cells, layer) => ({
    name: `${what} ${layer}`,
    cells,
    own: layer === layers.length - 1,
  }));
}

/**
 * Return the first layer from which on the written token is the likeliest of each, to the last;
 * null where the network itself has another for likelier.
 */
export function settlesAt(rows: ReadingRow[], step: number): number | null {
  let first: number | null = null;
  for (let layer = rows.length - 1; layer >= 0; layer--) {
    if (rows[layer]?.cells[step]?.rank !== 1) {
      break;
    }
    first = layer;
  }
  return first;
}

/** Return how many tokens have settled at each layer or before it. */
export function settledCounts(rows: ReadingRow[]): number[] {
  const steps = rows[0]?.cells.length ?? 0;
  const places = Array.from({ length: steps }, (_, step) => settlesAt(rows, step));
  return rows.map((_, layer) => places.filter((place) => place !== null && place <= layer).length);
}

/** Return the probability that a cell gives its likeliest token. */
export function topProbability(cell: LensCell): number {
  return Math.exp(cell.top[0]?.log_prob ?? Number.NEGATIVE_INFINITY);
}

/** Columns of the CSV file of a lens; layers count from 0, steps from 1, as on the page. */
export const COLUMNS = [
  "layer",
  "step",
  "written token",
  "likeliest token",
  "its log P",
  "log P of the written token",
  "its rank",
  "entropy (nats)",
];

/** Return a line a cell, for the CSV file. */
export function readingTable(rows: ReadingRow[], written: string[]): (string | number)[][] {
  return rows.flatMap((row, layer) =>
    row.cells.map((cell, step) => [
      layer,
      step + 1,
      written[step] ?? "",
      cell.top[0]?.piece ?? "",
      cell.top[0]?.log_prob ?? Number.NaN,
      cell.log_prob,
      cell.rank,
      cell.entropy,
    ]),
  );
}
