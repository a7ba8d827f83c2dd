/**
 * All numbers of one query of one head: what the trace recorded, nothing computed anew.
 *
 * equation 1:  Attention(Q, K, V) = softmax(Q Kᵀ / √d_k + mask) V
 */
import { part, type Tensor } from "../../api/tensors.ts";

/** The tensors of one head, each without the head's dimension: L queries, M keys. */
export interface HeadTensors {
  q: Tensor;
  k: Tensor;
  v: Tensor;
  raw: Tensor;
  scaled: Tensor;
  mask: Tensor;
  weights: Tensor;
  heads: Tensor;
}

/** The numbers of one query; lists go over the M keys, vectors over d_k or d_v dimensions. */
export interface Numbers {
  q: Float32Array;
  k: Float32Array[];
  v: Float32Array[];
  raw: Float32Array;
  scaled: Float32Array;
  mask: Float32Array;
  weights: Float32Array;
  output: Float32Array;
}

/** Return the numbers of one query. */
export function numbersOf(tensors: HeadTensors, query: number): Numbers {
  const row = (tensor: Tensor) => part(tensor, query).data;
  return {
    q: row(tensors.q),
    k: rowsOf(tensors.k),
    v: rowsOf(tensors.v),
    raw: row(tensors.raw),
    scaled: row(tensors.scaled),
    mask: row(tensors.mask),
    weights: row(tensors.weights),
    output: row(tensors.heads),
  };
}

function rowsOf(tensor: Tensor): Float32Array[] {
  return Array.from({ length: tensor.shape[0] ?? 0 }, (_, row) => part(tensor, row).data);
}

/** Return the key that gets most of the attention. */
export function strongest(numbers: Numbers): number {
  return numbers.weights.reduce(
    (best, weight, at) => (weight > (numbers.weights[best] ?? 0) ? at : best),
    0,
  );
}

/** Tell whether the model adds a bias of its own to scores (relative positions). */
export function isBiased(numbers: Numbers): boolean {
  return numbers.mask.some((value) => value !== 0 && Number.isFinite(value));
}

/** Return what goes into the softmax: scaled scores and mask together. */
export function scoresOf(numbers: Numbers): number[] {
  return Array.from(numbers.scaled, (score, key) => score + (numbers.mask[key] ?? 0));
}

/** The exponentials of a softmax, their sum, and what was taken off each score before. */
export interface Exponentials {
  shift: number;
  each: number[];
  sum: number;
}

/** Exponents beyond this make numbers that nobody can read or type. */
const READABLE = 50;

/**
 * Return e to each score, and the sum.
 *
 * Where the numbers would be very large or small the largest score is taken off all of them first.
 * The quotients stay the same: e^(s − c) / Σ e^(s − c) = e^s / Σ e^s.
 */
export function exponentials(scores: readonly number[]): Exponentials {
  const most = Math.max(...scores);
  const shift = Math.abs(most) > READABLE ? most : 0;
  const each = scores.map((score) => Math.exp(score - shift));
  return { shift, each, sum: each.reduce((sum, one) => sum + one, 0) };
}

/** Return weight × value of each key in one dimension: the terms of the head's output there. */
export function termsOf(numbers: Numbers, dimension: number): number[] {
  return Array.from(numbers.weights, (weight, key) => weight * (numbers.v[key]?.[dimension] ?? 0));
}

/** Return the products q_i k_i of one key, whose sum is the raw score. */
export function productsOf(numbers: Numbers, key: number): number[] {
  return Array.from(numbers.q, (value, at) => value * (numbers.k[key]?.[at] ?? 0));
}

/** Return the largest magnitude of some vectors: what the end of their colour scale stands for. */
export function reach(vectors: Iterable<Float32Array>): number {
  let most = 0;
  for (const vector of vectors) {
    for (const value of vector) most = Math.max(most, Math.abs(value));
  }
  return most;
}

/** Return the end of the colour scale of weighted values and of their sum. */
export function sumReach(numbers: Numbers): number {
  const weighted = numbers.v.map((vector, key) =>
    vector.map((value) => value * (numbers.weights[key] ?? 0)),
  );
  return reach([numbers.output, ...weighted]);
}
