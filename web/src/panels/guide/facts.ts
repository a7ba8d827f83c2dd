/** What the tour tells of one sentence: chosen and counted from its trace. */
import { attentionName, type Tensor } from "../../api/tensors.ts";
import type { CacheUsage, SearchTree, Side, Step, Trace } from "../../api/types.ts";
import { isSymbol } from "../../drawing/pieces.ts";

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
type Fetch = (name: string) => Promise<Tensor>;

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

/** The strongest link between two words. */
function bond(layers: Tensor[], names: string[], spans: number[][]): Link | null {
  return strongestLink(layers, wordNumbers(names, spans));
}

/** A head that aligns words and points sharply at one after the other, and where it tells the most. */
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

/*
 * Which head, which token and which step of a sentence are worth a look: chosen from the real
 * numbers of its trace. Every function is pure.
 *
 * Attention is given as a tensor a layer, (heads, queries, keys).
 */

/** A head, and how much of its attention one token gives to another. */
export interface Link {
  layer: number;
  head: number;
  query: number;
  key: number;
  weight: number;
}

/** Which tokens of the queries and of the keys count, by the number of their word; −1: none. */
export interface Words {
  queries: number[];
  keys: number[];
}

/** Return the number of its word for each token that has letters in it, −1 for all others. */
export function wordNumbers(pieces: string[], spans: number[][]): number[] {
  const found = pieces.map(() => -1);
  spans.forEach(([first = 0, end = 0], word) => {
    for (let token = first; token < end; token++) {
      const piece = pieces[token] ?? "";
      if (letters(piece) > 0 && !isSymbol(piece)) {
        found[token] = word;
      }
    }
  });
  return found;
}

/** Return how many letters a piece has. */
export function letters(piece: string | undefined): number {
  return piece?.match(/\p{L}/gu)?.length ?? 0;
}

/** Return an element of a (heads, queries, keys) tensor. */
function at(tensor: Tensor, head: number, query: number, key: number): number {
  const [, queries = 0, keys = 0] = tensor.shape;
  return tensor.data[(head * queries + query) * keys + key] ?? 0;
}

/** Return the best of all (layer, head, query, key) by a score; null where none scores above 0. */
function bestLink(layers: Tensor[], score: (link: Link) => number): Link | null {
  let best: Link | null = null;
  let most = 0;
  layers.forEach((tensor, layer) => {
    const [heads = 0, queries = 0, keys = 0] = tensor.shape;
    for (let head = 0; head < heads; head++) {
      for (let query = 0; query < queries; query++) {
        for (let key = 0; key < keys; key++) {
          const link = { layer, head, query, key, weight: at(tensor, head, query, key) };
          const value = score(link);
          if (value > most) {
            most = value;
            best = link;
          }
        }
      }
    }
  });
  return best;
}

/** Return the largest weight between two tokens of different words with another token between them. */
export function strongestLink(layers: Tensor[], words: number[]): Link | null {
  return bestLink(layers, ({ query, key, weight }) => {
    const [from = -1, to = -1] = [words[query], words[key]];
    return from < 0 || to < 0 || from === to || Math.abs(query - key) < 2 ? 0 : weight;
  });
}

/** A cross-attention head, and how sharply it points at words of the source. */
export interface Pointing {
  layer: number;
  head: number;
  sharpness: number;
}

/**
 * Return which of some cross-attention heads points most sharply: the mean, over the rows of
 * words, of the largest weight on a word of the source. A head that rests on one and the same word
 * says nothing of alignment; it is marked down by the share of words that are ever pointed at.
 */
export function sharpestCross(
  layers: Tensor[],
  heads: readonly (readonly [number, number])[],
  words: Words,
): Pointing | null {
  let best: Pointing | null = null;
  let most = 0;
  for (const [layer, head] of heads) {
    const tensor = layers[layer];
    if (!tensor) continue;
    const { sharpness, spread } = pointing(tensor, head, words);
    if (sharpness * spread > most) {
      most = sharpness * spread;
      best = { layer, head, sharpness };
    }
  }
  return best;
}

/** Return all heads of some layers as (layer, head). */
export function everyHead(layers: Tensor[]): [number, number][] {
  return layers.flatMap(({ shape: [heads = 0] }, layer) =>
    Array.from({ length: heads }, (_, head): [number, number] => [layer, head]),
  );
}

function pointing(tensor: Tensor, head: number, words: Words) {
  const keys = places(words.keys);
  const queries = places(words.queries);
  const seen = new Set<number>();
  let sum = 0;
  for (const query of queries) {
    const key = keys.reduce(
      (one, other) => (at(tensor, head, query, other) > at(tensor, head, query, one) ? other : one),
      keys[0] ?? 0,
    );
    sum += at(tensor, head, query, key);
    seen.add(key);
  }
  const count = Math.max(1, queries.length);
  return { sharpness: sum / count, spread: seen.size / Math.max(1, Math.min(count, keys.length)) };
}

function places(words: number[]): number[] {
  return words.flatMap((word, place) => (word < 0 ? [] : [place]));
}

/** The pieces that rows of cross-attention stand for, and those of the source. */
export interface Pieces {
  queries: string[];
  keys: string[];
}

/**
 * Return where a cross-attention head tells the most: a high weight, on which the other heads that
 * align agree, between two long words. That a name is copied tells less.
 */
export function tellingLink(
  layers: Tensor[],
  { layer, head }: Pointing,
  heads: readonly (readonly [number, number])[],
  pieces: Pieces,
): Link | null {
  const tensor = layers[layer];
  if (!tensor) return null;
  const agreed = (query: number, key: number) =>
    heads.reduce((sum, [other, number]) => {
      const weights = layers[other];
      return sum + (weights ? at(weights, number, query, key) : 0);
    }, 0) / heads.length;
  const found = bestLink([tensor], (link) => {
    const [one, other] = [pieces.queries[link.query], pieces.keys[link.key]];
    const long = Math.min(letters(one), letters(other), 6) * (bare(one) === bare(other) ? 0.3 : 1);
    return link.head === head ? link.weight * agreed(link.query, link.key) * long : 0;
  });
  return found && { ...found, layer };
}

function bare(piece: string | undefined): string {
  return piece?.replace("▁", "").toLowerCase() ?? "";
}

/** Two heads of one layer, and how much of their attention lies in different places, 0 to 1. */
export interface Apart {
  layer: number;
  one: number;
  other: number;
  distance: number;
}

/** Return the two heads of one layer that differ the most: mean total variation over queries. */
export function headsApart(layers: Tensor[]): Apart | null {
  let best: Apart | null = null;
  layers.forEach((tensor, layer) => {
    const [heads = 0] = tensor.shape;
    for (let one = 0; one < heads; one++) {
      for (let other = one + 1; other < heads; other++) {
        const distance = variation(tensor, one, other);
        if (distance > (best?.distance ?? 0)) {
          best = { layer, one, other, distance };
        }
      }
    }
  });
  return best;
}

function variation(tensor: Tensor, one: number, other: number): number {
  const [, queries = 0, keys = 0] = tensor.shape;
  let sum = 0;
  for (let query = 0; query < queries; query++) {
    for (let key = 0; key < keys; key++) {
      sum += Math.abs(at(tensor, one, query, key) - at(tensor, other, query, key)) / 2;
    }
  }
  return sum / Math.max(1, queries);
}

/** Return the step at which the network was least sure: the highest entropy of its softmax. */
export function leastSureStep(steps: Step[]): number {
  return steps.reduce(
    (best, step, place) => (step.entropy > (steps[best]?.entropy ?? 0) ? place : best),
    0,
  );
}

/** Return the length of row `row` of a (rows, width) tensor. */
export function rowLength(tensor: Tensor, row: number): number {
  const [, width = 0] = tensor.shape;
  let sum = 0;
  for (let place = row * width; place < (row + 1) * width; place++) {
    sum += (tensor.data[place] ?? 0) ** 2;
  }
  return Math.sqrt(sum);
}

/** How many candidates a search looked at, and how many of them it dropped. */
export interface Candidates {
  seen: number;
  dropped: number;
}

/** Count the candidates of a search; the root is none. */
export function candidates(tree: SearchTree): Candidates {
  const below = tree.nodes.filter((node) => node.parent !== null);
  return {
    seen: below.length,
    dropped: below.filter((node) => node.status === "dropped").length,
  };
}

/** Return the multiplications of a search with the cache, and without. */
export function multiplications(cache: CacheUsage): { made: number; without: number } {
  const sum = (value: (step: CacheUsage["steps"][number]) => number) =>
    cache.steps.reduce((total, step) => total + value(step), 0);
  return {
    made: sum((step) => step.multiplications),
    without: sum((step) => step.without_cache),
  };
}
