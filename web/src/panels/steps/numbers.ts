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
export function computeNumbers(tensors: HeadTensors, query: number): Numbers {
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
export function computeScores(numbers: Numbers): number[] {
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
export function computeTerms(numbers: Numbers, dimension: number): number[] {
  return Array.from(numbers.weights, (weight, key) => weight * (numbers.v[key]?.[dimension] ?? 0));
}

/** Return the products q_i k_i of one key, whose sum is the raw score. */
export function computeProducts(numbers: Numbers, key: number): number[] {
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

/*
 * The six steps as a student would do them with a pocket calculator: from printed numbers alone.
 *
 * Each check starts from digits that stand on the page, not from what is behind them, and so may
 * miss the network's own number by a little. How far is said, not hidden.
 */

/** Decimals of vectors and scores, and of weights. */
export const DECIMALS = 3;
export const WEIGHT_DECIMALS = 4;

/** Digits of an exponential that count, so that small and large ones are equally exact. */
const SIGNIFICANT = 4;

/** Return a number as it is printed. */
export function rounded(value: number, decimals: number = DECIMALS): number {
  if (!Number.isFinite(value)) return value;
  const short = Number(value.toFixed(decimals));
  return Object.is(short, -0) ? 0 : short;
}

/** Return an exponential as it is printed. */
export function roundedExponential(value: number): number {
  return Number(value.toPrecision(SIGNIFICANT));
}

/**
 * Return an exponential in digits: 87.41, 0.001234, and 1.069 × 10¹³ where zeros would be many.
 */
export function exponentialInDigits(value: number): string {
  if (value === 0) return "0";
  const short = roundedExponential(value);
  if (short >= 0.001 && short < 10_000) return short.toPrecision(SIGNIFICANT);
  const [digits = "", power = ""] = short.toExponential(SIGNIFICANT - 1).split("e");
  return `${digits} × 10${raised(Number(power))}`;
}

function raised(power: number): string {
  const digits = [...String(Math.abs(power))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
  return (power < 0 ? "⁻" : "") + digits.join("");
}

/** A number by pocket calculator beside the network's own. */
export interface Check {
  byHand: number;
  network: number;
}

/** The steps for one key, and for one dimension of the output, from printed digits. */
interface Checks {
  product: Check;
  scaled: Check;
  score: Check;
  sum: Check;
  weight: Check;
  output: Check;
}

/** Return what a pocket calculator gives for one key and one dimension of the output. */
export function checks(numbers: Numbers, key: number, dimension: number): Checks {
  const raw = numbers.raw[key] ?? 0;
  const scaled = numbers.scaled[key] ?? 0;
  const mask = numbers.mask[key] ?? 0;
  const scores = computeScores(numbers);
  const { each, sum } = exponentials(scores);
  const share = roundedExponential(each[key] ?? 0);
  return {
    product: { byHand: productByHand(numbers, key), network: raw },
    scaled: { byHand: rounded(raw) / rounded(Math.sqrt(numbers.q.length)), network: scaled },
    score: { byHand: rounded(scaled) + rounded(mask), network: scores[key] ?? 0 },
    sum: { byHand: each.reduce((all, one) => all + roundedExponential(one), 0), network: sum },
    weight: { byHand: share / roundedExponential(sum), network: numbers.weights[key] ?? 0 },
    output: { byHand: outputByHand(numbers, dimension), network: numbers.output[dimension] ?? 0 },
  };
}

function productByHand(numbers: Numbers, key: number): number {
  const other = numbers.k[key];
  return numbers.q.reduce((sum, value, at) => sum + rounded(value) * rounded(other?.[at] ?? 0), 0);
}

function outputByHand(numbers: Numbers, dimension: number): number {
  return numbers.weights.reduce(
    (sum, weight, key) =>
      sum + rounded(weight, WEIGHT_DECIMALS) * rounded(numbers.v[key]?.[dimension] ?? 0),
    0,
  );
}

/** A few terms of a long sum, the largest, in their order; the rest added up. */
interface ShortSum {
  terms: { at: number; value: number }[];
  rest: { count: number; value: number };
}

/** Return the `most` largest terms of a sum in the order they stand in, and what is left. */
export function shortSum(terms: readonly number[], most: number): ShortSum {
  const ranked = terms.map((value, at) => ({ at, value }));
  ranked.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.at - b.at);
  const left = ranked.slice(most);
  return {
    terms: ranked.slice(0, most).sort((a, b) => a.at - b.at),
    rest: { count: left.length, value: left.reduce((sum, one) => sum + one.value, 0) },
  };
}
