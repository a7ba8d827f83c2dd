/** A head as a small picture: a dot a weight, enlarged without smoothing; the mask is hatched. */
import type { Tensor } from "../../api/tensors.ts";
import type { Side } from "../../api/types.ts";
import { LEVELS, levelOf, type Palette } from "../../drawing/colours.ts";

/** Pixels that the longer side of a small picture should have, whatever the sentence's length. */
const WANTED = 192;

/** Pixels between the lines of the hatching: pictures are shown at a third of their size or so. */
const HATCH = 16;

/** Return how many pixels a cell gets, so that many tokens stay sharp and few stay light. */
export function cellSize(rows: number, columns: number): number {
  return Math.max(3, Math.min(24, Math.round(WANTED / Math.max(1, rows, columns))));
}

/** Return a ramp of #rrggbb colours as bytes: red, green, blue of each level. */
export function rampBytes(ramp: readonly string[]): Uint8Array {
  const bytes = new Uint8Array(3 * (LEVELS + 1));
  ramp.forEach((colour, level) => {
    for (let part = 0; part < 3; part++) {
      const digits = colour.slice(1 + 2 * part, 3 + 2 * part);
      bytes[3 * level + part] = Number.parseInt(digits, 16);
    }
  });
  return bytes;
}

/** Return the dots of a picture, four bytes each, a dot a weight. */
export function dots(
  weights: Tensor,
  ramp: Uint8Array,
  most: number,
): Uint8ClampedArray<ArrayBuffer> {
  const found = new Uint8ClampedArray(4 * weights.data.length);
  weights.data.forEach((weight, at) => {
    const level = levelOf(weight, 0, most);
    found.set(ramp.subarray(3 * level, 3 * level + 3), 4 * at);
    found[4 * at + 3] = 255;
  });
  return found;
}

/**
 * Return a head as the address of an image.
 *
 * An image, not a canvas: browsers hand every visible canvas on anew with each frame, and there may
 * be a hundred heads.
 */
export function thumbnail(weights: Tensor, side: Side, most: number, colours: Palette): string {
  const [rows = 0, columns = 0] = weights.shape;
  const size = cellSize(rows, columns);
  const canvas = document.createElement("canvas");
  canvas.width = columns * size;
  canvas.height = rows * size;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  if (!pen || rows === 0) return "";
  const small = new OffscreenCanvas(columns, rows);
  const image = new ImageData(dots(weights, rampBytes(colours.heat), most), columns, rows);
  small.getContext("2d")?.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, 0, 0, canvas.width, canvas.height);
  if (side === "decoder") hatchFuture(pen, rows, size, colours);
  return canvas.toDataURL();
}

/** Hatch the stairs above the diagonal. */
function hatchFuture(
  pen: CanvasRenderingContext2D,
  rows: number,
  size: number,
  colours: Palette,
): void {
  pen.save();
  pen.beginPath();
  for (let row = 0; row < rows - 1; row++) {
    pen.rect((row + 1) * size, row * size, (rows - row - 1) * size, size);
  }
  pen.fillStyle = colours.masked;
  pen.fill();
  pen.clip();
  pen.strokeStyle = colours.muted;
  pen.lineWidth = 2;
  pen.beginPath();
  const side = rows * size;
  for (let at = 0; at < 2 * side; at += HATCH) {
    pen.moveTo(at, 0);
    pen.lineTo(at - side, side);
  }
  pen.stroke();
  pen.restore();
}
