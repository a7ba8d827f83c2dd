/**
 * The JSON of the server, under the names that the page uses. `schema.ts` is made of the server's
 * OpenAPI document (`make page-types`), so that a change of the API shows here.
 */
import type { components } from "./schema.ts";

type Schemas = components["schemas"];

/** A body: what the server has a default for may be left out. */
type Body<T, K extends keyof T> = Pick<T, K> & { [N in Exclude<keyof T, K>]?: NonNullable<T[N]> };

/** One of the three attentions. */
export type Side = Schemas["HeadFields"]["side"];
/** One attention head. */
export type HeadId = Schemas["HeadFields"];

/** Sizes and choices of the network (section 3 of the paper). */
export type ModelConfig = Required<Schemas["ModelConfig"]>;
/** How a translation is searched for. */
export type SearchSettings = Required<Schemas["SearchConfig"]>;
/** The kinds of search. */
export type Method = SearchSettings["method"];

/** A model that is served. */
export type Model = Omit<Schemas["ModelFields"], "config" | "search"> & {
  config: ModelConfig;
  search: SearchSettings;
};
/** All models, and what the server allows; a limit it does not name is not checked by the page. */
export type ModelList = Omit<Schemas["ModelsAnswer"], "models"> & { models: Model[] };

/** What a reader of a translation should be warned of. */
export type Flags = Schemas["FlagFields"];
/** One translation that a search has found. */
export type Candidate = Schemas["CandidateFields"];
/** weights[target token][source token]; links are pairs of word numbers (source, target). */
export type Alignment = Schemas["AlignmentFields"];
/** A translation, and everything known of it. */
export type Translation = Schemas["TranslationFields"];

/** What `POST /v1/translate` takes. */
export type TranslateRequest = Searched<Body<Schemas["TranslateBody"], "texts">>;
/** What it answers. */
export type TranslateAnswer = Schemas["TranslateAnswer"];
/** What `POST /v1/translate/stream` takes. */
export type StreamRequest = Searched<Body<Schemas["StreamBody"], "text">>;

/** A body whose search settings may be left out one by one. */
type Searched<T> = Omit<T, "search"> & { search?: Partial<SearchSettings> };

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

/** What `POST /v1/trace` takes. */
export type TraceRequest = Searched<Body<Schemas["TraceBody"], "text">>;
/** A step, from 0, and the ids of two tokens that compete there. */
export type Decision = Schemas["ChosenDecision"];
/** Everything one translation did, but for the tensors, of which `tensors` gives the shapes. */
export type Trace = Omit<Schemas["TraceAnswer"], "heads" | "id" | "model" | "search"> & {
  heads: HeadStatistics[];
  id: string;
  model: ModelConfig;
  search: SearchSettings;
};
/** A token and the characters [start, end) it stands for; symbols have start == end. */
export type TraceToken = Schemas["TraceToken"];
/** A token that could have come, and log P of it. */
export type TopToken = Schemas["TopToken"];
/** What was written at one step; `rank` 1 is the most probable, `entropy` is in nats. */
export type Step = Schemas["Step"];
/** One candidate of the search; the root (parent null, step 0) is the start symbol. */
export type TreeNode = Schemas["Node"];
/** Followed further, not followed, ended by the end symbol, or ended by the loop guard. */
export type NodeStatus = TreeNode["status"];
/** All candidates, and the nodes where the results end, best first. */
export type SearchTree = Schemas["SearchTree"];
/** What one step of decoding computed and what it read from the cache. */
export type CacheStep = Schemas["CacheStep"];
/** The same of all steps; the source is computed once. */
export type CacheUsage = Schemas["CacheUsage"];
/** How far a translation can be trusted, without a reference. */
export type Confidence = Schemas["ConfidenceFields"];
/** What one head does on this sentence: means over its queries. */
export type HeadStatistics = Omit<Schemas["HeadRoleFields"], "shares"> & {
  shares: Partial<Record<TokenKind, number>>;
};
/** What a head does, by the rules of the library. */
export type HeadRole = HeadStatistics["role"];
/** Kinds of token that a head may look for; `same_word` is the same piece at another place. */
export type TokenKind = "previous" | "next" | "same_position" | "same_word" | "first" | "end";
/** First token and the one after the last, of one word. */
export type WordSpan = Schemas["WordFields"]["source"][number];

/** `logit[layer][step]`, and what the decoder says when it reads an earlier encoder layer. */
export type Lens = Schemas["LensAnswer"];
/** What one layer would have said at one step. */
export type LensCell = Schemas["LensCell"];
/** The translation that one encoder layer, read early, gives. */
export type DecoderLensRow = Schemas["EncoderReading"];

/** Where the decision between two sentences is made. */
export type Patching = Schemas["Patching"];
/** A part of the network that can be patched. */
export type Cell = Schemas["Cell"];
/** Kinds of cells: states of source and target, heads of the three attentions. */
export type Part = Cell["part"];
/** What patching one cell does, in both directions. */
export type CellShare = Schemas["CellShare"];
/** What one run does with some cells patched. */
export type PatchedRun = Schemas["PatchedRun"];
/** What `POST /v1/patch/cells` takes. */
export type PatchCellsRequest = Searched<
  Body<Schemas["PatchCellsBody"], "text" | "against" | "cells">
>;
/** What it answers. */
export type PatchedAnswer = Schemas["PatchedAnswer"];
/** What `POST /v1/patch/repeat` takes. */
export type RepeatRequest = Searched<Body<Schemas["RepeatBody"], "text" | "against">>;
/** What `POST /v1/heads` takes. */
export type HeadMarginsRequest = Searched<
  Body<Schemas["HeadMarginsBody"], "text" | "step" | "tokens">
>;
/** One decision with each head switched off by itself. */
export type HeadMargins = Schemas["HeadMargins"];
/** The same decision in other sentences. */
export type Repetition = Schemas["Repetition"];

/** A training run. */
export type Run = Schemas["RunFields"];
/** One line of a run's metrics, as the training loop wrote it. */
export type RunEvent = Record<string, unknown>;
/** Events of a run, and where the next ones begin. */
export type RunEvents = Schemas["EventsAnswer"];
/** What `POST /v1/runs/{name}/film` takes. */
export type FilmRequest = Body<Schemas["FilmBody"], "text" | "side" | "layer" | "head">;
/** One checkpoint: its translation, and the weights of the head. */
export type FilmFrame = Schemas["FrameFields"];
/** A head as it was at several checkpoints. */
export type Film = Schemas["FilmAnswer"];
