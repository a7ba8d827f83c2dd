/**
 * What moves while a step of decoding plays, and what is computed or kept.
 *
 *     step 0     source ─ encoder ─ memory, then  <s>  up the decoder ─ first token
 *     step t     token t−1 is fed back, then up the decoder ─ token t; the encoder's work is kept
 */

import { type Tensor, value } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import type { Stack } from "./parts.ts";

/** How far each part of a step has come, 0 to 1. */
export interface Phases {
  encoder: number;
  feedback: number;
  decoder: number;
}

/** computed: in this step; kept: in an earlier one, reused now; waiting: not yet in this step. */
export type State = "computed" | "kept" | "waiting";

const ENCODER_SHARE = 0.45; // of the first step
const FEEDBACK_SHARE = 0.25; // of later ones

/** Returns how far encoder, way back and decoder are when this share of a step has passed. */
export function phases(step: number, share: number): Phases {
  const first = step === 0 ? ENCODER_SHARE : FEEDBACK_SHARE;
  const begin = Math.min(1, Math.max(0, share) / first);
  const decoder = Math.max(0, (Math.min(1, share) - first) / (1 - first));
  return step === 0
    ? { encoder: begin, feedback: 1, decoder }
    : { encoder: 1, feedback: begin, decoder };
}

/** Returns what became of the part of a stack that data reaches at `reached` of its way. */
export function findState(stack: Stack, reached: number, step: number, now: Phases): State {
  if (stack === "encoder" && step > 0) return "kept";
  return now[stack] >= reached ? "computed" : "waiting";
}

/** Milliseconds that a step is drawn for, given how long the player stays at one. */
export function duration(step: number, stay: number): number {
  const longest = step === 0 ? 1800 : 1200;
  return Math.min(longest, 0.85 * stay);
}

/** Slow at both ends, so that a token is seen to leave and to arrive. */
export function eased(share: number): number {
  const s = Math.max(0, Math.min(1, share));
  return s * s * (3 - 2 * s);
}

/**
 * Whether going from one step to another is shown as movement: one step forward, or the first step
 * of a new sentence (`before` is null) or of a new round.
 */
export function isMoving(before: number | null, step: number, playing: boolean): boolean {
  if (step === 0) return before === null || (playing && before > 0);
  return before !== null && step === before + 1;
}

/* Strips: one row of attention, small enough to stand inside a box of the map. */

/** Cells of a strip, 0 to 1 each; those from `computed` on are new, those before are kept. */
export interface StripData {
  values: number[];
  /** Cells that the strip has in the end; the rest is empty. */
  slots: number;
  computed: number;
}

/** The strip of an attention: where the newest token looks; in the encoder, what all look at. */
export function attentionStrip(
  trace: Pick<Trace, "source_tokens" | "target_tokens">,
  name: string,
  step: number,
  weights: Tensor,
): StripData {
  const source = trace.source_tokens.length;
  const once = { slots: source, computed: step === 0 ? 0 : source };
  if (name.startsWith("encoder")) return { ...once, values: relative(received(weights)) };
  if (name.includes("cross")) {
    return { ...once, values: relative(meanRow(weights, step, source)) };
  }
  const values = relative(meanRow(weights, step, step + 1));
  return { values, slots: trace.target_tokens.length, computed: step };
}

/** What the newest token looks at, mean of all heads: row `row` of (H, L, M), first `count` keys. */
export function meanRow(weights: Tensor, row: number, count: number): number[] {
  const [heads = 0, rows = 0, keys = 0] = weights.shape;
  if (row >= rows) return [];
  return Array.from({ length: Math.min(count, keys) }, (_, key) => {
    let sum = 0;
    for (let head = 0; head < heads; head++) sum += value(weights, head, row, key);
    return sum / heads;
  });
}

/** How much each token is looked at by all others, mean of heads and queries: (H, L, M) → (M). */
export function received(weights: Tensor): number[] {
  const [heads = 0, rows = 0, keys = 0] = weights.shape;
  const sums = new Array<number>(keys).fill(0);
  for (let at = 0; at < weights.data.length; at++) {
    sums[at % keys] = (sums[at % keys] ?? 0) + (weights.data[at] ?? 0);
  }
  return sums.map((sum) => sum / (heads * rows));
}

/** The largest magnitude in each of this many equal parts of a row. */
export function pooled(row: ArrayLike<number>, bins: number): number[] {
  const count = Math.min(bins, row.length);
  return Array.from({ length: count }, (_, bin) => {
    const [from, to] = [(bin * row.length) / count, ((bin + 1) * row.length) / count];
    let most = 0;
    for (let at = Math.floor(from); at < Math.max(Math.floor(to), Math.floor(from) + 1); at++) {
      const one = row[at] ?? 0;
      if (Math.abs(one) > Math.abs(most)) most = one;
    }
    return most;
  });
}

/** The mean of the rows of (L, F): what a layer does to a whole sentence. */
export function meanOfRows(table: Tensor): number[] {
  const [rows = 0, width = 0] = table.shape;
  const sums = new Array<number>(width).fill(0);
  for (let at = 0; at < table.data.length; at++) {
    sums[at % width] = (sums[at % width] ?? 0) + (table.data[at] ?? 0);
  }
  return sums.map((sum) => sum / Math.max(1, rows));
}

/** Values as shares of the largest, 0 to 1. */
export function relative(values: readonly number[]): number[] {
  const most = Math.max(1e-12, ...values.map(Math.abs));
  return values.map((one) => Math.abs(one) / most);
}
