/** Forcing a token: the prefix that does it, and what it changed in the translation. */

import type { Trace } from "../../api/types.ts";

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
  const common = commonLengths(before, after);
  const found: Stretch[] = [];
  let a = 0;
  let b = 0;
  while (a < before.length || b < after.length) {
    if (a < before.length && b < after.length && before[a] === after[b]) {
      extend(found, "same", before[a] as string);
      a += 1;
      b += 1;
    } else if (b === after.length || (a < before.length && longer(common, a, b))) {
      extend(found, "gone", before[a] as string);
      a += 1;
    } else {
      extend(found, "new", after[b] as string);
      b += 1;
    }
  }
  return found;
}

function extend(found: Stretch[], kind: Stretch["kind"], word: string): void {
  const last = found.at(-1);
  if (last?.kind === kind) last.words.push(word);
  else found.push({ kind, words: [word] });
}

/** Tell whether leaving out the word `a` keeps as much in common as leaving out `b`. */
function longer(common: Int32Array[], a: number, b: number): boolean {
  const without = common[a + 1]?.[b] ?? 0;
  return without >= (common[a]?.[b + 1] ?? 0);
}

/** Return how many words the rests from (a, b) on have in common, for all a and b. */
function commonLengths(before: string[], after: string[]): Int32Array[] {
  const table = before.map(() => new Int32Array(after.length + 1));
  table.push(new Int32Array(after.length + 1));
  for (let a = before.length - 1; a >= 0; a -= 1) {
    const row = table[a] as Int32Array;
    const below = table[a + 1] as Int32Array;
    for (let b = after.length - 1; b >= 0; b -= 1) {
      const diagonal = (below[b + 1] as number) + 1;
      row[b] =
        before[a] === after[b] ? diagonal : Math.max(below[b] as number, row[b + 1] as number);
    }
  }
  return table;
}
