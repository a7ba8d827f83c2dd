/** Which box is chosen, and how the address keeps it. */

import type { SearchTree } from "../../api/types.ts";
import { nodeAt, pathTo } from "./outcome.ts";
import { follow } from "./parting.ts";

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
export function stepOf(tree: SearchTree, node: number, steps: number): number {
  return Math.max(0, Math.min(nodeAt(tree, node).step, steps) - 1);
}
