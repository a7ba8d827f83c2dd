/** Which row and column the token under the pointer, anywhere on the page, stands for here. */
import type { Sentences, Stream } from "./tokens.ts";

/** A row, a column, or both. */
export interface Marked {
  row?: number;
  column?: number;
}

/** Return what is marked; null where the token does not occur in this attention. */
export function marked(
  at: { stream: Stream; index: number } | null,
  sentences: Sentences,
): Marked | null {
  if (at === null) return null;
  const found: Marked = {};
  if (at.stream === sentences.queryStream && at.index < sentences.queries.length) {
    found.row = at.index;
  }
  if (at.stream === sentences.keyStream && at.index < sentences.keys.length) {
    found.column = at.index;
  }
  return found.row === undefined && found.column === undefined ? null : found;
}
