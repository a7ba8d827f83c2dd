/** The JSON of the server, as interfaces. Names are those of the API. */
import type { HeadId } from "./heads.ts";

export type { HeadId, Side } from "./heads.ts";
export type {
  CacheAccount,
  CacheStep,
  Confidence,
  DecoderLensRow,
  HeadRole,
  HeadStatistics,
  Lens,
  LensCell,
  NodeStatus,
  SearchTree,
  Step,
  TokenKind,
  TopToken,
  Trace,
  TraceRequest,
  TraceToken,
  TreeNode,
  WordSpan,
} from "./traceTypes.ts";

/** Sizes and choices of the network (section 3 of the paper). */
export interface ModelConfig {
  source_vocab_size: number;
  target_vocab_size: number;
  encoder_layers: number;
  decoder_layers: number;
  d_model: number;
  d_ff: number;
  heads: number;
  d_k: number;
  d_v: number;
  norm: "pre" | "post";
  norm_epsilon: number;
  activation: string;
  attention_bias: boolean;
  positions: string;
  max_positions: number;
  relative_buckets: number;
  relative_distance: number;
  tying: string;
  padding_id: number;
  dropout: number;
  attention_dropout: number;
  feed_forward_dropout: number;
}

/** The kinds of search. */
export type Method = "greedy" | "beam" | "diverse" | "sampling" | "mbr";

/** How a translation is searched for. */
export interface SearchSettings {
  method: Method;
  beam: number;
  n_best: number;
  length_penalty: number;
  length_form: "paper" | "plain";
  coverage_penalty: number;
  min_length: number;
  max_length: number | null;
  extra_length: number;
  temperature: number;
  top_k: number;
  top_p: number;
  min_p: number;
  samples: number;
  seed: number;
  groups: number;
  diversity: number;
  no_repeat_ngram: number;
  loop_guard: boolean;
}

/** A model that is served. */
export interface Model {
  name: string;
  default: boolean;
  directions: [string, string][];
  targets: string[];
  vocabulary: number;
  parameters: number;
  hash: string;
  config: ModelConfig;
  search: SearchSettings;
  alignment_heads: [number, number][];
}

/** What the server allows; a limit it does not name is not checked by the page. */
export interface Limits {
  max_characters?: number;
  max_beam?: number;
  max_n_best?: number;
  [name: string]: number | undefined;
}

/** All models, and what the server allows. */
export interface ModelList {
  version: string;
  models: Model[];
  limits: Limits;
  runs: boolean;
}

/** What a reader of a translation should be warned of. */
export interface Flags {
  truncated: boolean;
  unknown: boolean;
  looped: boolean;
  split: boolean;
  between_spans: boolean;
  forced_spans: boolean;
}

/** One translation that a search has found. */
export interface Candidate {
  text: string;
  tokens: string[];
  log_probs: number[];
  log_prob: number;
  score: number;
  ending: string;
}

/** weights[target token][source token]; links are pairs of word numbers (source, target). */
export interface Alignment {
  source_tokens: string[];
  target_tokens: string[];
  weights: number[][];
  links: [number, number][];
}

/** A translation, and everything known of it. */
export interface Translation {
  source: string;
  text: string;
  score: number;
  log_prob: number;
  tokens: string[];
  log_probs: number[];
  /** The probability that it is acceptable; null where the model cannot tell. */
  confidence: number | null;
  flags: Flags;
  n_best: Candidate[];
  alignment: Alignment | null;
}

/** What `POST /v1/translate` takes. */
export interface TranslateRequest {
  texts: string[];
  model?: string;
  source?: string;
  target?: string;
  search?: Partial<SearchSettings>;
  terms?: Record<string, string>;
  prefixes?: string[];
  forbidden?: string[];
  alignment?: boolean;
}

/** What it answers. */
export interface TranslateAnswer {
  model: string;
  source: string | null;
  target: string;
  translations: Translation[];
}

/** What `POST /v1/translate/stream` takes. */
export interface StreamRequest extends Omit<TranslateRequest, "texts" | "prefixes"> {
  text: string;
  prefix?: string;
}

/** A translation under way: `stable` will not change any more, `tail` may. */
export interface PartialTranslation {
  stable: string;
  tail: string;
  beams?: { text: string; score: number }[];
}

/** The end of a stream. */
export interface StreamDone {
  model: string;
  target: string;
  translation: Translation;
}

/** A training run. */
export interface Run {
  name: string;
  state: "training" | "finished" | "stopped";
  step: number;
  max_steps: number | null;
  started: string | number | null;
  settings: Record<string, unknown>;
  /** [source, target] languages; a server that does not know them leaves them out. */
  directions?: [string, string][];
}

/** One line of a run's metrics, as the training loop wrote it. */
export type RunEvent = Record<string, unknown>;

/** Events of a run, and where the next ones begin. */
export interface RunEvents {
  events: RunEvent[];
  next: number;
  state: Run["state"];
  /** The file began anew: forget the events before. */
  restarted?: boolean;
  /** There is more right now. */
  more?: boolean;
  unreadable?: number;
}

/** What `POST /v1/runs/{name}/film` takes. */
export interface FilmRequest extends HeadId {
  text: string;
  target?: string;
  frames?: number;
}

/** One checkpoint: its translation, and the weights of the head. */
export interface FilmFrame {
  step: number;
  translation: string;
  log_prob: number;
  weights: number[][];
}

/** A head as it was at several checkpoints. */
export interface Film {
  source_tokens: string[];
  target_tokens: string[];
  frames: FilmFrame[];
}
