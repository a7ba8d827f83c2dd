/** Paints a matrix: cells on one canvas, marks on another above it. */

import { computeLevel, inkOn, type Palette } from "./colours.ts";
import type { Cell } from "./cursor.ts";
import { FONTS } from "./svg.ts";

const MASKED = 255;

/** What is painted: a level and a word for each cell. */
export interface Cells {
  levels: Uint8Array;
  /** What is printed into each cell; empty: nothing. */
  words: string[];
}

/** Where the cells come from. */
interface CellSource {
  value: (row: number, column: number) => number;
  masked?: ((row: number, column: number) => boolean) | undefined;
  print?: ((row: number, column: number) => string) | undefined;
  range: readonly [number, number];
}

/** The level of every cell; −∞ and masked ones have none. */
export function readCells(source: CellSource, rows: number, columns: number): Cells {
  const levels = new Uint8Array(rows * columns);
  const words: string[] = [];
  for (let at = 0; at < levels.length; at++) {
    const row = Math.floor(at / columns);
    const column = at % columns;
    levels[at] = levelAt(source, row, column);
    if (source.print) words[at] = levels[at] === MASKED ? "" : source.print(row, column);
  }
  return { levels, words };
}

function levelAt(source: CellSource, row: number, column: number): number {
  if (source.masked?.(row, column)) return MASKED;
  const value = source.value(row, column);
  if (Number.isNaN(value) || value === Number.NEGATIVE_INFINITY) return MASKED;
  return computeLevel(value, source.range[0], source.range[1]);
}

/** Copy the names of the rows onto a strip of their own, which stays while the cells scroll. */
export function paintNames(
  strip: HTMLCanvasElement,
  cells: HTMLCanvasElement,
  at: Layout,
  look: Look,
): void {
  resize(strip, { ...at, width: at.left }, look.ratio);
  const pen = strip.getContext("2d");
  if (!pen) return;
  pen.fillStyle = look.colours.ground;
  pen.fillRect(0, 0, strip.width, strip.height);
  pen.drawImage(cells, 0, 0);
}

/** Colours, and how fine the screen is. */
export interface Look {
  colours: Palette;
  ramp: readonly string[];
  ratio: number;
}

/** Make a canvas as fine as the screen; true: it was emptied by that. */
export function resize(canvas: HTMLCanvasElement, at: Layout, ratio: number): boolean {
  const width = Math.round(at.width * ratio);
  const height = Math.round(at.height * ratio);
  if (canvas.width === width && canvas.height === height) return false;
  canvas.width = width;
  canvas.height = height;
  canvas.style.width = `${width / ratio}px`;
  canvas.style.height = `${height / ratio}px`;
  return true;
}

/** Paint the cells that differ from `before`; without it, all. Returns how many. */
export function paintCells(
  pen: CanvasRenderingContext2D,
  at: Layout,
  cells: Cells,
  before: Cells | null,
  look: Look,
): number {
  pen.setTransform(look.ratio, 0, 0, look.ratio, 0, 0);
  const hatch = createHatch(pen, look);
  let painted = 0;
  for (let i = 0; i < cells.levels.length; i++) {
    const level = cells.levels[i] ?? MASKED;
    if (before && before.levels[i] === level && before.words[i] === cells.words[i]) continue;
    const x = at.left + (i % at.columns) * at.cell;
    const y = at.top + Math.floor(i / at.columns) * at.cell;
    const colour = look.ramp[level];
    pen.fillStyle = colour ?? hatch;
    pen.fillRect(x, y, at.cell - at.gap, at.cell - at.gap);
    const word = cells.words[i];
    if (word && colour && at.cell >= 26) printInto(pen, word, x, y, at.cell, inkOn(colour));
    painted += 1;
  }
  return painted;
}

function printInto(
  pen: CanvasRenderingContext2D,
  word: string,
  x: number,
  y: number,
  cell: number,
  ink: string,
): void {
  pen.fillStyle = ink;
  pen.font = `${Math.min(12, cell / 2.9)}px ${FONTS}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(word, x + cell / 2, y + cell / 2, cell - 3);
}

const hatches = new Map<string, CanvasPattern>();

/** The hatching of masked cells, drawn once for a theme and a screen. */
function createHatch(pen: CanvasRenderingContext2D, look: Look): CanvasPattern | string {
  const key = `${look.colours.masked}@${look.ratio}`;
  const known = hatches.get(key);
  if (known) return known;
  const size = Math.max(4, Math.round(6 * look.ratio));
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const brush = tile.getContext("2d");
  if (!brush) return look.colours.masked;
  brush.fillStyle = look.colours.masked;
  brush.fillRect(0, 0, size, size);
  brush.strokeStyle = look.colours.muted;
  brush.lineWidth = look.ratio * 0.8;
  brush.beginPath();
  for (const shift of [-size, 0, size]) {
    brush.moveTo(shift - 1, size + 1);
    brush.lineTo(shift + size + 1, -1);
  }
  brush.stroke();
  const pattern = pen.createPattern(tile, "repeat");
  if (!pattern) return look.colours.masked;
  pattern.setTransform(new DOMMatrix().scale(1 / look.ratio));
  hatches.set(key, pattern);
  return pattern;
}

/** Empty the canvas and print the labels of rows and columns. */
export function paintLabels(
  pen: CanvasRenderingContext2D,
  at: Layout,
  labels: { rows: readonly string[]; columns: readonly string[] },
  look: Look,
): void {
  pen.setTransform(look.ratio, 0, 0, look.ratio, 0, 0);
  pen.clearRect(0, 0, at.width, at.height);
  pen.fillStyle = look.colours.ink;
  pen.font = LABEL_FONT;
  pen.textBaseline = "middle";
  if (at.left > 0) {
    pen.textAlign = "right";
    labels.rows.forEach((name, row) => {
      pen.fillText(name, at.left - 8, at.top + (row + 0.5) * at.cell);
    });
  }
  if (at.top === 0) return;
  pen.textAlign = "left";
  labels.columns.forEach((name, column) => {
    pen.save();
    pen.translate(at.left + (column + 0.5) * at.cell, at.top - 8);
    pen.rotate(-Math.PI / 4);
    pen.fillText(name, 0, 0);
    pen.restore();
  });
}

/** How much of a paled row is covered. */
const PALE = 0.5;

/** The font of labels. */
export const LABEL_FONT = `12px ${FONTS}`;

/** What lies over the cells. */
interface Marks {
  row: number | null;
  column: number | null;
  cursor: Cell | null;
  /** Rows from this one on are paled; null: none. */
  pale: number | null;
}

/** Paint the marks: the selected row and column as bands with a border, the cursor as a frame. */
export function paintMarks(
  pen: CanvasRenderingContext2D,
  at: Layout,
  marks: Marks,
  look: Look,
): void {
  pen.setTransform(look.ratio, 0, 0, look.ratio, 0, 0);
  pen.clearRect(0, 0, at.width, at.height);
  const [wide, high] = [at.columns * at.cell, at.rows * at.cell];
  if (marks.pale !== null && marks.pale < at.rows) {
    pen.globalAlpha = PALE;
    pen.fillStyle = look.colours.ground;
    pen.fillRect(at.left, at.top + marks.pale * at.cell, wide, high - marks.pale * at.cell);
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = look.colours.accent;
  pen.lineWidth = at.cell >= 10 ? 2 : 1;
  if (marks.row !== null && marks.row < at.rows) {
    pen.strokeRect(at.left + 0.5, at.top + marks.row * at.cell, wide - 1.5, at.cell - at.gap);
  }
  if (marks.column !== null && marks.column < at.columns) {
    pen.strokeRect(at.left + marks.column * at.cell, at.top + 0.5, at.cell - at.gap, high - 1.5);
  }
  if (marks.cursor) {
    const x = at.left + marks.cursor.column * at.cell;
    const y = at.top + marks.cursor.row * at.cell;
    pen.strokeStyle = look.colours.ground;
    pen.lineWidth = 4;
    pen.strokeRect(x, y, at.cell - at.gap, at.cell - at.gap);
    pen.strokeStyle = look.colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(x, y, at.cell - at.gap, at.cell - at.gap);
  }
}

/* Where the parts of a matrix lie, in CSS pixels. Pure. */

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

/** What decides where everything lies. */
interface LayoutInput {
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
