import type { Tensor } from "../../api/tensors.ts";
import { isEnd, isMasked, isText, type Sentences } from "./tokens.ts";

/** Kinds of token that a head may look for; `same word` is the same piece at another place. */
export type Kind = "previous" | "next" | "itself" | "same word" | "first" | "end";

const KINDS: readonly Kind[] = ["previous", "next", "itself", "same word", "first", "end"];

/** From here on attention is called even, and a share of it the most: as the library has it. */
const EVEN = 0.9;
const ENOUGH = 0.5;

/** Up to here, in parts of even attention's entropy, a row looks at one token above all. */
const POINTED = 0.3;

/**
 * The numbers of one head on one sentence: means over its queries.
 *
 * A share is how much of the attention goes to a kind of token, over those queries alone that have
 * such a token to look at; a kind that no query has is left out. In self-attention only tokens of
 * text are queries. `evenness` is the entropy in parts of that of even attention. `distance` is in
 * tokens, from query to key; in cross-attention from the straight line between the sentences.
 */
export interface Measures {
  entropy: number;
  evenness: number;
  distance: number;
  queries: number;
  shares: { kind: Kind; share: number; queries: number }[];
}

/** Return what a head does on this sentence, given its weights (queries × keys). */
export function measure(weights: Tensor, sentences: Sentences): Measures {
  const { side, queries, keys } = sentences;
  const sums = new Map<Kind, { sum: number; queries: number }>();
  let entropy = 0;
  let even = 0;
  let distance = 0;
  let counted = 0;
  for (let row = 0; row < queries.length; row++) {
    if (side !== "cross" && !isText(idOf(queries, row))) continue;
    counted++;
    entropy += entropyOf(weights, row);
    distance += distanceOf(weights, row, sentences);
    even += Math.log(side === "decoder" ? row + 1 : keys.length);
    for (const kind of KINDS) addShare(sums, kind, shareOf(weights, row, kind, sentences));
  }
  return {
    entropy: counted > 0 ? entropy / counted : 0,
    evenness: even > 0 ? entropy / even : 1,
    distance: counted > 0 ? distance / counted : 0,
    queries: counted,
    shares: [...sums].map(([kind, at]) => ({
      kind,
      share: at.sum / at.queries,
      queries: at.queries,
    })),
  };
}

/** Return the entropy of one row of weights, in nats. */
export function entropyOf(weights: Tensor, row: number): number {
  const width = weights.shape[1] ?? 0;
  let sum = 0;
  for (let column = 0; column < width; column++) {
    const weight = weights.data[row * width + column] ?? 0;
    if (weight > 0) sum -= weight * Math.log(weight);
  }
  return sum;
}

/** Return how far a row looks on average, in tokens. */
function distanceOf(weights: Tensor, row: number, { side, queries, keys }: Sentences): number {
  const here = side === "cross" ? (row * keys.length) / queries.length : row;
  let sum = 0;
  keys.forEach((_, column) => {
    sum += (weights.data[row * keys.length + column] ?? 0) * Math.abs(column - here);
  });
  return sum;
}

function addShare(
  sums: Map<Kind, { sum: number; queries: number }>,
  kind: Kind,
  share: number | null,
): void {
  if (share === null) return;
  const old = sums.get(kind) ?? { sum: 0, queries: 0 };
  sums.set(kind, { sum: old.sum + share, queries: old.queries + 1 });
}

/** Return the share of a row that goes to a kind of token, null where there is none such. */
function shareOf(weights: Tensor, row: number, kind: Kind, sentences: Sentences): number | null {
  let sum: number | null = null;
  const width = sentences.keys.length;
  for (let column = 0; column < width; column++) {
    if (isMasked(sentences.side, row, column) || !isKind(kind, row, column, sentences)) continue;
    sum = (sum ?? 0) + (weights.data[row * width + column] ?? 0);
  }
  return sum;
}

function isKind(kind: Kind, row: number, column: number, sentences: Sentences): boolean {
  const { keys, queries, written } = sentences;
  const key = idOf(keys, column);
  if (sentences.side === "cross") {
    if (kind === "same word") return isText(key) && key === idOf(written, row);
    return kind === "first" ? column === 0 : kind === "end" && isEnd(key);
  }
  const step = column - row;
  switch (kind) {
    case "previous":
      return step === -1;
    case "next":
      return step === 1;
    case "itself":
      return step === 0;
    case "same word":
      return step !== 0 && key === idOf(queries, row);
    case "first":
      return column === 0 && step < -1;
    case "end":
      return isEnd(key) && step > 1;
  }
}

function idOf(tokens: readonly { id: number }[], place: number): number {
  return tokens[place]?.id ?? -1;
}

/** What a head is called on a sentence: by what gets most, or by how its attention is spread. */
export type Role = Kind | "broad" | "pointed" | "mixed";

/**
 * Return the name that the numbers earn a head on this sentence; the first rule that holds decides.
 *
 * 1. Attention that is nearly even is broad.
 * 2. Half of the attention on one kind of token gives that name.
 * 3. Attention that mostly goes to one token in each row, whichever that is, is pointed.
 * 4. Else it does several things.
 */
export function roleOf(measures: Measures): Role {
  if (measures.evenness >= EVEN) return "broad";
  const most = largestShare(measures);
  if (most !== undefined && most.share >= ENOUGH) return most.kind;
  return measures.evenness <= POINTED ? "pointed" : "mixed";
}

/**
 * Return the kind of token that gets most. Kinds that fewer than half of the rows have a token of
 * are left out: what a head does in one row of ten is not what it does.
 */
export function largestShare(measures: Measures): Measures["shares"][number] | undefined {
  return measures.shares
    .filter((one) => 2 * one.queries >= measures.queries)
    .reduce<Measures["shares"][number] | undefined>(
      (best, one) => (best === undefined || one.share > best.share ? one : best),
      undefined,
    );
}
