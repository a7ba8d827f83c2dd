/** Everything that the parts of the map draw from, gathered once a render. */
import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import { estimateWidth } from "../../drawing/svg.ts";
import type { Sizes } from "./boxes.ts";
import { eased, findState, type Phases, phases, type State } from "./flow.ts";
import type { Plan } from "./layout.ts";
import type { Stack } from "./parts.ts";

export interface Scene {
  trace: Trace;
  step: number;
  plan: Plan;
  sizes: Sizes;
  /** How much of the step has been drawn, 0 to 1. */
  share: ReadonlySignal<number>;
}

/** The sizes of a translation at a step. */
export function getSizes(trace: Trace, step: number): Sizes {
  const { model } = trace;
  return {
    source: trace.source_tokens.length,
    target: trace.steps.length,
    step,
    dModel: model.d_model,
    dFF: model.d_ff,
    heads: model.heads,
    vocabulary: model.target_vocab_size,
    norm: model.norm,
    positions: model.positions,
  };
}

/** How far encoder, way back and decoder are now; reading this follows the movement. */
export function phasesNow(scene: Scene): Phases {
  const now = phases(scene.step, scene.share.value);
  return {
    encoder: eased(now.encoder),
    feedback: eased(now.feedback),
    decoder: eased(now.decoder),
  };
}

/** What became of a part of the drawing; reading this follows the movement. */
export function stateNow(scene: Scene, stack: Stack, reached: number): State {
  return findState(stack, reached, scene.step, phasesNow(scene));
}

/**
 * Something that follows both the movement and the step. The component is rendered again only when
 * the outcome changes, not with every frame.
 */
export function useNow<T>(scene: Scene, look: (scene: Scene) => T): T {
  return useMemo(() => computed(() => look(scene)), [scene]).value;
}

/* Which tokens fit into a box. */

/** Tokens that are shown, and how many are left out before or after them. */
interface Fitted {
  from: number;
  to: number;
}

const SIDES = 16; // px of a chip beside its text
const COUNT = 44; // px for the words that tell how many are left out

/**
 * Returns which of the tokens fit into this many lines; from the first on, or up to the last. At
 * least one is shown.
 */
export function fitting(
  names: readonly string[],
  width: number,
  lines: number,
  keep: "first" | "last",
): Fitted {
  const order = names.map((_, at) => (keep === "first" ? at : names.length - 1 - at));
  let [line, x, shown] = [1, 0, 0];
  for (const at of order) {
    const wide = Math.min(width, estimateWidth(names[at] ?? "", 13) + SIDES);
    const room = line === lines && shown < names.length - 1 ? width - COUNT : width;
    if (x > 0 && x + wide > room) {
      if (line === lines) break;
      line++;
      x = 0;
    }
    x += wide;
    shown++;
  }
  const count = Math.max(1, shown);
  return keep === "first"
    ? { from: 0, to: Math.min(names.length, count) }
    : { from: Math.max(0, names.length - count), to: names.length };
}
