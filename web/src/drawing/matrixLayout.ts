/** Where the parts of a matrix lie, in CSS pixels. Pure. */

/** Where everything lies. */
export interface Layout {
  /** Side of a cell; a whole number of the screen's dots. */
  cell: number;
  /** Where the cells begin. */
  left: number;
  top: number;
  width: number;
  height: number;
  rows: number;
  columns: number;
  /** Space between cells. */
  gap: number;
}

/** A place in the matrix. */
export interface Cell {
  row: number;
  column: number;
}

/** What decides where everything lies. */
export interface LayoutInput {
  rows: number;
  columns: number;
  /** Widest label of the rows and of the columns; 0: no labels. */
  rowLabels: number;
  columnLabels: number;
  available: number;
  size: "small" | "large";
  ratio: number;
}

const LARGEST = { small: 14, large: 40 };
const SMALLEST = { small: 1, large: 15 };

/** The layout that fits the width, unless cells would become too small to point at. */
export function layout(input: LayoutInput): Layout {
  const { rows, columns, size, ratio } = input;
  const slant = input.columnLabels * Math.SQRT1_2;
  const left = Math.ceil(input.rowLabels > 0 ? input.rowLabels + 10 : 0);
  const top = Math.ceil(input.columnLabels > 0 ? slant + 18 : 0);
  const right = Math.ceil(slant * (columns > 0 ? 1 : 0));
  const room = (input.available - left - right) / Math.max(1, columns);
  const wanted = Math.max(SMALLEST[size], Math.min(LARGEST[size], room));
  const cell = Math.max(1, Math.floor(wanted * ratio)) / ratio;
  return {
    cell,
    left,
    top,
    width: left + columns * cell + right,
    height: top + rows * cell,
    rows,
    columns,
    gap: cell >= 10 ? 1 / ratio : 0,
  };
}

/** The cell at a point; null: there is none. */
export function cellAt(at: Layout, x: number, y: number): Cell | null {
  const column = Math.floor((x - at.left) / at.cell);
  const row = Math.floor((y - at.top) / at.cell);
  const inside = row >= 0 && row < at.rows && column >= 0 && column < at.columns;
  return inside ? { row, column } : null;
}

/** Where a key takes the cursor; null: it is no key of the cursor. */
export function moved(key: string, from: Cell, rows: number, columns: number): Cell | null {
  const to = { ...from };
  if (key === "ArrowUp") to.row -= 1;
  else if (key === "ArrowDown") to.row += 1;
  else if (key === "ArrowLeft") to.column -= 1;
  else if (key === "ArrowRight") to.column += 1;
  else if (key === "Home") to.column = 0;
  else if (key === "End") to.column = columns - 1;
  else if (key === "PageUp") to.row = 0;
  else if (key === "PageDown") to.row = rows - 1;
  else return null;
  return {
    row: Math.max(0, Math.min(rows - 1, to.row)),
    column: Math.max(0, Math.min(columns - 1, to.column)),
  };
}
