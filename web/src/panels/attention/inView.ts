/**
 * What these panels look at, as signals of their own: a component that reads one of them is not
 * drawn again when another part of the address changes, such as the step while it plays.
 */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { asProblem } from "../../api/client.ts";
import { attentionName, type Tensor, tensor, tensorNow } from "../../api/tensors.ts";
import type { Side, Trace } from "../../api/types.ts";
import { tell } from "../../state/notices.ts";
import { address, go, retries } from "../../state/store.ts";
import { layersOf } from "./tokens.ts";
import { extraWith } from "./view.ts";

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

/** Change a key of these panels in the address; null gives it its usual value. */
export function setExtra(changes: Record<string, string | null>, replace = false): void {
  go({ extra: extraWith(address.peek(), changes) }, { replace });
}

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
    const layers = Array.from({ length: layersOf(trace, side) }, (_, layer) =>
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
  for (let layer = 0; layer < layersOf(trace, side); layer++) {
    const here = tensorNow(trace, weightsName(side, layer));
    if (here === undefined) return undefined;
    found.push(here);
  }
  return found;
}
