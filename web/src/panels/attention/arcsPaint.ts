/** Paints the lines of a head: those of the word in view strong, all others faint. */
import type { Palette } from "../../drawing/colours.ts";
import { LABEL_FONT } from "../../drawing/matrixPaint.ts";
import { printed } from "../../drawing/numbers.ts";
import { type Curve, type Stage, strength, TOKEN_HEIGHT } from "./curves.ts";
import type { Marked } from "./marked.ts";

/** What stands out: a row and a column, and the last row that is written. */
export interface Focus extends Marked {
  written: number;
}

/** The part of the drawing that is on the screen: a long sentence is wider than its box. */
export interface View {
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
