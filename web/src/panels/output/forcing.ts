/** Forcing a token: the prefix that does it, and what it changed in the translation. */

import type { Trace } from "../../api/types.ts";
import { sharedPlaces } from "../../drawing/sharedWords.ts";

/** A stretch of words that stands in both texts or in one of them. */
export interface Stretch {
  kind: "same" | "gone" | "new";
  words: string[];
}

/** Return the ids that make a search write what it wrote before a step, and then this token. */
export function prefixWith(trace: Pick<Trace, "steps">, step: number, id: number): number[] {
  return [...trace.steps.slice(0, step).map((one) => one.token.id), id];
}

/** Return a text as words, white space left out. */
export function words(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}

/**
 * Return how one list of words becomes another, by their longest common subsequence.
 *
 *     the cat sleeps        same: the   gone: cat   new: dog   same: sleeps
 *     the dog sleeps
 */
export function differences(before: string[], after: string[]): Stretch[] {
  const found: Stretch[] = [];
  let [a, b] = [0, 0];
  for (const [left, right] of [
    ...sharedPlaces(before, after),
    [before.length, after.length] as const,
  ]) {
    for (const word of before.slice(a, left)) extend(found, "gone", word);
    for (const word of after.slice(b, right)) extend(found, "new", word);
    for (const word of before.slice(left, left + 1)) extend(found, "same", word);
    [a, b] = [left + 1, right + 1];
  }
  return found;
}

function extend(found: Stretch[], kind: Stretch["kind"], word: string): void {
  const last = found.at(-1);
  if (last?.kind === kind) last.words.push(word);
  else found.push({ kind, words: [word] });
}
