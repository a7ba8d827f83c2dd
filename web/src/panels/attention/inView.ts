/**
 * What these panels look at, as signals of their own: a component that reads one of them is not
 * drawn again when another part of the address changes, such as the step while it plays.
 */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { asProblem } from "../../api/client.ts";
import { attentionName, type Tensor, tensor, tensorNow } from "../../api/tensors.ts";
import type { HeadId, Side, Trace } from "../../api/types.ts";
import { clampIndex } from "../../state/address.ts";
import { tell } from "../../state/notices.ts";
import { address, retries } from "../../state/store.ts";
import { countLayers } from "../lens/headList.ts";
import type { Sentences, Stream } from "./tokens.ts";

export const side: ReadonlySignal<Side> = computed(() => address.value.side);
export const layer: ReadonlySignal<number> = computed(() => address.value.layer);
export const head: ReadonlySignal<number> = computed(() => address.value.head);
export const query: ReadonlySignal<number | null> = computed(() => address.value.query);
export const shape: ReadonlySignal<"matrix" | "arcs"> = computed(() => address.value.shape);

/** What is drawn large: one head, the mean of its layer, or rollout over all layers. */
export type Drawn = "head" | "mean" | "rollout";

export const drawn: ReadonlySignal<Drawn> = computed(() => {
  const word = address.value.extra.draw;
  return word === "mean" || word === "rollout" ? word : "head";
});

/** Whether columns of symbols are left out. */
export const hiding: ReadonlySignal<boolean> = computed(
  () => address.value.extra.symbols === "hidden",
);

/** Whether colours end at the head's largest weight instead of at 1. */
export const stretched: ReadonlySignal<boolean> = computed(
  () => address.value.extra.colours === "own",
);

/** The cell under the pointer or the keyboard's cursor. */
export const pointed = signal<{ row: number; column: number } | null>(null);

/** The name of a layer's weights. */
function weightsName(side: Side, layer: number): string {
  return `${attentionName(side, layer)}.weights`;
}

/**
 * Return the weights (heads × queries × keys) of all layers of an attention; undefined until they
 * are all here. Side null asks for nothing.
 */
export function useLayers(trace: Trace, side: Side | null): Tensor[] | undefined {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (side === null) return;
    let wanted = true;
    const layers = Array.from({ length: countLayers(trace.model, side) }, (_, layer) =>
      tensor(trace, weightsName(side, layer)),
    );
    Promise.all(layers).then(
      () => wanted && redraw((count) => count + 1),
      (error) => wanted && tell(asProblem(error), { again: true }),
    );
    return () => {
      wanted = false;
    };
  }, [trace, side, retries.value]);
  if (side === null) return undefined;
  const found: Tensor[] = [];
  for (let layer = 0; layer < countLayers(trace.model, side); layer++) {
    const here = tensorNow(trace, weightsName(side, layer));
    if (here === undefined) return undefined;
    found.push(here);
  }
  return found;
}

/* What the address says about the head in view, kept within what the trace has. */

/** Return the row in view: the chosen one, else that of the decoding step, else the first. */
export function rowInView(query: number | null, step: number, sentences: Sentences): number {
  const rows = sentences.queries.length;
  if (query !== null) return clampIndex(query, rows);
  return sentences.side === "encoder" ? 0 : clampIndex(step, rows);
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
