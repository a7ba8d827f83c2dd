import { useMemo } from "preact/hooks";
import { attentionName, part, type Tensor } from "../../api/tensors.ts";
import type { HeadId, Trace } from "../../api/types.ts";
import { useTensor } from "../../state/useTensor.ts";
import type { Drawn } from "./inView.ts";

/**
 * Return the weights that are drawn large: a head's, the mean of its layer, or rollout over all
 * layers; undefined until they are here. Neither summary is a number that the network computes:
 * the library does, and the trace has them as tensors.
 */
export function useDrawn(
  trace: Trace,
  layers: Tensor[],
  { side, layer, head }: HeadId,
  drawn: Drawn,
): Tensor | undefined {
  const mean = `${attentionName(side, layer)}.mean_weights`;
  const name = { head: null, mean, rollout: `rollout.${side}` }[drawn];
  const summary = useTensor(trace, name);
  const own = layers[layer];
  const one = useMemo(() => own && part(own, head), [own, head]);
  return drawn === "head" ? one : summary;
}
