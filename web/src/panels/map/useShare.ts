/** Movement: how much of the present step has been drawn. */

import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import { reducedMotion } from "../../state/motion.ts";
import { playing, speed } from "../../state/player.ts";
import { duration, isMoving } from "./flow.ts";

/** A share, 0 to 1, that moves by itself when decoding goes one step on; else it is 1. */
export function useShare(trace: Trace, step: number): ReadonlySignal<number> {
  const share = useSignal(1);
  const before = useRef<{ trace: Trace; step: number } | null>(null);
  useLayoutEffect(() => {
    const was = before.current?.trace === trace ? before.current.step : null;
    before.current = { trace, step };
    share.value = 1;
    if (reducedMotion.peek() || !isMoving(was, step, playing.peek())) return;
    const length = duration(step, playing.peek() ? 1000 / speed.peek() : Number.POSITIVE_INFINITY);
    const start = performance.now();
    share.value = 0;
    const tick = (now: number): void => {
      share.value = Math.max(0, Math.min(1, (now - start) / length));
      if (share.peek() < 1) frame = requestAnimationFrame(tick);
    };
    let frame = requestAnimationFrame(tick);
    return () => {
      cancelAnimationFrame(frame);
    };
  }, [trace, step, share]);
  return share;
}
