/** The JSON of a trace. */
import type { HeadId } from "./heads.ts";
import type { Flags, ModelConfig, SearchSettings } from "./types.ts";

/** A token and the characters [start, end) it stands for; symbols have start == end. */
export interface TraceToken {
  id: number;
  piece: string;
  start: number;
  end: number;
}

/** A token that could have come, and log P of it. */
export interface TopToken {
  id: number;
  piece: string;
  log_prob: number;
}

/** What was written at one step; `rank` 1 is the most probable, `entropy` is in nats. */
export interface Step {
  token: TraceToken;
  log_prob: number;
  rank: number;
  entropy: number;
  top: TopToken[];
}

/** Followed further, not followed, ended by the end symbol, or ended by the loop guard. */
export type NodeStatus = "kept" | "dropped" | "finished" | "cut";

/** One candidate of the search; the root (parent null, step 0) is the start symbol. */
export interface TreeNode {
  step: number;
  parent: number | null;
  token: number;
  log_prob: number;
  score: number;
  status: NodeStatus;
}

/** All candidates, and the nodes where the results end, best first. */
export interface SearchTree {
  nodes: TreeNode[];
  results: number[];
  stopped: "end" | "bound" | "limit" | "loop";
}

/** What one step of decoding computed and what it read from the cache. */
export interface CacheStep {
  rows: number;
  length: number;
  computed: number;
  reused: number;
  bytes: number;
  multiplications: number;
  without_cache: number;
}

/** The same of all steps; the source is computed once. */
export interface CacheAccount {
  source_positions: number;
  source_bytes: number;
  steps: CacheStep[];
}

/** How far a translation can be trusted, without a reference. */
export interface Confidence {
  probability: number;
  least: number;
  least_step: number;
  source_share: number[];
  unseen: number;
  repeated: number;
  improbable: boolean;
  ignores_source: boolean;
  loops: boolean;
}

/** Kinds of token that a head may look for; `same_word` is the same piece at another place. */
export type TokenKind = "previous" | "next" | "same_position" | "same_word" | "first" | "end";

/** What a head does, by the rules of the library. */
export type HeadRole =
  | "previous token"
  | "next token"
  | "same position"
  | "same word"
  | "first token"
  | "end of sentence"
  | "alignment"
  | "broad"
  | "mixed";

/** What one head does on this sentence: means over its queries. */
export interface HeadStatistics extends HeadId {
  role: HeadRole;
  /** Why it has this role. */
  rule: string;
  entropy: number;
  evenness: number;
  distance: number;
  queries: number;
  shares: Partial<Record<TokenKind, number>>;
}

/** First token and the one after the last, of one word. */
export type WordSpan = [number, number];

/** Everything one translation did, but for the tensors, of which `tensors` gives the shapes. */
export interface Trace {
  id: string;
  version: number;
  level: "full" | "light";
  model_name: string;
  model_hash: string;
  model: ModelConfig;
  search: SearchSettings;
  origin: "search" | "given";
  source: string;
  translation: string;
  source_tokens: TraceToken[];
  target_tokens: TraceToken[];
  steps: Step[];
  tree: SearchTree | null;
  flags: Flags;
  log_prob: number;
  score: number;
  alignment_heads: [number, number][];
  alignment_row: "predicts" | "reads";
  cache: CacheAccount;
  tensors: Record<string, number[]>;
  bytes: number;
  without: HeadId[];
  target: string;
  prefix_length: number;
  pieces: Record<string, string>;
  confidence: Confidence;
  heads: HeadStatistics[];
  words: { source: WordSpan[]; target: WordSpan[] };
}

/** What `POST /v1/trace` takes. */
export interface TraceRequest {
  text: string;
  model?: string;
  target?: string;
  search?: Partial<SearchSettings>;
  level?: "full" | "light";
  given?: string;
  /** Ids that the translation is made to begin with. */
  prefix?: number[];
  without?: HeadId[];
  /** False: the server keeps nothing of it, so that its tensors cannot be asked for. */
  keep?: boolean;
}

/** What one layer would have said at one step. */
export interface LensCell {
  top: TopToken[];
  log_prob: number;
  rank: number;
  entropy: number;
}

/** The translation that one encoder layer, read early, gives. */
export interface DecoderLensRow {
  layer: number;
  translation: string;
  log_prob: number;
  cells: LensCell[];
}

/** `logit[layer][step]`, and what the decoder says when it reads an earlier encoder layer. */
export interface Lens {
  logit: LensCell[][];
  decoder: DecoderLensRow[];
}
