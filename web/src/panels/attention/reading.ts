/** What one word looks at (a row of an attention) and who looks at it (a column). */
import type { Tensor } from "../../api/tensors.ts";
import { isMasked, type Sentences } from "./tokens.ts";

/** One entry of a reading: the place of a token and the weight on it. */
export interface Share {
  place: number;
  weight: number;
}

/**
 * A row or column, read: the largest shares first, and what was left out, added up.
 *
 * `hidden` is what goes to columns that are not shown; it stays in `total`.
 */
export interface Reading {
  top: Share[];
  others: { count: number; weight: number };
  hidden: { count: number; weight: number };
  masked: number;
  total: number;
}

/** Return what row looks at; `hidden` are columns that are not shown. */
export function readRow(
  weights: Tensor,
  row: number,
  sentences: Sentences,
  hidden: ReadonlySet<number>,
  most: number,
): Reading {
  const width = sentences.keys.length;
  const shares: Share[] = [];
  const away = { count: 0, weight: 0 };
  let masked = 0;
  for (let place = 0; place < width; place++) {
    const weight = weights.data[row * width + place] ?? 0;
    if (isMasked(sentences.side, row, place)) masked++;
    else if (hidden.has(place)) {
      away.count++;
      away.weight += weight;
    } else shares.push({ place, weight });
  }
  return reading(shares, away, masked, most);
}

/** Return who looks at a column: the weights of all rows that may see it. */
export function readColumn(
  weights: Tensor,
  column: number,
  sentences: Sentences,
  most: number,
): Reading {
  const width = sentences.keys.length;
  const shares: Share[] = [];
  let masked = 0;
  for (let place = 0; place < sentences.queries.length; place++) {
    if (isMasked(sentences.side, place, column)) masked++;
    else shares.push({ place, weight: weights.data[place * width + column] ?? 0 });
  }
  return reading(shares, { count: 0, weight: 0 }, masked, most);
}

function reading(
  shares: Share[],
  hidden: { count: number; weight: number },
  masked: number,
  most: number,
): Reading {
  const ranked = shares.sort((a, b) => b.weight - a.weight || a.place - b.place);
  const rest = ranked.slice(most);
  const sum = (some: readonly Share[]) => some.reduce((total, one) => total + one.weight, 0);
  return {
    top: ranked.slice(0, most),
    others: { count: rest.length, weight: sum(rest) },
    hidden,
    masked,
    total: sum(ranked) + hidden.weight,
  };
}

/** Return the mean share of the attention of all rows that goes to some columns. */
export function shareOn(weights: Tensor, columns: ReadonlySet<number>): number {
  const [rows = 0, width = 0] = weights.shape;
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    for (const column of columns) sum += weights.data[row * width + column] ?? 0;
  }
  return rows > 0 ? sum / rows : 0;
}

/** Return the largest weight; colours may end there instead of at 1. */
export function largest(weights: Tensor): number {
  return weights.data.reduce((most, value) => Math.max(most, value), 0);
}

/** Return names that tell tokens apart: what occurs more than once has its place behind it, from 1. */
export function told(names: readonly string[]): string[] {
  return names.map((name, at) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${at + 1})`,
  );
}
