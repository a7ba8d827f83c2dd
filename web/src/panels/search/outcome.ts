/**
 * What a search tree says: paths, the arithmetic of a score, and how the ends compare.
 *
 *     score = log P / length penalty + coverage penalty            (section 6.1 of the paper)
 *
 *     paper   lp(n) = ((5 + n) / 6)^α       n counts the end symbol
 *     plain   lp(n) = n^α
 */

import type { SearchSettings, SearchTree, TreeNode } from "../../api/types.ts";
import { GAP, isSymbol } from "../../drawing/pieces.ts";

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

/** Return what log P of so many tokens is divided by. */
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
