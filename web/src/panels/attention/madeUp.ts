/** Sentences and weights made up for tests: random, but the same every time. */
import type { Tensor } from "../../api/tensors.ts";
import type { Side, TraceToken } from "../../api/types.ts";
import { getSentences, isMasked, type Sentences } from "./tokens.ts";

/** Return a source of numbers in [0, 1) that repeats itself for the same seed. */
export function randoms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Return tokens with these ids. */
export function tokens(...ids: number[]): TraceToken[] {
  return ids.map((id, at) => ({ id, piece: `▁p${id}`, start: at, end: id < 4 ? at : at + 1 }));
}

/** Return a pair of sentences as an attention sees them: source 30 31 30 </s>, target <s> 40 31. */
export function sentences(side: Side): Sentences {
  const step = { log_prob: 0, rank: 1, entropy: 0, top: [] };
  return getSentences(
    {
      source_tokens: tokens(30, 31, 30, 3),
      target_tokens: tokens(2, 40, 31),
      steps: tokens(40, 31, 3).map((token) => ({ ...step, token })),
    },
    side,
  );
}

/** Return random weights whose rows sum to 1 over what may be seen. */
export function weightsFor(of: Sentences, seed: number): Tensor {
  const random = randoms(seed);
  const width = of.keys.length;
  const data = new Float32Array(of.queries.length * width);
  for (let row = 0; row < of.queries.length; row++) {
    const line = of.keys.map((_, column) => (isMasked(of.side, row, column) ? 0 : random() + 0.01));
    const sum = line.reduce((total, one) => total + one, 0);
    line.forEach((one, column) => {
      data[row * width + column] = one / sum;
    });
  }
  return { shape: [of.queries.length, width], data };
}
