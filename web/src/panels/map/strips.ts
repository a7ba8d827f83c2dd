/** Strips: one row of attention, small enough to stand inside a box of the map. */

import { type Tensor, value } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";

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

/** The largest magnitude in each of so many equal parts of a row. */
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
