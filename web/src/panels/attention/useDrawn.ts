import { useMemo } from "preact/hooks";
import { part, type Tensor } from "../../api/tensors.ts";
import type { HeadId, Trace } from "../../api/types.ts";
import type { Drawn } from "./inView.ts";
import { useLayers } from "./useLayers.ts";
import { meanOfHeads, rolloutAcross, rolloutOfStack } from "./whole.ts";

/**
 * Return the weights that are drawn large: a head's, the mean of its layer, or rollout over all
 * layers. Undefined while what rollout needs of the other attentions is still on its way.
 */
export function useDrawn(
  trace: Trace,
  layers: Tensor[],
  { side, layer, head }: HeadId,
  drawn: Drawn,
): Tensor | undefined {
  const across = drawn === "rollout" && side === "cross";
  const encoder = useLayers(trace, across ? "encoder" : null);
  const decoder = useLayers(trace, across ? "decoder" : null);
  const own = layers[layer];
  // What useLayers returns is new on each render; that it is there is all that matters.
  const ready = encoder !== undefined && decoder !== undefined;
  return useMemo(() => {
    if (!own) return undefined;
    if (drawn === "head") return part(own, head);
    if (drawn === "mean") return meanOfHeads(own);
    if (side !== "cross") return rolloutOfStack(layers.map(meanOfHeads));
    if (!encoder || !decoder) return undefined;
    const memory = rolloutOfStack(encoder.map(meanOfHeads));
    return rolloutAcross(memory, decoder.map(meanOfHeads), layers.map(meanOfHeads));
  }, [trace, own, head, drawn, side, ready]);
}
