/** What each box of the map is called, what flows through it, and where it leads. */

import { counted } from "../../drawing/Number.tsx";
import type { Address } from "../../state/address.ts";
import type { Box } from "./layout.ts";
import type { Stack } from "./parts.ts";

/** Sizes of one translation at one step. */
export interface Sizes {
  source: number;
  /** Tokens that the decoder reads in the end. */
  target: number;
  /** The step of decoding, from 0. */
  step: number;
  dModel: number;
  dFF: number;
  heads: number;
  vocabulary: number;
  norm: "pre" | "post";
  positions: string;
}

/** The tensor that a box's miniature shows: a table (tokens × dimensions), heads, or one row. */
export interface Miniature {
  tensor: string;
  form: "table" | "heads" | "row";
}

export interface About {
  title: string;
  /** Where in the network, such as `decoder layer 2`. */
  place: string;
  /** Shape of what flows, such as `10 × 128`. */
  shape: string;
  says: string;
  /** The panel that it leads to, and with what. */
  leads: Partial<Address>;
  /** Name of that panel. */
  to: string;
  miniature: Miniature | null;
}

/** Writes a shape with the sign of multiplication and thousands apart. */
export function shape(...sizes: number[]): string {
  return sizes.map((size) => counted(size)).join(" × ");
}

const SIDE = { encoder: "source", decoder: "target" } as const;

const TO: Record<string, string> = {
  tokens: "Tokens",
  attention: "Attention",
  feed: "Feed-forward",
  norm: "Add & norm",
  output: "Output",
  cache: "Memory and cache",
};

type Told = Omit<About, "to" | "place">;

/** Returns all that is said of a box. */
export function about(box: Box, sizes: Sizes): About {
  const told = TELLERS[box.kind]?.(box, sizes) ?? tellLayer(box, sizes);
  return { ...told, place: describePlace(box, sizes), to: TO[told.leads.panel ?? ""] ?? "" };
}

const SUBLAYERS: Record<string, string> = {
  self_attention: "self-attention",
  cross_attention: "cross-attention",
  feed_forward: "feed-forward",
};

/** Where a box is, in words; of a norm also which sublayer it belongs to. */
function describePlace(box: Box, sizes: Sizes): string {
  if (box.layer === null) return box.kind === "norm" ? `end of ${box.stack}` : box.stack;
  const layer = box.kind === "layer" ? box.stack : `${box.stack} layer ${box.layer + 1}`;
  const sublayer = SUBLAYERS[box.id.split(".")[2] ?? ""] ?? "";
  if (box.kind === "sum") return `after ${sublayer}, ${layer}`;
  if (box.kind !== "norm") return layer;
  return `${sizes.norm === "pre" ? "before" : "after"} ${sublayer}, ${layer}`;
}

/** Rows that go through a stack at a step: all of the source at once, of the target the newest. */
function rows(stack: Stack, sizes: Sizes): number {
  return stack === "encoder" ? sizes.source : 1;
}

function stream(stack: Stack, sizes: Sizes): string {
  return shape(rows(stack, sizes), sizes.dModel);
}

function linkToTokens(stack: Stack): Partial<Address> {
  return { panel: "tokens", extra: { stream: SIDE[stack] } };
}

const TELLERS: Partial<Record<Box["kind"], (box: Box, sizes: Sizes) => Told>> = {
  tokens: tellTokens,
  embedding: tellEmbedding,
  positions: tellPositions,
  sum: tellSum,
  attention: tellAttention,
  cross: tellCross,
  feed: tellFeed,
  norm: tellNorm,
  memory: tellMemory,
  linear: tellLinear,
  softmax: tellSoftmax,
  output: tellOutput,
};

function tellTokens(box: Box, sizes: Sizes): Told {
  const encoder = box.stack === "encoder";
  const count = encoder ? sizes.source : sizes.step + 1;
  return {
    title: encoder ? "Source tokens" : "Target tokens",
    shape: `${count} ${count === 1 ? "token" : "tokens"}`,
    says: encoder
      ? "The sentence in pieces of the vocabulary, with the end symbol."
      : "What has been written, after the start symbol. Only the newest token is computed.",
    leads: linkToTokens(box.stack),
    miniature: null,
  };
}

function tellEmbedding(box: Box, sizes: Sizes): Told {
  return {
    title: "Embedding",
    shape: stream(box.stack, sizes),
    says: "The vector of each token, times √d_model (section 3.4).",
    leads: linkToTokens(box.stack),
    miniature: { tensor: `${SIDE[box.stack]}.embedding`, form: "table" },
  };
}

const POSITIONS: Record<string, string> = {
  learned: "A trained vector for each position is added (section 3.5).",
  rotary: "Nothing is added: queries and keys are turned by their position in every attention.",
  relative: "Nothing is added: every score gets a trained bias for the distance of the two tokens.",
};

function begun(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function tellPositions(box: Box, sizes: Sizes): Told {
  const added = sizes.positions.startsWith("sinusoidal") || sizes.positions === "learned";
  return {
    title: added ? "Positions" : `${begun(sizes.positions)} positions`,
    shape: added ? stream(box.stack, sizes) : "not added",
    says:
      POSITIONS[sizes.positions] ??
      "Sines and cosines that tell the places apart are added (section 3.5).",
    leads: linkToTokens(box.stack),
    miniature: added ? { tensor: `${SIDE[box.stack]}.positions`, form: "table" } : null,
  };
}

function tellSum(box: Box, sizes: Sizes): Told {
  const bottom = box.layer === null;
  const sublayer = box.id.replace(/\.sum$/, "");
  return {
    title: bottom ? "Embedding + position" : "Add",
    shape: stream(box.stack, sizes),
    says: bottom
      ? "What enters the stack."
      : "The sublayer's output is added to what went round it (section 3.1).",
    leads: bottom ? linkToTokens(box.stack) : toNorm(box),
    miniature: {
      tensor: bottom ? `${SIDE[box.stack]}.sum` : `${sublayer}.residual_after`,
      form: "table",
    },
  };
}

/** The panel of the sum and the norm around a sublayer, or of the norm at the end of a stack. */
function toNorm(box: Box): Partial<Address> {
  const sublayer = box.layer === null ? "end" : (box.id.split(".")[2] ?? "");
  const layer = box.layer === null ? {} : { layer: box.layer };
  return { panel: "norm", side: box.stack, ...layer, extra: { sublayer } };
}

function tellLayer(box: Box, sizes: Sizes): Told {
  const number = (box.layer ?? 0) + 1;
  return {
    title: `Layer ${number}`,
    shape: stream(box.stack, sizes),
    says: `Layer ${number} of the ${box.stack}, closed. Select it to open it here.`,
    leads: { layer: box.layer ?? 0, side: box.stack },
    miniature: { tensor: `${box.stack}.${box.layer}.output`, form: "table" },
  };
}

const WITH_POSITIONS: Record<string, string> = {
  rotary: " Positions come in here: queries and keys are turned by them.",
  relative: " Positions come in here: as a bias for the distance of two tokens.",
};

function tellAttention(box: Box, sizes: Sizes): Told {
  const encoder = box.stack === "encoder";
  return {
    title: encoder ? "Self-attention" : "Masked self-attention",
    shape: encoder
      ? shape(sizes.heads, sizes.source, sizes.source)
      : shape(sizes.heads, 1, sizes.step + 1),
    says: `${
      encoder
        ? "Every source token looks at every other (section 3.2)."
        : "The newest token looks at itself and at what was written before (section 3.2.3)."
    }${WITH_POSITIONS[sizes.positions] ?? ""}`,
    leads: { panel: "attention", side: box.stack, layer: box.layer ?? 0 },
    miniature: { tensor: `${box.id}.weights`, form: "heads" },
  };
}

function tellCross(box: Box, sizes: Sizes): Told {
  return {
    title: "Cross-attention",
    shape: shape(sizes.heads, 1, sizes.source),
    says: "The newest token asks the memory: queries from here, keys and values of the source.",
    leads: { panel: "attention", side: "cross", layer: box.layer ?? 0 },
    miniature: { tensor: `${box.id}.weights`, form: "heads" },
  };
}

function tellFeed(box: Box, sizes: Sizes): Told {
  return {
    title: "Feed-forward",
    shape: shape(rows(box.stack, sizes), sizes.dFF),
    says: "Two linear maps with a bend between them, each token by itself (section 3.3).",
    leads: { panel: "feed", side: box.stack, layer: box.layer ?? 0 },
    miniature: { tensor: `${box.id}.inner`, form: "table" },
  };
}

function tellNorm(box: Box, sizes: Sizes): Told {
  const common = { shape: stream(box.stack, sizes), leads: toNorm(box) };
  const sublayer = box.id.replace(/\.norm$/, "");
  if (box.layer === null) {
    const tensor = box.stack === "encoder" ? "memory" : "decoder.states";
    return {
      ...common,
      title: "Norm",
      says: "With norms before the sublayers, each stack ends in one more.",
      miniature: { tensor, form: "table" },
    };
  }
  if (sizes.norm === "pre") {
    return {
      ...common,
      title: "Norm",
      says: "LayerNorm of the stream, before the sublayer. The miniature is what comes in.",
      miniature: { tensor: `${sublayer}.residual_before`, form: "table" },
    };
  }
  return {
    ...common,
    title: "Add & norm",
    says: "LayerNorm(x + Sublayer(x)), as in the paper (section 3.1).",
    miniature: { tensor: `${sublayer}.residual_after`, form: "table" },
  };
}

function tellMemory(_box: Box, sizes: Sizes): Told {
  return {
    title: "Memory",
    shape: shape(sizes.source, sizes.dModel),
    says: "What the encoder made of the source. Its keys and values are computed once, then kept.",
    leads: { panel: "cache" },
    miniature: { tensor: "memory", form: "table" },
  };
}

function tellLinear(_box: Box, sizes: Sizes): Told {
  return {
    title: "Linear",
    shape: shape(1, sizes.vocabulary),
    says: "A logit for each token of the vocabulary (section 3.4).",
    leads: { panel: "output" },
    miniature: { tensor: "logits", form: "row" },
  };
}

function tellSoftmax(_box: Box, sizes: Sizes): Told {
  return {
    title: "Softmax",
    shape: shape(1, sizes.vocabulary),
    says: "Logits become probabilities that add up to 1.",
    leads: { panel: "output" },
    miniature: { tensor: "log_probs", form: "row" },
  };
}

function tellOutput(_box: Box, sizes: Sizes): Told {
  return {
    title: "Output",
    shape: `step ${sizes.step + 1} of ${sizes.target}`,
    says: "The token written at this step; it is fed back as the next one to be read.",
    leads: { panel: "output" },
    miniature: null,
  };
}
