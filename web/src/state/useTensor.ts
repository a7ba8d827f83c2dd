/** Hooks that give panels what a trace holds, once it is here. */
import { useEffect, useState } from "preact/hooks";
import { asProblem, lens } from "../api/client.ts";
import { type Tensor, tensor, tensorNow } from "../api/tensors.ts";
import type { Lens, Trace } from "../api/types.ts";
import { tell } from "./notices.ts";
import { retries } from "./store.ts";

/**
 * A tensor of a trace; undefined until it is here. What was asked for before is here at once, so
 * ask for a whole tensor where it is small, and with `at` where it is not (logits, log_probs).
 */
export function useTensor(
  trace: Trace | undefined,
  name: string | null,
  at: number[] = [],
): Tensor | undefined {
  const [, redraw] = useState(0);
  const place = at.join(",");
  const drawn = trace && name !== null ? tensorNow(trace, name, at) : undefined;
  useEffect(() => {
    // What arrived after this drawing but before this effect still has to be drawn.
    if (!trace || name === null || drawn) return;
    let wanted = true;
    tensor(trace, name, at).then(
      () => wanted && redraw((count) => count + 1),
      (error) => wanted && tell(asProblem(error), { again: true }),
    );
    return () => {
      wanted = false;
    };
  }, [trace, name, place, retries.value]);
  return drawn;
}

/** The lenses of a trace; undefined until they are here. */
export function useLens(trace: Trace | undefined): Lens | undefined {
  const [found, keep] = useState<{ trace: Trace; lens: Lens }>();
  useEffect(() => {
    if (!trace) return;
    let wanted = true;
    lens(trace).then(
      (value) => wanted && keep({ trace, lens: value }),
      (error) => wanted && tell(asProblem(error), { again: true }),
    );
    return () => {
      wanted = false;
    };
  }, [trace, retries.value]);
  return found && found.trace === trace ? found.lens : undefined;
}
