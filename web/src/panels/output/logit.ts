/**
 * Where a logit comes from: the decoder's state times the token's row of the output matrix.
 *
 *     logit(token) = Σ h_i · w_i          h: decoder's state, w: the token's row, D numbers each
 *
 * Where the decoder's embedding and the output matrix are one (section 3.4), the trace holds the
 * row of each token that the decoder has read: its embedding divided by √d_model.
 */

import { part, type Tensor } from "../../api/tensors.ts";
import type { ModelConfig } from "../../api/types.ts";

/** The three rows of the sum, and what they add up to. */
export interface Product {
  state: Float64Array;
  row: Float64Array;
  products: Float64Array;
  logit: number;
}

/** Whether the embedding of a target token is its row of the output matrix, but for √d_model. */
export function isTied(config: ModelConfig): boolean {
  return config.tying !== "none";
}

/**
 * Multiply the state of step `at` with the row of the token that it wrote, which the decoder reads
 * at the next step; undefined at the last step, whose token nothing reads.
 */
export function productAt(states: Tensor, embedding: Tensor, at: number): Product | undefined {
  if (at + 1 >= (embedding.shape[0] ?? 0)) return undefined;
  const state = Float64Array.from(part(states, at).data);
  const scale = Math.sqrt(state.length);
  const row = Float64Array.from(part(embedding, at + 1).data, (value) => value / scale);
  const products = state.map((value, index) => value * (row[index] as number));
  return { state, row, products, logit: products.reduce((total, value) => total + value, 0) };
}

/** Return the bars of numbers above (or below) a line as one SVG path, 1 wide each. */
export function barsPath(
  numbers: Float64Array,
  middle: number,
  room: number,
  sign: 1 | -1,
): string {
  const most = numbers.reduce((high, value) => Math.max(high, Math.abs(value)), 0) || 1;
  let drawn = "";
  numbers.forEach((value, index) => {
    if (value * sign <= 0) return;
    const height = Math.round((-100 * room * value) / most) / 100;
    drawn += `M${index + 0.1} ${middle}h.8v${height}h-.8z`;
  });
  return drawn;
}
