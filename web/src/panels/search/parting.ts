/** Greedy against beam: where they part company, and which found the more probable translation. */

import type { SearchTree } from "../../api/types.ts";
import { nodeAt } from "./outcome.ts";

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
export type Verdict =
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
  const children = childrenOf(tree);
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
function childrenOf(tree: SearchTree): Map<string, number> {
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
