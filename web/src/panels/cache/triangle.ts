/**
 * The triangle: a line a step, a column a position.
 *
 *     step 1   ■                    ■ computed   □ reused, in each of the rows of the beam
 *     step 2   □ ■
 *     step 3   □ □ ■
 */

import type { CacheUsage } from "../../api/types.ts";

/** Geometry of the triangle, in px. */
export interface Triangle {
  /** Width and height of the cell of one position at one step. */
  cell: number;
  line: number;
  left: number;
  top: number;
  width: number;
  height: number;
  steps: number;
}

/** A run of cells of one row of the beam. */
export interface Run {
  step: number;
  row: number;
  kind: "computed" | "reused" | "source";
  x: number;
  y: number;
  width: number;
  height: number;
}

const LEFT = 64; // for the names of the steps
const TOP = 20; // for the numbers of the positions
const SOURCE = 92; // for the source's keys and values, beside the names

const TALLEST = 520; // px of all lines together, unless there are very many
const THIN = 1.5; // px below which the rows of a beam are drawn as one

/** Returns the geometry that fits the width. */
export function triangle(steps: number, available: number): Triangle {
  const left = LEFT + SOURCE;
  const count = Math.max(1, steps);
  const cell = Math.max(3, Math.min(34, Math.floor((available - left - 8) / count)));
  const line = Math.max(3, Math.min(24, Math.floor(TALLEST / count)));
  return {
    cell,
    line,
    left,
    top: TOP,
    width: left + steps * cell + 8,
    height: TOP + steps * line + 4,
    steps,
  };
}

/** Returns all runs: of each step the source's, which all rows share, and a row's two parts. */
export function runs(account: CacheUsage, place: Triangle): Run[] {
  const space = place.line >= 6 ? 2 : 1;
  return account.steps.flatMap((one, step) => {
    const y = place.top + step * place.line;
    const source: Run = {
      step,
      row: 0,
      kind: "source",
      x: LEFT,
      y,
      width: SOURCE - 16,
      height: place.line - space,
    };
    const thick = (place.line - space) / one.rows;
    const rows = thick < THIN ? 1 : one.rows;
    const height = thick < THIN ? place.line - space : thick;
    const lines = Array.from({ length: rows }, (_, row) => {
      const within = { step, row, y: y + row * height, height: height >= 4 ? height - 1 : height };
      return rowRuns(within, one.length - 1, place);
    });
    return [source, ...lines.flat()];
  });
}

type Within = Pick<Run, "step" | "row" | "y" | "height">;

/** The two parts of a row: what it reads from the cache, and the newest position. */
function rowRuns(within: Within, before: number, place: Triangle): Run[] {
  const gap = place.cell >= 6 ? 2 : 0;
  const reused = before * place.cell;
  const computed: Run = {
    ...within,
    kind: "computed",
    x: place.left + reused,
    width: place.cell - gap,
  };
  if (reused === 0) return [computed];
  return [computed, { ...within, kind: "reused", x: place.left, width: reused - gap }];
}
