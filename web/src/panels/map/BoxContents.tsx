/** The real numbers at one place of the map, small. */
import type { Tensor } from "../../api/tensors.ts";
import type { Trace, WordSpan } from "../../api/types.ts";
import { Canvas } from "../../drawing/Canvas.tsx";
import type { Palette } from "../../drawing/colours.ts";
import { paintTable } from "../../drawing/heatTable.ts";
import { Num } from "../../drawing/Number.tsx";
import { isSymbol, plain } from "../../drawing/pieces.ts";
import { highlight } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import type { Miniature as Wanted } from "./boxes.ts";
import { pooled } from "./flow.ts";
import type { Box } from "./layout.ts";
import { fitting, phasesNow, type Scene, stateNow, useNow } from "./scene.ts";

interface MiniatureProps {
  trace: Trace;
  wanted: Wanted;
  step: number;
  width: number;
  height: number;
}

const ROW = 14; // px of a token, at most
const NUMBERS = 18; // px below the picture for its least and largest number

/** A table of tokens × dimensions, the matrices of all heads, or one row of the vocabulary. */
export function Miniature({ trace, wanted, step, width, height }: MiniatureProps) {
  const known = wanted.tensor in trace.tensors;
  const at = wanted.form === "row" ? [step] : [];
  const tensor = useTensor(trace, known ? wanted.tensor : null, at);
  if (!known || !tensor) return <div style={{ height: `${height}px` }} />;
  const [low, high] = ends(tensor);
  const marked = wanted.tensor.startsWith("encoder") || SOURCE.test(wanted.tensor) ? null : step;
  const room = usedHeight(tensor, wanted.form, width, height - NUMBERS);
  return (
    <div class="map-miniature" data-tensor={wanted.tensor}>
      <Canvas
        width={width}
        height={room}
        label={`${wanted.tensor}, ${tensor.shape.join(" by ")} numbers`}
        draw={(context, colours) => {
          const frame = { context, colours, width, height: room, row: marked };
          if (wanted.form === "heads") paintHeads(frame, tensor);
          else if (wanted.form === "row") paintRow(frame, tensor);
          else paintStream(frame, tensor);
        }}
      />
      <p class="map-ends">
        <span class="map-tensor">{wanted.tensor}</span>
        <span>
          <Num value={low} digits={2} /> to <Num value={high} digits={2} />
        </span>
      </p>
    </div>
  );
}

const SOURCE = /^(source\.|memory)/;

interface Frame {
  context: CanvasRenderingContext2D;
  colours: Palette;
  width: number;
  height: number;
  /** The row of the present step; none where all rows belong to it. */
  row: number | null;
}

/** Least and largest finite number. */
export function ends(tensor: Tensor): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const one of tensor.data) {
    if (!Number.isFinite(one)) continue;
    low = Math.min(low, one);
    high = Math.max(high, one);
  }
  return low <= high ? [low, high] : [0, 0];
}

function paintStream({ context, colours, width, height, row }: Frame, tensor: Tensor): void {
  const [rows = 0, columns = 0] = tensor.shape;
  const [low, high] = ends(tensor);
  const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
  const tall = Math.min(height, rows * ROW);
  const table = { rows, columns, data: tensor.data, most, scale: "diverging" as const };
  paintTable(context, colours, table, [0, 0, width, tall]);
  if (row !== null) markRow(context, colours, [0, (row * tall) / rows, width, tall / rows]);
}

const GAP = 8; // px between the matrices of heads

/** Where the matrices of all heads stand. */
function headGrid(tensor: Tensor, width: number, height: number) {
  const [heads = 1, rows = 1, columns = 1] = tensor.shape;
  const across = bestAcross(heads, rows / columns, width, height, GAP);
  const down = Math.ceil(heads / across);
  const wide = Math.min(
    (width - GAP * (across - 1)) / across,
    (((height - GAP * (down - 1)) / down) * columns) / rows,
  );
  const tall = (wide * rows) / columns;
  return { across, wide, tall, used: down * (tall + GAP) - GAP };
}

function usedHeight(tensor: Tensor, form: Wanted["form"], width: number, most: number): number {
  if (form === "heads") return Math.ceil(headGrid(tensor, width, most).used);
  return form === "table" ? Math.min(most, (tensor.shape[0] ?? 1) * ROW) : Math.min(most, 80);
}

function paintHeads({ context, colours, width, height, row }: Frame, tensor: Tensor): void {
  const [heads = 0, rows = 0, columns = 0] = tensor.shape;
  const { across, wide, tall } = headGrid(tensor, width, height);
  for (let head = 0; head < heads; head++) {
    const x = (head % across) * (wide + GAP);
    const y = Math.floor(head / across) * (tall + GAP);
    const data = tensor.data.subarray(head * rows * columns, (head + 1) * rows * columns);
    const table = { rows, columns, data, most: 1, scale: "heat" as const };
    paintTable(context, colours, table, [x, y, wide, tall]);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, wide - 1, tall - 1);
    if (row !== null) markRow(context, colours, [x, y + (row * tall) / rows, wide, tall / rows]);
  }
}

/** How many matrices side by side make them largest; `aspect` is height by width of one. */
function bestAcross(
  count: number,
  aspect: number,
  width: number,
  height: number,
  gap: number,
): number {
  let [best, largest] = [1, 0];
  for (let across = 1; across <= count; across++) {
    const down = Math.ceil(count / across);
    const wide = (width - gap * (across - 1)) / across;
    const fitting = Math.min(wide, (height - gap * (down - 1)) / down / aspect);
    if (fitting > largest) [best, largest] = [across, fitting];
  }
  return best;
}

/** One row of the vocabulary as columns from its least number up, the largest of each few. */
function paintRow({ context, colours, width, height }: Frame, tensor: Tensor): void {
  const [low, high] = ends(tensor);
  const shifted = Array.from(tensor.data, (one) => (Number.isFinite(one) ? one - low : 0));
  const bins = pooled(shifted, Math.floor(width / 2));
  const across = width / bins.length;
  context.fillStyle = colours.accent;
  for (const [at, one] of bins.entries()) {
    const tall = Math.max(1, (height * one) / Math.max(1e-12, high - low));
    context.fillRect(at * across, height - tall, Math.max(1, across - 0.5), tall);
  }
}

function markRow(
  context: CanvasRenderingContext2D,
  colours: Palette,
  [x, y, width, height]: readonly [number, number, number, number],
): void {
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  context.strokeRect(x + 1, y, width - 2, Math.max(2, height));
}

/* The tokens that enter a stack. */

interface ContentProps {
  box: Box;
  scene: Scene;
  title: string;
  shape: string;
}

/** Source: the first tokens that fit. Target: the last ones, up to the one that is read now. */
export function TokensContent({ box, scene, title, shape }: ContentProps) {
  const { trace, step } = scene;
  const encoder = box.stack === "encoder";
  const arrived = useNow(scene, (now) => encoder || phasesNow(now).feedback >= 1);
  const all = encoder ? trace.source_tokens : trace.target_tokens.slice(0, step + 1);
  const tokens = arrived ? all : all.slice(0, -1);
  const names = tokens.map((token) => plain(token.piece));
  const { from, to } = fitting(names, box.width - 24, 1, encoder ? "first" : "last");
  const stream = encoder ? "source" : "target";
  const lit = highlight.value?.stream === stream ? highlight.value.index : -1;
  return (
    <>
      <span class="map-line">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      <span class="map-chips" data-cut={from > 0}>
        {from > 0 && <span class="map-more">… {from}</span>}
        {tokens.slice(from, to).map((token, order) => (
          <span
            key={from + order}
            class="map-chip"
            data-symbol={isSymbol(token.piece)}
            data-new={!encoder && from + order === step}
            data-lit={from + order === lit}
            data-joined={order > 0 && goesOn(trace.words[stream], from + order)}
          >
            {plain(token.piece)}
          </span>
        ))}
        {to < tokens.length && <span class="map-more">+{tokens.length - to}</span>}
      </span>
    </>
  );
}

/** Whether a token goes on with the word of the one before it. */
function goesOn(words: readonly WordSpan[], index: number): boolean {
  return words.some(([first, end]) => first < index && index < end);
}

/* What comes out of the softmax at a step: the token that was written, and its rivals. */

const RIVALS = 3;

/** The likeliest tokens as bars; the written one is among them, or comes last. */
export function OutputContent({ box, scene, title, shape }: ContentProps) {
  const { trace, step } = scene;
  const here = trace.steps[step];
  const isOut = useNow(scene, (now) => stateNow(now, box.stack, box.reached) !== "waiting");
  if (!here) return null;
  const { token } = here;
  const top = here.top.slice(0, RIVALS);
  const written = { id: token.id, piece: token.piece, log_prob: here.log_prob };
  const shown = top.some((one) => one.id === token.id)
    ? top
    : [...top.slice(0, RIVALS - 1), written];
  return (
    <>
      <span class="map-line">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      <span class="map-rivals" data-out={isOut}>
        {shown.map((one) => (
          <span key={one.id} class="map-rival" data-written={one.id === token.id}>
            <span class="map-rival-name">{plain(one.piece)}</span>
            <span class="map-rival-track">
              <span
                class="map-rival-bar"
                style={{ width: `${isOut ? 100 * Math.exp(one.log_prob) : 0}%` }}
              />
            </span>
            <Num value={Math.exp(one.log_prob)} digits={3} />
          </span>
        ))}
      </span>
    </>
  );
}
