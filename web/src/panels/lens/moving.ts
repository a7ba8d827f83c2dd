/** A cursor that arrow keys move in a table. Pure. */

/** A place in a table, both numbers from 0. */
export interface Place {
  row: number;
  column: number;
}

/** Return where a key leads from a place, or null where it means nothing here. */
export function moved(from: Place, key: string, rows: number, columns: number): Place | null {
  const to = {
    ArrowUp: { row: from.row - 1, column: from.column },
    ArrowDown: { row: from.row + 1, column: from.column },
    ArrowLeft: { row: from.row, column: from.column - 1 },
    ArrowRight: { row: from.row, column: from.column + 1 },
    Home: { row: from.row, column: 0 },
    End: { row: from.row, column: columns - 1 },
  }[key];
  return to ? { row: within(to.row, rows), column: within(to.column, columns) } : null;
}

/** Return the nearest of 0 … count − 1. */
export function within(value: number, count: number): number {
  return Math.max(0, Math.min(value, count - 1));
}
