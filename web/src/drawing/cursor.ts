/** A cursor that keys move: through a table, or along a row. Pure. */
import { clampIndex } from "../state/address.ts";

/** A place in a table, both numbers from 0. */
export interface Cell {
  row: number;
  column: number;
}

type Steps = Record<string, readonly [rows: number, columns: number]>;

const STEPS: Steps = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, Number.NEGATIVE_INFINITY],
  End: [0, Number.POSITIVE_INFINITY],
};

/** Return where a key leads, never beyond the edges; null: not a key of the cursor. */
export function moveCell(
  key: string,
  from: Cell,
  rows: number,
  columns: number,
  more: Steps = {},
): Cell | null {
  const step = STEPS[key] ?? more[key];
  if (!step) return null;
  return {
    row: clampIndex(from.row + step[0], rows),
    column: clampIndex(from.column + step[1], columns),
  };
}

/** Return where a key leads along a row; null: not a key of the cursor. */
export function moveIndex(key: string, from: number, count: number): number | null {
  const step = STEPS[key];
  return step && step[1] !== 0 ? clampIndex(from + step[1], count) : null;
}
