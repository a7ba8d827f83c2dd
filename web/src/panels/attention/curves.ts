/**
 * Attention as lines: where each one runs. Drawn on the page by canvas, in a saved picture by SVG.
 *
 * Self-attention is one row of tokens: lines above it look back, lines below it look ahead.
 * Cross-attention is two rows: the translation above looks down at the source.
 */
import type { Tensor } from "../../api/tensors.ts";
import type { Palette } from "../../drawing/colours.ts";
import { LABEL_FONT } from "../../drawing/matrixPaint.ts";
import { printed } from "../../drawing/Number.tsx";
import type { Marked } from "./inView.ts";
import { isMasked, type Sentences } from "./tokens.ts";

/** Weights below this are not drawn, or the picture would be a carpet. */
export const FAINTEST = 0.02;

const GAP = 6;
const TALLEST = 150;
const BETWEEN = 170;
/** How high a token is, in pixels. */
export const TOKEN_HEIGHT = 28;
const LOOP = 22;
const EDGE = 10;
/** Room for a line of numbers under the lowest tokens. */
const NUMBERS = 14;

/** Where the tokens of a row stand: the middle of each, and its width. */
export interface Row {
  middles: number[];
  widths: number[];
  top: number;
}

/** The whole drawing: one row of tokens for self-attention, two for cross-attention. */
export interface Stage {
  width: number;
  height: number;
  queries: Row;
  keys: Row;
}

/** A cubic curve from the word that looks to the one looked at: x0 y0 x1 y1 x2 y2 x3 y3. */
export interface Curve {
  row: number;
  column: number;
  weight: number;
  points: readonly [number, number, number, number, number, number, number, number];
}

/** Return where tokens stand, given how wide each label is. */
export function layOutStage(
  sentences: Sentences,
  queryWidths: readonly number[],
  keyWidths: readonly number[],
): Stage {
  if (sentences.side !== "cross") return oneRow(sentences, queryWidths);
  const width = 2 * EDGE + Math.max(rowWidth(queryWidths), rowWidth(keyWidths));
  return {
    width,
    height: 2 * EDGE + 2 * TOKEN_HEIGHT + BETWEEN + 2 * NUMBERS,
    queries: placed(queryWidths, width, EDGE + NUMBERS),
    keys: placed(keyWidths, width, EDGE + NUMBERS + TOKEN_HEIGHT + BETWEEN),
  };
}

function oneRow(sentences: Sentences, widths: readonly number[]): Stage {
  const width = 2 * EDGE + rowWidth(widths);
  const row = placed(widths, width, EDGE + tallest(width));
  const below = sentences.side === "encoder" ? tallest(width) : NUMBERS;
  return { width, height: row.top + TOKEN_HEIGHT + below + EDGE, queries: row, keys: row };
}

function tallest(width: number): number {
  return Math.min(TALLEST, Math.max(60, width / 4));
}

function rowWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + GAP * Math.max(0, widths.length - 1);
}

function placed(widths: readonly number[], room: number, top: number): Row {
  let x = (room - rowWidth(widths)) / 2;
  const middles = widths.map((width) => {
    const middle = x + width / 2;
    x += width + GAP;
    return middle;
  });
  return { middles, widths: [...widths], top };
}

/** Return the lines worth drawing, weak ones first so that strong ones lie on top. */
export function buildCurves(
  weights: Tensor,
  sentences: Sentences,
  stage: Stage,
  hidden: ReadonlySet<number>,
): Curve[] {
  const found: Curve[] = [];
  const width = sentences.keys.length;
  for (let row = 0; row < sentences.queries.length; row++) {
    for (let column = 0; column < width; column++) {
      const weight = weights.data[row * width + column] ?? 0;
      if (weight < FAINTEST || hidden.has(column) || isMasked(sentences.side, row, column))
        continue;
      found.push({ row, column, weight, points: points(row, column, sentences, stage) });
    }
  }
  return found.sort((a, b) => a.weight - b.weight || a.row - b.row || a.column - b.column);
}

function points(row: number, column: number, sentences: Sentences, stage: Stage): Curve["points"] {
  const from = stage.queries.middles[row] ?? 0;
  const to = stage.keys.middles[column] ?? 0;
  if (sentences.side === "cross") {
    const low = stage.keys.top;
    const high = stage.queries.top + TOKEN_HEIGHT;
    const bend = (low - high) * 0.5;
    return [from, high, from, high + bend, to, low - bend, to, low];
  }
  if (row === column) {
    const top = stage.queries.top;
    return [from - 5, top, from - 13, top - LOOP, from + 13, top - LOOP, from + 5, top];
  }
  return arch(from, to, stage);
}

/** Return an arch whose height grows with the root of the distance; ahead it hangs below. */
function arch(from: number, to: number, stage: Stage): Curve["points"] {
  const longest = Math.max(1, stage.width - 2 * EDGE);
  const height = (tallest(stage.width) - 4) * Math.sqrt(Math.abs(to - from) / longest) * (4 / 3);
  const y = to < from ? stage.queries.top : stage.queries.top + TOKEN_HEIGHT;
  const peak = to < from ? y - height : y + height;
  return [from, y, from, peak, to, peak, to, y];
}

/** Return a curve as the `d` of an SVG path. */
export function drawPath(curve: Curve): string {
  const [x0, y0, ...rest] = curve.points.map((value) => Math.round(value * 10) / 10);
  return `M${x0} ${y0}C${rest.join(" ")}`;
}

/** Return how thick and how opaque a line of a weight is. */
export function strength(weight: number): { width: number; opacity: number } {
  return { width: 0.6 + 5 * weight, opacity: 0.15 + 0.75 * weight };
}

/* Paints the lines of a head: those of the word in view strong, all others faint. */

/** What stands out: a row and a column, and the last row that is written. */
interface Focus extends Marked {
  written: number;
}

/** The part of the drawing that is on the screen: a long sentence is wider than its box. */
interface View {
  left: number;
  width: number;
}

/**
 * Paint the lines that are on the screen. Incoming ones of the word in view are dashed; numbers
 * stand at the ends of its lines.
 */
export function paintCurves(
  canvas: HTMLCanvasElement,
  stage: Stage,
  view: View,
  all: readonly Curve[],
  focus: Focus,
  colours: Palette,
): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const ratio = globalThis.devicePixelRatio || 1;
  resized(canvas, view.width, stage.height, ratio);
  pen.setTransform(ratio, 0, 0, ratio, -view.left * ratio, 0);
  pen.clearRect(view.left, 0, view.width, stage.height);
  const curves = all.filter((curve) => isInView(curve, view));
  const isOwn = (curve: Curve) => curve.row === focus.row || curve.column === focus.column;
  pen.strokeStyle = colours.muted;
  for (const curve of curves) {
    if (!isOwn(curve) && curve.row <= focus.written) stroke(pen, curve, 0.3);
  }
  const own = curves.filter(isOwn);
  for (const curve of own) strokeOwn(pen, curve, focus, colours);
  for (const curve of own) writeNumber(pen, curve, focus, stage, colours);
}

/** Draw a line of the word in view: solid to what it looks at, dashed from who looks at it. */
function strokeOwn(
  pen: CanvasRenderingContext2D,
  curve: Curve,
  focus: Focus,
  colours: Palette,
): void {
  const looks = curve.row === focus.row;
  pen.strokeStyle = ownColour(looks, colours);
  pen.setLineDash(looks ? [] : [5, 4]);
  stroke(pen, curve, curve.row <= focus.written ? 1.6 : 0.5);
  pen.setLineDash([]);
}

function ownColour(looks: boolean, colours: Palette): string {
  return looks ? colours.accent : (colours.series[1] ?? colours.ink);
}

/** Tell whether some of a curve is on the screen; one that only passes over it is. */
export function isInView({ points }: Curve, view: View): boolean {
  const [from, to] = [Math.min(points[0], points[6]), Math.max(points[0], points[6])];
  return to >= view.left - MARGIN && from <= view.left + view.width + MARGIN;
}

/** Loops and thick lines reach a little beyond their ends. */
const MARGIN = 20;

function resized(canvas: HTMLCanvasElement, wide: number, high: number, ratio: number): void {
  const [width, height] = [Math.round(wide * ratio), Math.round(high * ratio)];
  if (canvas.width === width && canvas.height === height) return;
  canvas.width = width;
  canvas.height = height;
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${high}px`;
}

function stroke(pen: CanvasRenderingContext2D, curve: Curve, factor: number): void {
  const [x0, y0, ...rest] = curve.points;
  const { width, opacity } = strength(curve.weight);
  pen.lineWidth = width;
  pen.globalAlpha = Math.min(1, opacity * factor);
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(...rest);
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Weights below this are in the list beside the picture, but not written into it. */
const WRITTEN = 0.05;

/** Write a weight at the far end of its line, on a ground of its own. */
function writeNumber(
  pen: CanvasRenderingContext2D,
  curve: Curve,
  focus: Focus,
  stage: Stage,
  colours: Palette,
): void {
  if (curve.weight < WRITTEN) return;
  const looks = curve.row === focus.row;
  const [x0, , , , , , x3] = curve.points;
  const far = looks ? stage.keys : stage.queries;
  const x = looks ? x3 : x0;
  const y = stage.keys === stage.queries || looks ? far.top + TOKEN_HEIGHT + 9 : far.top - 7;
  const words = printed(curve.weight, 2);
  pen.font = LABEL_FONT;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = colours.ground;
  pen.fillRect(x - 14, y - 7, 28, 14);
  pen.fillStyle = ownColour(looks, colours);
  pen.fillText(words, x, y);
}
