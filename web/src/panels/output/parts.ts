/** What each part of the decoder adds to a logit, put in order for a table. Pure. */
import type { Tensor } from "../../api/tensors.ts";
import type { ModelConfig, Side, Step, TopToken } from "../../api/types.ts";

/** What one part adds; heads name the attention and their numbers, from 0. */
export interface Share {
  value: number;
  /** Null: the feed-forward network of the layer. */
  head: { side: Side; layer: number; head: number } | null;
}

/** All parts of a logit, or of the difference of two. */
export interface LogitParts {
  embedding: number;
  /** Per decoder layer: its heads, masked ones first, then its feed-forward network. */
  layers: Share[][];
  /** What belongs to no part: biases, and the shift of the norms. */
  constants: number;
  total: number;
}

/** The tokens whose logits are taken apart at a step: the written one first, each once. */
export function comparedTokens(step: Step): { row: number; token: TopToken }[] {
  const { token, log_prob, top } = step;
  const written = { id: token.id, piece: token.piece, log_prob };
  const rivals = top.map((one, at) => ({ row: at + 1, token: one }));
  return [{ row: 0, token: written }, ...rivals.filter((one) => one.token.id !== token.id)];
}

/**
 * The parts of one token's logit, less those of another where one is given. `shares` is (tokens ×
 * parts), in the order of interpret/contributions.py: embedding, then of each layer the heads of both
 * attentions and the feed-forward network, then constants.
 */
export function logitParts(
  shares: Tensor,
  { decoder_layers: layers, heads }: Pick<ModelConfig, "decoder_layers" | "heads">,
  row: number,
  minus: number | null,
): LogitParts {
  const count = shares.shape[1] ?? 0;
  const at = (part: number): number => {
    const own = shares.data[row * count + part] ?? 0;
    return minus === null ? own : own - (shares.data[minus * count + part] ?? 0);
  };
  const perLayer = 2 * heads + 1;
  const found = Array.from({ length: layers }, (_, layer) => {
    const first = 1 + layer * perLayer;
    const ofSide = (side: Side, from: number): Share[] =>
      Array.from({ length: heads }, (_, head) => ({
        value: at(from + head),
        head: { side, layer, head },
      }));
    return [
      ...ofSide("decoder", first),
      ...ofSide("cross", first + heads),
      { value: at(first + 2 * heads), head: null },
    ];
  });
  let total = 0;
  for (let part = 0; part < count; part++) total += at(part);
  return { embedding: at(0), layers: found, constants: at(count - 1), total };
}
