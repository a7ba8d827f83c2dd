/**
 * What moves while a step of decoding plays, and what is computed or kept.
 *
 *     step 0     source ─ encoder ─ memory, then  <s>  up the decoder ─ first token
 *     step t     token t−1 is fed back, then up the decoder ─ token t; the encoder's work is kept
 */

import type { Stack } from "./parts.ts";

/** How far each part of a step has come, 0 to 1. */
export interface Phases {
  encoder: number;
  feedback: number;
  decoder: number;
}

/** computed: in this step; kept: in an earlier one, reused now; waiting: not yet in this step. */
export type State = "computed" | "kept" | "waiting";

const ENCODER_SHARE = 0.45; // of the first step
const FEEDBACK_SHARE = 0.25; // of later ones

/** Returns how far encoder, way back and decoder are when this share of a step has passed. */
export function phases(step: number, share: number): Phases {
  const first = step === 0 ? ENCODER_SHARE : FEEDBACK_SHARE;
  const begin = Math.min(1, Math.max(0, share) / first);
  const decoder = Math.max(0, (Math.min(1, share) - first) / (1 - first));
  return step === 0
    ? { encoder: begin, feedback: 1, decoder }
    : { encoder: 1, feedback: begin, decoder };
}

/** Returns what became of the part of a stack that data reaches at `reached` of its way. */
export function stateOf(stack: Stack, reached: number, step: number, now: Phases): State {
  if (stack === "encoder" && step > 0) return "kept";
  return now[stack] >= reached ? "computed" : "waiting";
}

/** Milliseconds that a step is drawn for, given how long the player stays at one. */
export function duration(step: number, stay: number): number {
  const longest = step === 0 ? 1800 : 1200;
  return Math.min(longest, 0.85 * stay);
}

/** Slow at both ends, so that a token is seen to leave and to arrive. */
export function eased(share: number): number {
  const s = Math.max(0, Math.min(1, share));
  return s * s * (3 - 2 * s);
}

/**
 * Whether going from one step to another is shown as movement: one step forward, or the first step
 * of a new sentence (`before` is null) or of a new round.
 */
export function isMoving(before: number | null, step: number, playing: boolean): boolean {
  if (step === 0) return before === null || (playing && before > 0);
  return before !== null && step === before + 1;
}
