/** A made-up sentence of five tokens and its facts, for tests. */
import type { Trace } from "../../api/types.ts";
import type { Facts } from "./facts.ts";

const token = (piece: string) => ({ id: 7, piece, start: 0, end: 1 });

/** The trace: only what the guide looks at. */
export const TRACE = {
  model: {
    source_vocab_size: 4000,
    target_vocab_size: 4000,
    encoder_layers: 2,
    decoder_layers: 1,
    d_model: 64,
    d_ff: 128,
    heads: 2,
    d_k: 32,
    norm: "pre",
    tying: "all",
    positions: "sinusoidal",
  },
  search: { length_penalty: 0.6 },
  source_tokens: ["▁L", "'", "animal", "▁dort", "</s>"].map(token),
  target_tokens: ["<s>", "▁The", "▁animal", "▁sleeps"].map(token),
  words: {
    source: [
      [0, 3],
      [3, 4],
      [4, 5],
    ],
    target: [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ],
  },
  steps: ["▁The", "▁animal", "▁sleeps", "</s>"].map((piece, place) => ({
    token: token(piece),
    log_prob: -0.5,
    rank: place === 2 ? 2 : 1,
    entropy: place,
    top: [
      { id: 1, piece, log_prob: -0.5 },
      { id: 2, piece: "▁rests", log_prob: -1.5 },
    ],
  })),
  tree: {
    nodes: [{ parent: null }, { parent: 0, status: "dropped" }],
    results: [],
    stopped: "end",
  },
  alignment_heads: [
    [0, 0],
    [0, 1],
  ],
  alignment_row: "predicts",
  tensors: { "encoder.0.feed_forward.output": [5, 2], "encoder.1.feed_forward.output": [5, 2] },
  cache: { steps: [{ multiplications: 1e6, without_cache: 4e6 }] },
} as unknown as Trace;

/** Its facts. */
export const FACTS: Facts = {
  trace: TRACE,
  encoder: { layer: 1, head: 0, query: 3, key: 2, weight: 0.625 },
  apart: { layer: 1, one: 0, other: 1, distance: 0.5 },
  stream: { layer: 1, token: 3, before: 10, attention: 2, feedForward: 3 },
  decoder: { layer: 0, head: 1, query: 3, key: 1, weight: 0.375 },
  cross: { layer: 0, head: 1, query: 2, key: 3, weight: 0.875, sharpness: 0.75, piece: "▁sleeps" },
  unsure: 3,
  candidates: { seen: 1, dropped: 1 },
  multiplications: { made: 1e6, without: 4e6 },
};
