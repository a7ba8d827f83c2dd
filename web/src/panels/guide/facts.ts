/** What the tour tells of one sentence: chosen and counted from its trace. */

import { attentionName, type Tensor } from "../../api/tensors.ts";
import type { Side, Trace } from "../../api/types.ts";
import { isSymbol } from "../../drawing/pieces.ts";
import {
  type Apart,
  type Candidates,
  candidates,
  everyHead,
  headsApart,
  type Link,
  leastSureStep,
  letters,
  longOnes,
  multiplications,
  type Pieces,
  rowLength,
  sharpestCross,
  strongestLink,
  tellingLink,
  wordNumbers,
} from "./interesting.ts";

/** How long the vectors of one token are on their way through one encoder layer. */
export interface Stream {
  layer: number;
  token: number;
  before: number;
  attention: number;
  feedForward: number;
}

/** The facts; null where a sentence is too short to have one. */
export interface Facts {
  trace: Trace;
  encoder: Link | null;
  apart: Apart | null;
  stream: Stream | null;
  decoder: Link | null;
  /** `piece` is the token of the translation that the row looks for. */
  cross: (Link & { sharpness: number; piece: string }) | null;
  unsure: number;
  candidates: Candidates | null;
  multiplications: { made: number; without: number };
}

/** Gives a tensor of the trace by its name. */
export type Fetch = (name: string) => Promise<Tensor>;

/** Gather the facts of a trace. */
export async function gather(trace: Trace, fetch: Fetch): Promise<Facts> {
  const weights = (side: Side, layers: number) =>
    Promise.all(
      Array.from({ length: layers }, (_, layer) => fetch(`${attentionName(side, layer)}.weights`)),
    );
  const { encoder_layers, decoder_layers } = trace.model;
  const [encoder, decoder, cross] = await Promise.all([
    weights("encoder", encoder_layers),
    weights("decoder", decoder_layers),
    weights("cross", decoder_layers),
  ]);
  const link = bond(encoder, pieces(trace.source_tokens), trace.words.source);
  return {
    trace,
    encoder: link,
    apart: headsApart(encoder),
    stream: link && hasStream(trace, link) ? await streamAt(link, fetch) : null,
    decoder: bond(decoder, pieces(trace.target_tokens), trace.words.target),
    cross: aligned(trace, cross),
    unsure: leastSureStep(trace.steps),
    candidates: trace.tree && candidates(trace.tree),
    multiplications: multiplications(trace.cache),
  };
}

function pieces(tokens: { piece: string }[]): string[] {
  return tokens.map(({ piece }) => piece);
}

/** The strongest link between long words; between any words, where there is none. */
function bond(layers: Tensor[], names: string[], spans: number[][]): Link | null {
  const words = wordNumbers(names, spans);
  return strongestLink(layers, longOnes(names, words)) ?? strongestLink(layers, words);
}

/** The sharpest of the heads that align words, and where it tells the most. */
function aligned(trace: Trace, layers: Tensor[]): Facts["cross"] {
  const heads = trace.alignment_heads.length > 0 ? trace.alignment_heads : everyHead(layers);
  const named = { queries: rowPieces(trace), keys: pieces(trace.source_tokens) };
  const words = { queries: marks(named.queries), keys: marks(named.keys) };
  const sharpest = sharpestCross(layers, heads, words);
  const link = sharpest && tellingLink(layers, sharpest, heads, lettersOnly(named));
  return link && { ...link, sharpness: sharpest.sharpness, piece: named.queries[link.query] ?? "" };
}

/** The token that each row of cross-attention looks for: the one it predicts, or the one it reads. */
function rowPieces(trace: Trace): string[] {
  return trace.alignment_row === "predicts"
    ? trace.steps.map(({ token }) => token.piece)
    : pieces(trace.target_tokens);
}

function marks(names: string[]): number[] {
  return names.map((piece) => (isSymbol(piece) || letters(piece) === 0 ? -1 : 0));
}

function lettersOnly({ queries, keys }: Pieces): Pieces {
  const kept = (names: string[]) => names.map((piece) => (isSymbol(piece) ? "" : piece));
  return { queries: kept(queries), keys: kept(keys) };
}

/** Tell whether the numbers of the residual stream are there: a light trace has none. */
function hasStream(trace: Trace, { layer }: Link): boolean {
  return `encoder.${layer}.feed_forward.output` in trace.tensors;
}

async function streamAt({ layer, query }: Link, fetch: Fetch): Promise<Stream> {
  const stem = `encoder.${layer}`;
  const [before, attention, feedForward] = await Promise.all([
    fetch(`${stem}.self_attention.residual_before`),
    fetch(`${stem}.self_attention.output`),
    fetch(`${stem}.feed_forward.output`),
  ]);
  return {
    layer,
    token: query,
    before: rowLength(before, query),
    attention: rowLength(attention, query),
    feedForward: rowLength(feedForward, query),
  };
}
