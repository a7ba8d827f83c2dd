/** The rows of the table: the most probable tokens, and what all others have together. */

import { counted } from "../../drawing/numbers.ts";
import { type Cuts, entropy, type Spread } from "./distribution.ts";
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
export function rowsOf(view: StepView, now: Spread, pieceOf: PieceOf, count: number): Rows {
  const shown = Math.min(count, view.order.ids.length);
  const places = Array.from({ length: shown }, (_, place) => place);
  if (view.written >= shown) places.push(view.written);
  const rows = places.map((place) => rowAt(view, now, pieceOf, place));
  return { rows, rest: restOf(view, now, rows) };
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
function restOf(view: StepView, now: Spread, rows: Row[]): Rest {
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
export function temperatureInWords(temperature: number): string {
  if (temperature === 0)
    return "0: greedy. The most probable token, and no other, whatever its lead.";
  if (temperature < 1) return "Below 1: sharper. Who leads gains, the others lose.";
  if (temperature > 1) return "Above 1: flatter. The leaders lose, the others gain.";
  return "1: as the network was trained.";
}

/** Say what the cuts leave; at temperature 0 there is nothing left to cut. */
export function cutsInWords({ temperature, topK, topP }: Cuts, kept: number, all: number): string {
  if (temperature === 0) return "";
  const rules = [
    ...(topK > 0 ? [`the ${topK} most probable`] : []),
    ...(topP < 1 ? [`the fewest that reach ${topP} together`] : []),
  ];
  if (rules.length === 0) return `Nothing is cut: all ${counted(all)} tokens may come.`;
  const left = kept === 1 ? "1 token is" : `${counted(kept)} tokens are`;
  const gone = counted(all - kept);
  return `Kept: ${rules.join(", and of them ")}. ${left} left, ${gone} are cut.`;
}

/** Whether anything differs from what the network says. */
export function isChanged({ temperature, topK, topP }: Cuts): boolean {
  return temperature !== 1 || topK > 0 || topP < 1;
}
