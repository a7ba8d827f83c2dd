/** Everything that the parts of the map draw from, gathered once a render. */

import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import type { Sizes } from "./boxes.ts";
import { eased, type Phases, phases, type State, stateOf } from "./flow.ts";
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
export function sizesOf(trace: Trace, step: number): Sizes {
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
  return stateOf(stack, reached, scene.step, phasesNow(scene));
}

/**
 * Something that follows both the movement and the step. The component is rendered again only when
 * the outcome changes, not with every frame.
 */
export function useNow<T>(scene: Scene, look: (scene: Scene) => T): T {
  return useMemo(() => computed(() => look(scene)), [scene]).value;
}
