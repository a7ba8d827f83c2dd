/** Pictures as SVG text: pure string builders, colours inlined, text kept as text. */
import { computeLevel, inkOn, LIGHT, type Palette } from "./colours.ts";

/** A picture to save. */
export interface Picture {
  width: number;
  height: number;
  /** A whole SVG document. */
  svg: string;
}

/** Fonts that every system has one of. */
export const FONTS =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', sans-serif";

type Attributes = Record<string, string | number | null | undefined | false>;

/** Text that is safe inside an element or an attribute; characters XML forbids are left out. */
export function escaped(text: string): string {
  return [...text]
    .filter((letter) => allowed(letter.codePointAt(0) ?? 0))
    .join("")
    .replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

function allowed(code: number): boolean {
  if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd;
  return !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
}

/** An element; attributes without a value are left out. */
export function el(name: string, attributes: Attributes, ...children: string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(
      ([key, value]) =>
        ` ${key}="${typeof value === "number" ? tidy(value) : escaped(String(value))}"`,
    )
    .join("");
  return children.length === 0
    ? `<${name}${written}/>`
    : `<${name}${written}>${children.join("")}</${name}>`;
}

/** A coordinate with at most two digits after the point. */
export function tidy(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A rectangle. */
export function rect(
  x: number,
  y: number,
  width: number,
  height: number,
  more: Attributes = {},
): string {
  return el("rect", { x, y, width, height, ...more });
}

/** A straight line. */
export function line(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  more: Attributes = {},
): string {
  return el("line", { x1, y1, x2, y2, ...more });
}

/** A path, not filled unless `more` says so. */
export function path(d: string, more: Attributes = {}): string {
  return el("path", { d, fill: "none", ...more });
}

/** Words at a place; spaces are kept. */
export function text(x: number, y: number, words: string, more: Attributes = {}): string {
  return el("text", { x, y, "xml:space": "preserve", ...more }, escaped(words));
}

/** The title of a picture. */
export function heading(x: number, y: number, words: string): string {
  return text(x, y, words, { "font-size": 15, "font-weight": 600 });
}

/** Several elements together. */
export function group(more: Attributes, ...children: string[]): string {
  return el("g", more, ...children);
}

/** A whole document on the palette's ground. */
export function picture(
  width: number,
  height: number,
  colours: Palette,
  ...body: string[]
): Picture {
  const svg = el(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${tidy(width)} ${tidy(height)}`,
      "font-family": FONTS,
      "font-size": 12,
      fill: colours.ink,
    },
    rect(0, 0, width, height, { fill: colours.ground }),
    ...body,
  );
  return { width, height, svg };
}

/** About how wide a text is at 12 px, good enough to make room for it. */
export function estimateWidth(words: string, size = 12): number {
  return (
    [...words].reduce(
      (sum, letter) => sum + ((letter.codePointAt(0) ?? 0) > 0x2e80 ? 1 : 0.56),
      0,
    ) * size
  );
}

/** What matrixPicture needs. */
interface MatrixPicture {
  rows: readonly string[];
  columns: readonly string[];
  values: (row: number, column: number) => number;
  masked?: (row: number, column: number) => boolean;
  title?: string;
  scale?: "heat" | "diverging";
  /** Values at the ends of the ramp. */
  range?: readonly [number, number];
  colours?: Palette;
  /** What is printed into a cell. */
  print?: (row: number, column: number) => string;
}

const CELL = 26;

/** A matrix with its labels; masked cells are hatched. */
export function matrixPicture(matrix: MatrixPicture): Picture {
  const colours = matrix.colours ?? LIGHT;
  const left = 16 + Math.max(20, ...matrix.rows.map((name) => estimateWidth(name)));
  const slant = Math.max(20, ...matrix.columns.map((name) => estimateWidth(name))) * Math.SQRT1_2;
  const top = (matrix.title ? 30 : 8) + slant + 12;
  const width = left + matrix.columns.length * CELL + slant + 12;
  const height = top + matrix.rows.length * CELL + 12;
  return picture(
    width,
    height,
    colours,
    el("defs", {}, hatchPattern(colours)),
    matrix.title ? heading(12, 22, matrix.title) : "",
    ...matrix.columns.map((name, column) => {
      const x = left + (column + 0.6) * CELL;
      return text(x, top - 6, name, { transform: `rotate(-45 ${tidy(x)} ${tidy(top - 6)})` });
    }),
    ...matrix.rows.map((name, row) =>
      text(left - 8, top + (row + 0.5) * CELL + 4, name, { "text-anchor": "end" }),
    ),
    ...matrix.rows.flatMap((_, row) =>
      matrix.columns.map((_, column) => pictureCell(matrix, colours, row, column, left, top)),
    ),
  );
}

function pictureCell(
  matrix: MatrixPicture,
  colours: Palette,
  row: number,
  column: number,
  left: number,
  top: number,
): string {
  const [x, y] = [left + column * CELL, top + row * CELL];
  if (matrix.masked?.(row, column)) {
    return rect(x, y, CELL - 1, CELL - 1, { fill: "url(#hatch)" });
  }
  const [low, high] = matrix.range ?? (matrix.scale === "diverging" ? [-1, 1] : [0, 1]);
  const ramp = matrix.scale === "diverging" ? colours.diverging : colours.heat;
  const fill = ramp[computeLevel(matrix.values(row, column), low, high)] ?? colours.ground;
  const cell = rect(x, y, CELL - 1, CELL - 1, { fill });
  const words = matrix.print?.(row, column);
  if (!words) return cell;
  const middle = { "text-anchor": "middle", "font-size": 9, fill: inkOn(fill) };
  return cell + text(x + CELL / 2, y + CELL / 2 + 3, words, middle);
}

/** The pattern `url(#hatch)` of masked cells, for `<defs>`. */
export function hatchPattern(colours: Palette): string {
  return el(
    "pattern",
    { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    rect(0, 0, 6, 6, { fill: colours.masked }),
    path("M-1 7L7 -1", { stroke: colours.muted, "stroke-width": 0.8 }),
  );
}
