import { clampIndex } from "../../state/address.ts";
import { countLayers } from "../lens/headList.ts";
/**
 * The parts of figure 1, in the order in which data meets them.
 *
 * Each stack is a list from its tokens to its end. One layer of each is open, drawn with all its
 * sublayers; the others are closed, so that twelve layers fit where four do.
 *
 *     post (the paper)   x ─┬─ sublayer ─ add & norm ─▶        pre   x ─┬─ norm ─ sublayer ─ ⊕ ─▶
 *                           └─────────────┘                             └────────────────────┘
 */

export type Stack = "encoder" | "decoder";

export type Kind =
  | "tokens"
  | "embedding"
  | "positions"
  | "sum"
  | "layer"
  | "attention"
  | "cross"
  | "feed"
  | "norm"
  | "memory"
  | "linear"
  | "softmax"
  | "output";

/** What the drawing needs to know of a network. */
export interface Network {
  encoder_layers: number;
  decoder_layers: number;
  norm: "pre" | "post";
  positions: string;
}

/** One part of a stack: how much of the way it takes, and what lies before it. */
export interface Part {
  /** A name such as `decoder.2.cross_attention`; the same as in the trace where it has one. */
  id: string;
  kind: Kind;
  stack: Stack;
  /** The layer that it belongs to, if any. */
  layer: number | null;
  size: number;
  /** Free way before it. */
  gap: number;
  /** A residual connection leaves the stream before this part … */
  branches: boolean;
  /** … and joins it here. */
  joins: boolean;
}

const SIZES: Record<Kind, number> = {
  tokens: 58,
  embedding: 34,
  positions: 28,
  sum: 16,
  layer: 36,
  attention: 46,
  cross: 46,
  feed: 46,
  norm: 24,
  memory: 32,
  linear: 32,
  softmax: 32,
  output: 92,
};

/** Whether positions of this kind are added to the embeddings (section 3.5). */
export function areAdded(positions: string): boolean {
  return positions.startsWith("sinusoidal") || positions === "learned";
}

/** The layer of a stack that is drawn open when this one is asked for. */
export function openLayer(network: Network, stack: Stack, asked: number): number {
  return clampIndex(asked, countLayers(network, stack));
}

function part(kind: Kind, stack: Stack, id: string, more: Partial<Part> = {}): Part {
  const plain = { layer: null, size: SIZES[kind], gap: 14, branches: false, joins: false };
  return { id: `${stack}.${id}`, kind, stack, ...plain, ...more };
}

/** The parts of a stack in the order of the data, one layer open. */
export function stackParts(network: Network, stack: Stack, open: number): Part[] {
  const parts = [
    part("tokens", stack, "tokens", { gap: 0 }),
    part("embedding", stack, "embedding"),
    ...positionParts(network, stack),
  ];
  for (let layer = 0; layer < countLayers(network, stack); layer++) {
    const gap = layer === 0 || layer === open + 1 ? 20 : 10;
    parts.push(
      ...(layer === open ? openParts(network, stack, layer) : [closedPart(stack, layer, gap)]),
    );
  }
  if (network.norm === "pre") parts.push(part("norm", stack, "norm", { gap: 18 }));
  return [...parts, ...endParts(stack)];
}

function positionParts(network: Network, stack: Stack): Part[] {
  if (network.positions === "none") return [];
  if (areAdded(network.positions)) return [part("sum", stack, "sum", { gap: 12 })];
  return [part("positions", stack, "positions", { gap: 14 })];
}

function closedPart(stack: Stack, layer: number, gap: number): Part {
  return part("layer", stack, `${layer}`, { layer, gap });
}

/** Names of the sublayers of a layer, in order. */
export function sublayers(stack: Stack): { name: string; kind: Kind }[] {
  const own = { name: "self_attention", kind: "attention" as Kind };
  const cross = { name: "cross_attention", kind: "cross" as Kind };
  const feed = { name: "feed_forward", kind: "feed" as Kind };
  return stack === "encoder" ? [own, feed] : [own, cross, feed];
}

function openParts(network: Network, stack: Stack, layer: number): Part[] {
  const parts: Part[] = [];
  for (const [order, { name, kind }] of sublayers(stack).entries()) {
    const id = `${layer}.${name}`;
    const first = { gap: order === 0 ? 40 : 16, branches: true };
    if (network.norm === "pre") {
      parts.push(
        part("norm", stack, `${id}.norm`, { layer, ...first }),
        part(kind, stack, id, { layer, gap: 7 }),
        part("sum", stack, `${id}.sum`, { layer, gap: 7, joins: true }),
      );
    } else {
      parts.push(
        part(kind, stack, id, { layer, ...first }),
        part("norm", stack, `${id}.norm`, { layer, gap: 8, joins: true }),
      );
    }
  }
  return parts;
}

function endParts(stack: Stack): Part[] {
  if (stack === "encoder") return [part("memory", stack, "memory", { gap: 18 })];
  return [
    part("linear", stack, "linear", { gap: 18 }),
    part("softmax", stack, "softmax", { gap: 12 }),
    part("output", stack, "output"),
  ];
}
