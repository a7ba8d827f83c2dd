/** What the address says about the head in view, kept within what the trace has. */
import type { HeadId, Trace } from "../../api/types.ts";
import type { Address } from "../../state/address.ts";
import { layersOf, type Sentences, type Stream } from "./tokens.ts";

/** Return the head in view: a link may name one that another model had. */
export function headInView(address: HeadId, trace: Pick<Trace, "model">): HeadId {
  const { side } = address;
  return {
    side,
    layer: within(address.layer, layersOf(trace, side)),
    head: within(address.head, trace.model.heads),
  };
}

/** Return the row in view: the chosen one, else that of the decoding step, else the first. */
export function rowInView(query: number | null, step: number, sentences: Sentences): number {
  const rows = sentences.queries.length;
  if (query !== null) return within(query, rows);
  return sentences.side === "encoder" ? 0 : within(step, rows);
}

/** Return the number kept between 0 and count − 1. */
export function within(wanted: number, count: number): number {
  return Math.max(0, Math.min(wanted, count - 1));
}

/** Return the address's extra keys with some changed; null takes a key away. */
export function extraWith(
  address: Pick<Address, "extra">,
  changes: Record<string, string | null>,
): Record<string, string> {
  const merged = { ...address.extra, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

/** Tell whether a head is one of those that the word alignment is read from. */
export function alignsWords(trace: Pick<Trace, "alignment_heads">, head: HeadId): boolean {
  return (
    head.side === "cross" &&
    trace.alignment_heads.some(([layer, number]) => layer === head.layer && number === head.head)
  );
}

/* Which row and column the token under the pointer, anywhere on the page, stands for here. */

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
