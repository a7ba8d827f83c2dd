import { useEffect, useState } from "preact/hooks";
import { asProblem } from "../../api/client.ts";
import { attentionName, type Tensor, tensor, tensorNow } from "../../api/tensors.ts";
import type { Side, Trace } from "../../api/types.ts";
import { tell } from "../../state/notices.ts";
import { retries } from "../../state/store.ts";
import { layersOf } from "./tokens.ts";

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
