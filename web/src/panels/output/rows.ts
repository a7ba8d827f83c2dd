/** The rows of the table: the most probable tokens, and what all others have together. */
import { counted } from "../../drawing/Number.tsx";
import type { PieceOf, StepView } from "./view.ts";

/** One token of the vocabulary at one step. */
export interface Row {
  /** Place by probability, from 0. */
  place: number;
  id: number;
  piece: string;
  logit: number;
  /** e^((z − z_best) / T). */
  exp: number;
  /** The network's own probability, at temperature 1. */
  plain: number;
  /** The softmax at the chosen temperature. */
  probability: number;
  /** What it is drawn with, after the cuts. */
  share: number;
  kept: boolean;
  written: boolean;
}

/** All tokens that have no row of their own, together. */
export interface Rest {
  count: number;
  exp: number;
  plain: number;
  probability: number;
  share: number;
  kept: number;
}

/** The rows of a step, best first, the written token always among them; and the rest. */
export interface Rows {
  rows: Row[];
  rest: Rest;
}

/** Return the best `count` tokens, the written one if it is not among them, and the rest. */
export function buildRows(view: StepView, now: Spread, pieceOf: PieceOf, count: number): Rows {
  const shown = Math.min(count, view.order.ids.length);
  const places = Array.from({ length: shown }, (_, place) => place);
  if (view.written >= shown) places.push(view.written);
  const rows = places.map((place) => rowAt(view, now, pieceOf, place));
  return { rows, rest: computeRest(view, now, rows) };
}

/** Return one row. */
export function rowAt(view: StepView, now: Spread, pieceOf: PieceOf, place: number): Row {
  const id = view.order.ids[place] as number;
  return {
    place,
    id,
    piece: pieceOf(id),
    logit: view.order.logits[place] as number,
    exp: now.exps[place] as number,
    plain: view.plain.probabilities[place] as number,
    probability: now.probabilities[place] as number,
    share: now.shares[place] as number,
    kept: place < now.kept,
    written: place === view.written,
  };
}

/** Add up what has no row; from the small end, so that nothing is lost and nothing goes below 0. */
function computeRest(view: StepView, now: Spread, rows: Row[]): Rest {
  const shown = new Set(rows.map(({ place }) => place));
  const rest: Rest = { count: 0, exp: 0, plain: 0, probability: 0, share: 0, kept: 0 };
  for (let place = view.order.ids.length - 1; place >= 0; place -= 1) {
    if (shown.has(place)) continue;
    rest.count += 1;
    rest.exp += now.exps[place] as number;
    rest.plain += view.plain.probabilities[place] as number;
    rest.probability += now.probabilities[place] as number;
    rest.share += now.shares[place] as number;
    if (place < now.kept) rest.kept += 1;
  }
  return rest;
}

/** How sure a distribution is: its entropy in nats and bits, and e^entropy. */
export interface Sureness {
  nats: number;
  bits: number;
  perplexity: number;
}

/** Return how sure a distribution is. */
export function sureness(shares: Float64Array): Sureness {
  const nats = entropy(shares);
  return { nats, bits: nats / Math.LN2, perplexity: Math.exp(nats) };
}

/** Say what a temperature does. */
export function describeTemperature(temperature: number): string {
  if (temperature === 0)
    return "0: greedy. The most probable token, and no other, whatever its lead.";
  if (temperature < 1) return "Below 1: sharper. Who leads gains, the others lose.";
  if (temperature > 1) return "Above 1: flatter. The leaders lose, the others gain.";
  return "1: as the network was trained.";
}

/** Say what the cuts leave; at temperature 0 there is nothing left to cut. */
export function describeCuts({ temperature, topK, topP }: Cuts, kept: number, all: number): string {
  if (temperature === 0) return "";
  const rules = [
    ...(topK > 0 ? [`the ${topK} most probable`] : []),
    ...(topP < 1 ? [`the fewest that reach ${topP} together`] : []),
  ];
  if (rules.length === 0) return `Nothing is cut: all ${counted(all)} tokens are possible.`;
  const left = kept === 1 ? "1 token is" : `${counted(kept)} tokens are`;
  const gone = counted(all - kept);
  return `Kept: ${rules.join(", and of them ")}. ${left} left, ${gone} are cut.`;
}

/** Whether anything differs from what the network says. */
export function isChanged({ temperature, topK, topP }: Cuts): boolean {
  return temperature !== 1 || topK > 0 || topP < 1;
}

/*
 * From logits to what may be drawn (section 3.4 of the paper, and what sampling has added).
 *
 *     logits ─▶ ÷ temperature ─▶ softmax ─▶ top-k, top-p ─▶ shares that add up to 1 again
 *
 * The order of the tokens depends on neither temperature nor cuts, so it is found once a step and a
 * slider costs one pass over the vocabulary. Everything is computed in float64. The rules are those
 * of the server's sampler: both cuts judge the same distribution and keep its beginning, of equal
 * logits the lower id comes first, and the most probable token always stays.
 */

/** How the distribution is changed before a token is drawn. */
export interface Cuts {
  /** Logits are divided by it; 0 leaves the most probable token alone. */
  temperature: number;
  /** Only this many of the most probable tokens; 0: all. */
  topK: number;
  /** Only the most probable tokens that together reach this; 1: all. */
  topP: number;
}

/** The vocabulary in the order of its logits, best first. */
export interface Ranked {
  ids: Int32Array;
  logits: Float64Array;
}

/** A distribution over the ranked vocabulary, before and after the cuts. */
export interface Spread {
  /** e^((z − z_best) / T), which is 1 for the best. */
  exps: Float64Array;
  /** What the exps add up to. */
  total: number;
  /** exps / total: the softmax. */
  probabilities: Float64Array;
  /** How many tokens the cuts keep. */
  kept: number;
  /** What the kept tokens have together, before they are scaled up. */
  keptProbability: number;
  /** What is drawn from: probabilities / keptProbability, and 0 for what was cut. */
  shares: Float64Array;
}

/** What the network itself says: temperature 1, nothing cut. */
export const AS_IT_IS: Cuts = { temperature: 1, topK: 0, topP: 1 };

/** Put the vocabulary in order, the highest logit first; of equals, the lower id. */
export function ranked(logits: ArrayLike<number>): Ranked {
  const ids = Int32Array.from({ length: logits.length }, (_, id) => id);
  const at = (id: number) => logits[id] as number;
  // −∞ − −∞ is NaN, which like 0 hands over to the ids
  ids.sort((a, b) => at(b) - at(a) || a - b);
  return { ids, logits: Float64Array.from(ids, at) };
}

/** Return the place of a token in the order, from 0; −1 if it is not there. */
export function findPlace(order: Ranked, id: number): number {
  return order.ids.indexOf(id);
}

/** Return the distribution of a ranked vocabulary at a temperature and after the cuts. */
export function spread(order: Ranked, cuts: Cuts): Spread {
  const exps = exponentials(order.logits, cuts.temperature);
  const total = sum(exps);
  const probabilities = exps.map((value) => value / total);
  const kept = countKept(probabilities, cuts);
  const keptProbability = kept === probabilities.length ? 1 : sum(probabilities.subarray(0, kept));
  const shares = probabilities.map((value, place) => (place < kept ? value / keptProbability : 0));
  return { exps, total, probabilities, kept, keptProbability, shares };
}

function exponentials(logits: Float64Array, temperature: number): Float64Array {
  if (temperature === 0) return logits.map((_, place) => (place === 0 ? 1 : 0));
  const best = logits[0] as number;
  return logits.map((logit) => Math.exp((logit - best) / temperature));
}

/** Count the tokens from the best on that both cuts keep. */
function countKept(probabilities: Float64Array, { topK, topP }: Cuts): number {
  const most = topK > 0 ? Math.min(topK, probabilities.length) : probabilities.length;
  if (topP >= 1) return most;
  let reached = 0;
  let count = 0;
  while (count < most && (count === 0 || reached < topP)) {
    reached += probabilities[count] as number;
    count += 1;
  }
  return count;
}

/** Add up from the smallest on, which loses least. The values are in descending order. */
function sum(values: Float64Array): number {
  return values.reduceRight((total, value) => total + value, 0);
}

/** Return the entropy of a distribution in nats: −Σ p ln p. */
export function entropy(probabilities: Float64Array): number {
  let total = 0;
  for (let place = probabilities.length - 1; place >= 0; place -= 1) {
    const p = probabilities[place] as number;
    if (p > 0) total -= p * Math.log(p);
  }
  return total;
}

/** Return a number of [0, 1) that depends on seed and step alone: SplitMix64's finaliser. */
export function uniform(seed: number, step: number): number {
  const golden = 0x9e3779b97f4a7c15n;
  const word = (BigInt(seed) * 0x100000001n + BigInt(step) + 1n) * golden;
  let mixed = BigInt.asUintN(64, word);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  mixed ^= mixed >> 31n;
  return Number(mixed >> 11n) / 2 ** 53;
}

/** Return the place of the token that a number of [0, 1) falls on, shares laid end to end. */
export function drawn(shares: Float64Array, number: number): number {
  let reached = 0;
  let last = 0;
  for (let place = 0; place < shares.length; place += 1) {
    const share = shares[place] as number;
    if (share === 0) continue;
    reached += share;
    last = place;
    if (number < reached) return place;
  }
  return last; // the sum has rounded to a little below 1
}

/** Return where on the line from 0 to 1 a token's share lies. */
export function stretch(shares: Float64Array, place: number): [number, number] {
  let from = 0;
  for (let before = 0; before < place; before += 1) from += shares[before] as number;
  return [from, from + (shares[place] as number)];
}
