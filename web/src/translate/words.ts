/** Words of a text, the tokens in them, and how words look at words. Pure. */

import type { Alignment } from "../api/types.ts";
import { sharedPlaces } from "../drawing/differences.ts";
import { GAP, isSymbol } from "../drawing/pieces.ts";

/** Characters [start, end). */
export type Span = readonly [number, number];

// Scripts without spaces between words: there, each token is a word, as the server counts them.
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}\u3000-\u303f\uff01-\uff60]/u;

/** The words of a text, as the server counts them in `links`. */
export function wordSpans(text: string, tokens: readonly (Span | null)[]): Span[] {
  const starts = [...new Set(tokens.flatMap((span) => (span ? [span[0]] : [])))].sort(
    (a, b) => a - b,
  );
  return [...text.matchAll(/\S+/g)].flatMap((match) => {
    const begin = match.index;
    const end = begin + match[0].length;
    if (!UNSPACED.test(match[0])) return [[begin, end] as const];
    const cuts = [begin, ...starts.filter((start) => start > begin && start < end), end];
    return cuts.slice(1).map((cut, at) => [cuts[at] ?? begin, cut] as const);
  });
}

/**
 * Where each piece stands in a text; null: a symbol, or no text. Where a piece is not found (the
 * tokenizer has changed the text), it and all after it have no place.
 */
export function tokenSpans(text: string, pieces: readonly string[]): (Span | null)[] {
  let at = 0;
  let lost = false;
  return pieces.map((piece) => {
    if (lost || isSymbol(piece)) return null;
    const letters = piece.replaceAll(GAP, " ").trim();
    const found = letters === "" ? -1 : text.indexOf(letters, at);
    const skipped = text.slice(at, found < 0 ? at : found);
    if (found < 0 || skipped.trim() !== "") {
      lost = letters !== "";
      return null;
    }
    at = found + letters.length;
    return [found, at] as const;
  });
}

/** The word that a place lies in; −1: in none. */
export function wordAt(words: readonly Span[], place: number): number {
  return words.findIndex(([start, end]) => place >= start && place < end);
}

/** How much each target word looked at each source word: [target][source], the largest being 1. */
export function wordWeights(
  weights: readonly (readonly number[])[],
  target: { words: readonly Span[]; tokens: readonly (Span | null)[] },
  source: { words: readonly Span[]; tokens: readonly (Span | null)[] },
): number[][] {
  const rows = target.words.map(() => source.words.map(() => 0));
  const columns = source.tokens.map((span) => (span ? wordAt(source.words, span[0]) : -1));
  target.tokens.forEach((span, token) => {
    const row = rows[span ? wordAt(target.words, span[0]) : -1];
    if (!row) return;
    columns.forEach((column, from) => {
      if (column >= 0) row[column] = (row[column] ?? 0) + (weights[token]?.[from] ?? 0);
    });
  });
  return rows.map((row) => {
    const most = Math.max(...row, 0);
    return most > 0 ? row.map((weight) => weight / most) : row;
  });
}

/** Which words of `text` are not in `other`, by the longest common row of words. */
export function differing(text: string, other: string): { word: string; differs: boolean }[] {
  const words = text.split(/(\s+)/);
  const mine = words.filter((word) => word.trim() !== "");
  const theirs = other.split(/\s+/).filter((word) => word !== "");
  const shared = new Set(sharedPlaces(mine, theirs).map(([place]) => place));
  let number = 0;
  return words
    .filter((word) => word !== "")
    .map((word) => {
      if (word.trim() === "") return { word, differs: false };
      number += 1;
      return { word, differs: !shared.has(number - 1) };
    });
}

/* Which words of the two boxes belong together. Pure. */

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
export function findMark(between: Aligned, pointed: Word | null, word: Word): Mark {
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
