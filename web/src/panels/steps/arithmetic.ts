/**
 * The six steps as a student would do them with a pocket calculator: from printed numbers alone.
 *
 * Each check starts from digits that stand on the page, not from what is behind them, and so may
 * miss the network's own number by a little. How far is said, not hidden.
 */
import { exponentials, type Numbers, scoresOf } from "./numbers.ts";

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
export interface Checks {
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
  const scores = scoresOf(numbers);
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
export interface ShortSum {
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
