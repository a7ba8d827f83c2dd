/** The sheet of the six steps as a saved picture and as a table of all its numbers. */
import { computeLevel, type Palette } from "../../drawing/colours.ts";
import type { Table } from "../../drawing/files.ts";
import { printed } from "../../drawing/Number.tsx";
import {
  el,
  estimateWidth,
  hatchPattern,
  heading,
  line,
  type Picture,
  picture,
  rect,
  text,
} from "../../drawing/svg.ts";
import {
  computeScores,
  DECIMALS,
  exponentialInDigits,
  exponentials,
  type Numbers,
  reach,
  sumReach,
  WEIGHT_DECIMALS,
} from "./numbers.ts";

/** What a saved sheet shows. */
interface SavedSheet {
  title: string;
  numbers: Numbers;
  query: string;
  keys: readonly string[];
  chosen: number;
}

const ROW = 22;
const STRIP = 160;
const EDGE = 16;
const NUMBER = 84;
const BAR = 70;

/** Return the sheet as a picture: the columns of the page from left to right. */
export function sheetPicture(sheet: SavedSheet, colours: Palette): Picture {
  const { numbers, keys } = sheet;
  const left =
    EDGE + Math.max(...[...keys, `q of ${sheet.query}`].map((name) => estimateWidth(name))) + 10;
  const at = columnsFrom(left);
  const top = 96;
  const rows = keys.map((_, key) => keyRow(sheet, key, at, top + (key + 1) * ROW + 8, colours));
  const bottom = top + (keys.length + 1) * ROW + 16;
  const right = { "text-anchor": "end" } as const;
  return picture(
    at.end + EDGE,
    bottom + ROW + EDGE,
    colours,
    el("defs", {}, hatchPattern(colours)),
    heading(EDGE, 26, sheet.title),
    ...heads(numbers, at, colours),
    line(EDGE, 84, at.end, 84, { stroke: colours.line }),
    text(left - 10, top + 14, `q of ${sheet.query}`, { ...right, fill: colours.accent }),
    strip(numbers.q, keyReach(numbers), at.key, top, colours),
    ...rows,
    line(EDGE, bottom - 4, at.end, bottom - 4, { stroke: colours.line }),
    text(at.exponential, bottom + 14, exponentialInDigits(computeExponentials(numbers).sum), right),
    text(at.weighted - 10, bottom + 14, "sum: the head's output", {
      ...right,
      fill: colours.accent,
    }),
    strip(numbers.output, sumReach(numbers), at.weighted, bottom, colours),
  );
}

/** Where the columns stand: strips and bars by their left edge, numbers by their right one. */
type Columns = ReturnType<typeof columnsFrom>;

function columnsFrom(left: number) {
  const raw = left + STRIP + NUMBER;
  const exponential = raw + 3 * NUMBER + 16;
  const value = exponential + BAR + 92;
  return {
    key: left,
    raw,
    scaled: raw + NUMBER,
    mask: raw + 2 * NUMBER,
    exponential,
    bar: exponential + 18,
    weight: exponential + BAR + 72,
    value,
    weighted: value + STRIP + 14,
    end: value + 2 * STRIP + 14,
  };
}

function heads(numbers: Numbers, at: Columns, colours: Palette): string[] {
  const columns: [number, string, string, "start" | "end"][] = [
    [at.key, "1 key", "k", "start"],
    [at.raw, "1 product", "q · k", "end"],
    [at.scaled, "2 scaled", `÷ √${numbers.q.length}`, "end"],
    [at.mask, "3 mask", "+ 0 or −∞", "end"],
    [at.exponential, "4 exponential", "eˢ", "end"],
    [at.weight, "4 weight", "eˢ / Σ", "end"],
    [at.value, "5 value", "v", "start"],
    [at.weighted, "5 weighted", "weight × v", "start"],
  ];
  return columns.flatMap(([x, name, formula, anchor]) => [
    text(x, 58, name, { "text-anchor": anchor, "font-weight": 600 }),
    text(x, 74, formula, { "text-anchor": anchor, "font-size": 11, fill: colours.muted }),
  ]);
}

function keyRow(sheet: SavedSheet, key: number, at: Columns, y: number, colours: Palette): string {
  const { numbers } = sheet;
  const weight = numbers.weights[key] ?? 0;
  const mask = numbers.mask[key] ?? 0;
  const more = { "text-anchor": "end", "font-weight": key === sheet.chosen ? 600 : 400 };
  const write = (x: number, words: string) => text(x, y + 14, words, more);
  const value = numbers.v[key] ?? new Float32Array();
  return [
    write(at.key - 10, sheet.keys[key] ?? ""),
    strip(numbers.k[key] ?? [], keyReach(numbers), at.key, y, colours),
    write(at.raw, printed(numbers.raw[key] ?? 0, DECIMALS)),
    write(at.scaled, printed(numbers.scaled[key] ?? 0, DECIMALS)),
    mask === -Infinity ? rect(at.mask - 56, y, 60, ROW - 4, { fill: "url(#hatch)" }) : "",
    write(at.mask, printed(mask, mask === 0 ? 0 : DECIMALS)),
    write(at.exponential, exponentialInDigits(computeExponentials(numbers).each[key] ?? 0)),
    rect(at.bar, y + 3, BAR, ROW - 10, { fill: colours.masked }),
    rect(at.bar, y + 3, BAR * weight, ROW - 10, { fill: colours.accent }),
    write(at.weight, printed(weight, WEIGHT_DECIMALS)),
    strip(value, reach(numbers.v), at.value, y, colours),
    strip(
      value.map((one) => one * weight),
      sumReach(numbers),
      at.weighted,
      y,
      colours,
    ),
  ].join("");
}

function computeExponentials(numbers: Numbers) {
  return exponentials(computeScores(numbers));
}

function keyReach(numbers: Numbers): number {
  return reach([numbers.q, ...numbers.k]);
}

function strip(
  vector: ArrayLike<number>,
  most: number,
  x: number,
  y: number,
  colours: Palette,
): string {
  const wide = STRIP / vector.length;
  return Array.from(vector, (value, at) =>
    rect(x + at * wide, y, wide + 0.05, ROW - 5, {
      fill: colours.diverging[computeLevel(value, -most, most)] ?? colours.ground,
    }),
  ).join("");
}

/** Return every number of the sheet at full precision, one row per key. */
export function sheetTable({ numbers, keys }: Pick<SavedSheet, "numbers" | "keys">): Table {
  const { each } = computeExponentials(numbers);
  const named = (letter: string, vector: ArrayLike<number>) =>
    Array.from(vector, (_, at) => `${letter}${at + 1}`);
  const empty = (vector: ArrayLike<number>) => Array.from(vector, () => "");
  const finite = (value: number) => (Number.isFinite(value) ? value : "−∞");
  return {
    columns: [
      "key",
      "q·k",
      "scaled",
      "mask",
      "exponential",
      "weight",
      ...named("k", numbers.q),
      ...named("v", numbers.output),
    ],
    rows: [
      ...keys.map((name, key) => [
        name,
        numbers.raw[key] ?? 0,
        numbers.scaled[key] ?? 0,
        finite(numbers.mask[key] ?? 0),
        each[key] ?? 0,
        numbers.weights[key] ?? 0,
        ...(numbers.k[key] ?? []),
        ...(numbers.v[key] ?? []),
      ]),
      ["q of the query", "", "", "", "", "", ...numbers.q, ...empty(numbers.output)],
      ["sum of weight × v", "", "", "", "", "", ...empty(numbers.q), ...numbers.output],
    ],
  };
}
