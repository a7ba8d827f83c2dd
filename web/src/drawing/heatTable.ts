/** A table of numbers painted as one image: fast for tokens × d_model. */

import { computeLevel, type Palette } from "./colours.ts";

/** Numbers in rows, and the value at the end of the ramp. */
export interface Table {
  rows: number;
  columns: number;
  data: ArrayLike<number>;
  most: number;
  scale: "heat" | "diverging";
}

/** Paints the table into a rectangle, each number a cell. */
export function paintTable(
  context: CanvasRenderingContext2D,
  colours: Palette,
  table: Table,
  [x, y, width, height]: readonly [number, number, number, number],
): void {
  if (table.rows === 0 || table.columns === 0) return;
  context.imageSmoothingEnabled = false;
  context.drawImage(drawImage(table, colours), x, y, width, height);
}

interface Image {
  canvas: OffscreenCanvas;
  most: number;
  colours: Palette;
}

/** Images of numbers that were painted before: a cursor that moves must not paint them again. */
const images = new WeakMap<ArrayLike<number>, Image>();

function drawImage(table: Table, colours: Palette): OffscreenCanvas {
  const known = images.get(table.data);
  if (known && known.most === table.most && known.colours === colours) return known.canvas;
  const canvas = new OffscreenCanvas(table.columns, table.rows);
  const brush = canvas.getContext("2d");
  if (!brush) throw new Error("this browser cannot paint: no canvas");
  const image = brush.createImageData(table.columns, table.rows);
  image.data.set(pixels(table, colours));
  brush.putImageData(image, 0, 0);
  images.set(table.data, { canvas, most: table.most, colours });
  return canvas;
}

/** Red, green, blue and opacity of each number in turn. */
export function pixels(table: Table, colours: Palette): Uint8ClampedArray {
  const ramp = getRamp(table.scale === "heat" ? colours.heat : colours.diverging);
  const low = table.scale === "heat" ? 0 : -table.most;
  const count = table.rows * table.columns;
  const out = new Uint8ClampedArray(4 * count);
  for (let at = 0; at < count; at++) {
    const colour = ramp[computeLevel(table.data[at] ?? 0, low, table.most)];
    if (colour) out.set(colour, 4 * at);
  }
  return out;
}

const ramps = new WeakMap<readonly string[], number[][]>();

function getRamp(colours: readonly string[]): number[][] {
  const known = ramps.get(colours);
  if (known) return known;
  const made = colours.map((hex) => [
    ...[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)),
    255,
  ]);
  ramps.set(colours, made);
  return made;
}
