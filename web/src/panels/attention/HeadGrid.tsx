/** All heads of all layers as small pictures; a click, or arrow keys and Enter, enlarges one. */

import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { part, type Tensor } from "../../api/tensors.ts";
import type { HeadId, Side, Trace } from "../../api/types.ts";
import { computeLevel, LEVELS, type Palette, palette } from "../../drawing/colours.ts";
import { moveCell } from "../../drawing/cursor.ts";
import { step } from "../../state/player.ts";
import { go, setExtra } from "../../state/store.ts";
import { sameHead } from "../lens/headList.ts";
import { stretched } from "./inView.ts";
import { largest } from "./reading.ts";
import type { Sentences } from "./tokens.ts";
import { describeRole, findStatistics, listMarks } from "./words.ts";

interface HeadGridProps {
  trace: Trace;
  sentences: Sentences;
  layers: Tensor[];
  chosen: HeadId;
}

/** The grid: one row per layer, one column per head. One stop of Tab; arrow keys move inside it. */
export function HeadGrid({ trace, sentences, layers, chosen }: HeadGridProps) {
  const grid = useRef<HTMLDivElement>(null);
  const heads = trace.model.heads;
  const coverRows = (): void => {
    const share = unwritten(sentences, step.value);
    // Set on each cover by itself: a variable of the grid would restyle everything inside it.
    for (const cover of grid.current?.querySelectorAll<HTMLElement>(".attention-unwritten") ?? []) {
      cover.style.transform = `scaleY(${share})`;
    }
  };
  useLayoutEffect(coverRows);
  useSignalEffect(coverRows);
  const move = (event: KeyboardEvent): void => {
    const from = (event.target as HTMLElement).closest<HTMLElement>("[data-head]");
    if (!from) return;
    const at = { row: Number(from.dataset.layer), column: Number(from.dataset.head) };
    const to = moveCell(event.key, at, layers.length, heads);
    if (!to) return;
    event.preventDefault();
    grid.current
      ?.querySelector<HTMLElement>(`[data-layer="${to.row}"][data-head="${to.column}"]`)
      ?.focus();
  };
  return (
    <div class="attention-scroll">
      <div
        class="attention-grid"
        ref={grid}
        role="group"
        aria-label="All heads; arrow keys move, Enter enlarges"
        data-own-keys
        onKeyDown={move}
      >
        {layers.map((weights, layer) => (
          <div class="attention-layer" key={layer}>
            <span class="attention-layer-name">
              <span class="attention-word">layer </span>
              {layer + 1}
            </span>
            {Array.from({ length: heads }, (_, head) => (
              <SmallHead
                key={head}
                trace={trace}
                sentences={sentences}
                weights={weights}
                id={{ side: sentences.side, layer, head }}
                chosen={sameHead(chosen, { side: sentences.side, layer, head })}
              />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Return the share of the rows that are not written yet. */
function unwritten(sentences: Sentences, at: number): number {
  const rows = sentences.queries.length;
  return sentences.side === "encoder" ? 0 : Math.max(0, rows - 1 - at) / rows;
}

interface SmallHeadProps {
  trace: Trace;
  sentences: Sentences;
  /** Of all heads of the layer. */
  weights: Tensor;
  id: HeadId;
  chosen: boolean;
}

function SmallHead({ trace, sentences, weights, id, chosen }: SmallHeadProps) {
  const own = useMemo(() => part(weights, id.head), [weights, id.head]);
  const role = describeRole(findStatistics(trace, id).role, id.side);
  const colours = palette();
  const most = stretched.value ? largest(own) : 1;
  const image = useMemo(
    () => thumbnail(own, sentences.side, most, colours),
    [own, sentences, most, colours],
  );
  const marks = listMarks(trace, id);
  const said = [`layer ${id.layer + 1}, head ${id.head + 1}`, role, ...marks].join(", ");
  return (
    <button
      type="button"
      class="attention-small"
      aria-label={said}
      title={said}
      aria-pressed={chosen}
      tabIndex={chosen ? 0 : -1}
      data-layer={id.layer}
      data-head={id.head}
      onClick={() => chooseHead(id)}
    >
      <span class="attention-small-picture">
        <img src={image} alt="" width={own.shape[1]} height={own.shape[0]} />
        <span class="attention-unwritten" />
      </span>
      <span class="attention-small-name">
        <span class="attention-word">head </span>
        {id.head + 1}
        {marks.includes("aligns words") && <b> ★</b>}
      </span>
      <span class="attention-small-role">{marks.includes("switched off") ? "off" : role}</span>
    </button>
  );
}

/** Draw another head large. */
export function chooseHead({ layer, head }: Pick<HeadId, "layer" | "head">): void {
  go({ layer, head });
  setExtra({ draw: null }, { replace: true });
}

/* A head as a small picture: a dot a weight, enlarged without smoothing; the mask is hatched. */

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
    const level = computeLevel(weight, 0, most);
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
function thumbnail(weights: Tensor, side: Side, most: number, colours: Palette): string {
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
