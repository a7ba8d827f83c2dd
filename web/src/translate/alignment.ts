/** Which words of the two boxes belong together. Pure. */
import type { Alignment } from "../api/types.ts";
import { type Span, tokenSpans, wordSpans, wordWeights } from "./words.ts";

/** A word of one of the boxes. */
export interface Word {
  side: "source" | "target";
  number: number;
}

/** How strongly a word is marked: pointed at, linked to that, or looked at by it somewhat. */
export type Mark = "pointed" | "linked" | "near" | null;

/** The words of both boxes, and what binds them. */
export interface Aligned {
  source: Span[];
  target: Span[];
  links: readonly (readonly [number, number])[];
  weights: number[][];
  /** For each source word the target word that looked at it most; −1: none did. */
  lookers: number[];
}

/** Looked at somewhat: this share of what the most looked at word gets. */
const NEAR = 0.35;

/** The words of a text and its translation with what binds them. */
export function aligned(source: string, target: string, alignment: Alignment | null): Aligned {
  const sourceTokens = tokenSpans(source, alignment?.source_tokens ?? []);
  const targetTokens = tokenSpans(target, alignment?.target_tokens ?? []);
  const sides = {
    source: { words: wordSpans(source, sourceTokens), tokens: sourceTokens },
    target: { words: wordSpans(target, targetTokens), tokens: targetTokens },
  };
  const weights = alignment ? wordWeights(alignment.weights, sides.target, sides.source) : [];
  return {
    source: sides.source.words,
    target: sides.target.words,
    links: alignment?.links ?? [],
    weights,
    lookers: sides.source.words.map((_, word) => looker(weights, word)),
  };
}

function looker(weights: readonly (readonly number[])[], source: number): number {
  const looks = weights.map((row) => row[source] ?? 0);
  const most = Math.max(0, ...looks);
  return most > 0 ? looks.indexOf(most) : -1;
}

/** How a word is marked while another (or itself) is pointed at. */
export function markOf(between: Aligned, pointed: Word | null, word: Word): Mark {
  if (!pointed) return null;
  if (pointed.side === word.side) return pointed.number === word.number ? "pointed" : null;
  const [source, target] =
    word.side === "source" ? [word.number, pointed.number] : [pointed.number, word.number];
  if (between.links.some(([from, into]) => from === source && into === target)) return "linked";
  const near = (between.weights[target]?.[source] ?? 0) >= NEAR;
  return near || between.lookers[source] === target ? "near" : null;
}

/** The words that a word is linked to. */
export function linkedTo(between: Aligned, word: Word): number[] {
  return between.links
    .filter(([from, into]) => (word.side === "source" ? from : into) === word.number)
    .map(([from, into]) => (word.side === "source" ? into : from));
}
