/**
 * What a search tree says: paths, the arithmetic of a score, and how the ends compare.
 *
 *     score = log P / length penalty + coverage penalty            (section 6.1 of the paper)
 *
 *     paper   lp(n) = ((5 + n) / 6)^α       n counts the end symbol
 *     plain   lp(n) = n^α
 */

import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, makeTrace, type Problem } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type {
  Model,
  SearchSettings,
  SearchTree,
  Trace,
  TraceRequest,
  TreeNode,
} from "../../api/types.ts";
import { GAP, isSymbol } from "../../drawing/pieces.ts";
import type { Address } from "../../state/address.ts";
import { retries } from "../../state/store.ts";

/** What decides the length penalty. */
export type Penalty = Pick<SearchSettings, "length_form" | "length_penalty">;

/** The score of a path with every number that it is made of. */
export interface Arithmetic {
  /** The nodes from the first token to the last. */
  path: number[];
  logProb: number;
  length: number;
  penalty: number;
  score: number;
  /** What is left of the score after log P / penalty: the coverage penalty, where one is set. */
  coverage: number;
}

/** Return the node of a number that the tree itself names. */
export function nodeAt(tree: SearchTree, number: number): TreeNode {
  const node = tree.nodes[number];
  if (node === undefined) throw new RangeError(`the tree has no node ${number}`);
  return node;
}

/** Return the numbers of the nodes from the root's child to this one. */
export function pathTo(tree: SearchTree, number: number): number[] {
  const path: number[] = [];
  let at = number;
  for (let parent = nodeAt(tree, at).parent; parent !== null; parent = nodeAt(tree, at).parent) {
    path.push(at);
    at = parent;
  }
  return path.reverse();
}

/** Return what log P of this many tokens is divided by. */
export function lengthPenalty(length: number, search: Penalty): number {
  const base = search.length_form === "plain" ? length : (5 + length) / 6;
  return base ** search.length_penalty;
}

/** Return the score of the path to a node, and what it is made of. */
export function arithmetic(tree: SearchTree, number: number, search: Penalty): Arithmetic {
  const path = pathTo(tree, number);
  const logProb = path.reduce((total, one) => total + nodeAt(tree, one).log_prob, 0);
  const penalty = lengthPenalty(path.length, search);
  const { score } = nodeAt(tree, number);
  const coverage = path.length === 0 ? 0 : score - logProb / penalty;
  return { path, logProb, length: path.length, penalty, score, coverage };
}

/** Return the nodes where hypotheses ended: those returned first, then the others by score. */
export function ends(tree: SearchTree): number[] {
  const returned = new Set(tree.results);
  const others = tree.nodes.flatMap(({ status }, number) =>
    (status === "finished" || status === "cut") && !returned.has(number) ? [number] : [],
  );
  others.sort((a, b) => nodeAt(tree, b).score - nodeAt(tree, a).score);
  return [...tree.results, ...others];
}

/** Return why the search stopped, in words. */
export function whyStopped(tree: SearchTree): string {
  return {
    end: "everything that was still under way has written the end symbol",
    bound:
      "nothing under way could still beat the best end: log P only falls with every further " +
      "token, and even divided by the penalty of the longest translation allowed it stays below",
    limit: "the longest translation allowed was reached, and what was under way was cut there",
    loop: "all that was left went in circles, and the loop guard ended it",
  }[tree.stopped];
}

/** Return what became of a candidate, in words. */
export function whatBecame(node: TreeNode): string {
  return {
    kept: "kept: followed further",
    dropped: "dropped: not followed",
    finished: "finished: it wrote the end symbol",
    cut: "cut: it went in circles, and the loop guard ended it",
  }[node.status];
}

/**
 * Return the text that pieces spell; symbols such as the end of the sentence are left out. A
 * character that the vocabulary lacks is written byte by byte, as <0xE2> <0x82> <0xAC>.
 */
export function spelled(pieces: string[]): string {
  const bytes: number[] = [];
  for (const piece of pieces) {
    const byte = /^<0x([0-9A-F]{2})>$/u.exec(piece)?.[1];
    if (byte !== undefined) bytes.push(Number.parseInt(byte, 16));
    else if (!isSymbol(piece)) bytes.push(...new TextEncoder().encode(piece.replaceAll(GAP, " ")));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
}

/* Greedy against beam: where they part company, and which found the more probable translation. */

/** What a search found, as far as two of them are compared. */
export interface Result {
  tokens: number[];
  logProb: number;
  score: number;
}

/** How far the tokens of one search can be followed in the tree of another. */
export interface Followed {
  /** The nodes of the tree that those tokens pass, from the first token on. */
  nodes: number[];
  /** All tokens are in the tree and were kept; it was dropped; or it never was a candidate. */
  fate: "kept" | "dropped" | "missing";
}

/** How two results compare. */
type Verdict =
  | "same" // token for token
  | "more probable" // the beam's has the higher log P
  | "longer" // the beam's is less probable, but scores higher: the length penalty decided
  | "worse" // the beam's has both the lower log P and the lower score
  | "equal"; // other tokens, the same log P

/** Return the index of the first token that differs, or null for two equal lists. */
export function partingAt(first: number[], second: number[]): number | null {
  const longest = Math.max(first.length, second.length);
  for (let index = 0; index < longest; index += 1) {
    if (first[index] !== second[index]) return index;
  }
  return null;
}

/** Follow tokens through a tree as far as they are there. */
export function follow(tree: SearchTree, tokens: number[]): Followed {
  const children = listChildren(tree);
  const nodes: number[] = [];
  let at = 0;
  for (const token of tokens) {
    const next = children.get(`${at} ${token}`);
    if (next === undefined) return { nodes, fate: endsDropped(tree, nodes) };
    nodes.push(next);
    at = next;
  }
  return { nodes, fate: nodes.length > 0 && isDropped(tree, at) ? "dropped" : "kept" };
}

const known = new WeakMap<SearchTree, Map<string, number>>();

/** Return the nodes of a tree by parent and token; made once a tree. */
function listChildren(tree: SearchTree): Map<string, number> {
  const found = known.get(tree) ?? new Map<string, number>();
  if (found.size > 0) return found;
  tree.nodes.forEach(({ parent, token }, number) => {
    found.set(`${parent} ${token}`, number);
  });
  known.set(tree, found);
  return found;
}

function endsDropped(tree: SearchTree, nodes: number[]): "dropped" | "missing" {
  const last = nodes.at(-1);
  return last !== undefined && isDropped(tree, last) ? "dropped" : "missing";
}

function isDropped(tree: SearchTree, number: number): boolean {
  return nodeAt(tree, number).status === "dropped";
}

/** Say how the beam's result compares with the greedy one. */
export function verdict(greedy: Result, beam: Result): Verdict {
  if (partingAt(greedy.tokens, beam.tokens) === null) return "same";
  if (beam.logProb === greedy.logProb) return "equal";
  if (beam.logProb > greedy.logProb) return "more probable";
  return beam.score > greedy.score ? "longer" : "worse";
}

/* Scores of the hypotheses that ended, as functions of the length penalty's α. */

/** The values of α that are drawn. */
export const STEPS: readonly number[] = Array.from({ length: 21 }, (_, index) => index / 10);

const MOST = 5;

/** One hypothesis and its score at each of `STEPS`. */
export interface Curve {
  node: number;
  scores: number[];
}

/** Return the curves of the best hypotheses that wrote the end symbol. */
export function curves(tree: SearchTree, search: Penalty): Curve[] {
  return ends(tree)
    .filter((node) => tree.nodes[node]?.status === "finished")
    .slice(0, MOST)
    .map((node) => {
      const { logProb, length, coverage } = arithmetic(tree, node, search);
      const at = (alpha: number) =>
        logProb / lengthPenalty(length, { ...search, length_penalty: alpha }) + coverage;
      return { node, scores: STEPS.map(at) };
    });
}

/** Return from which α to which a hypothesis would win. */
export function bestAt(found: Curve[]): { node: number; from: number; to: number }[] {
  const spans: { node: number; from: number; to: number }[] = [];
  STEPS.forEach((alpha, step) => {
    const best = found.reduce((a, b) =>
      (b.scores[step] as number) > (a.scores[step] as number) ? b : a,
    );
    const last = spans.at(-1);
    if (last?.node === best.node) last.to = alpha;
    else spans.push({ node: best.node, from: alpha, to: alpha });
  });
  return spans;
}

/* Which box is chosen, and how the address keeps it. */

/**
 * A box is kept as the tokens that lead to it, "308.1701", which mean the same in every tree of a
 * sentence; a number of a node would mean another box as soon as the beam is changed.
 */
export function writtenPath(tree: SearchTree, node: number): string {
  return pathTo(tree, node)
    .map((one) => nodeAt(tree, one).token)
    .join(".");
}

/** Where the page is: its step as a tree counts, from 1, and how many steps it has. */
export interface Moment {
  at: number;
  steps: number;
}

/**
 * Return the chosen node: that of the path if it is in the tree and belongs to the present step,
 * otherwise the winner's at this step.
 */
export function chosenNode(tree: SearchTree, path: string, { at, steps }: Moment): number {
  const tokens = /^\d+(\.\d+)*$/u.test(path) ? path.split(".").map(Number) : [];
  const found = follow(tree, tokens).nodes;
  // a branch may be longer than the translation; its further boxes belong to the last step
  const fits = tokens.length === at || (at === steps && tokens.length > steps);
  if (tokens.length > 0 && fits && found.length === tokens.length) return found.at(-1) as number;
  return winnersNode(tree, at);
}

/** Return the node of the translation that won at a step, its last where it is shorter. */
export function winnersNode(tree: SearchTree, at: number): number {
  const path = pathTo(tree, tree.results[0] ?? 0);
  return path[Math.min(at, path.length) - 1] ?? 0;
}

/** Return the step of the page, from 0, that a node belongs to. */
export function findStep(tree: SearchTree, node: number, steps: number): number {
  return Math.max(0, Math.min(nodeAt(tree, node).step, steps) - 1);
}

/* The other search of the same sentence: greedy beside a beam, a beam beside greedy. */

/** A beam where the model's own settings are not those of a beam. */
const USUAL_BEAM = 4;

/** A trace that is looked at once: the server need not keep it. */
interface LightRequest extends TraceRequest {
  keep: false;
}

/** Ask for the search that the shown trace is not; only its tree matters, so a light trace. */
export function otherRequest(
  trace: Trace,
  address: Pick<Address, "beam" | "prefix" | "without">,
  model: Model,
): LightRequest {
  return {
    text: trace.source,
    model: model.name,
    target: trace.target,
    level: "light",
    keep: false,
    search: trace.search.method === "greedy" ? beamFor(trace, address, model) : greedyFor(trace),
    ...(address.prefix.length > 0 ? { prefix: address.prefix } : {}),
    ...(address.without.length > 0 ? { without: address.without } : {}),
  };
}

function greedyFor({ search }: Trace): Partial<SearchSettings> {
  const { length_penalty, length_form } = search;
  return { method: "greedy", n_best: 1, length_penalty, length_form };
}

function beamFor(
  { search }: Trace,
  address: Pick<Address, "beam">,
  model: Model,
): Partial<SearchSettings> {
  const { length_penalty, length_form } = search;
  const own = model.search.method === "beam" ? model.search.beam : USUAL_BEAM;
  return { method: "beam", beam: address.beam ?? own, n_best: 1, length_penalty, length_form };
}

/** The other trace, and what went wrong where there is none. */
interface Other {
  trace?: Trace;
  problem?: Problem;
}

/** Return the other search, once it is here; a request that is outdated is called off. */
export function useOther(request: LightRequest | null): Other {
  const key = JSON.stringify(request);
  const [found, keep] = useState<Other & { key: string }>({ key: "" });
  useEffect(() => {
    if (key === "null" || saved) return;
    const abort = new AbortController();
    makeTrace(JSON.parse(key) as LightRequest, abort.signal).then(
      (trace) => keep({ key, trace }),
      (error) => {
        if (!isAbort(error)) keep({ key, problem: asProblem(error) });
      },
    );
    return () => abort.abort();
  }, [key, retries.value]);
  if (saved) return saved.other ? { trace: saved.other } : {};
  return found.key === key ? found : {};
}
