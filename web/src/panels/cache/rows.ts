/**
 * The rows of one step of a search, each with its own past, read from the search tree.
 *
 *     step 2, three rows      <s>   The   black          an entry of the cache is a node of the
 *                             <s>   The   dark           tree: rows with a common past read the
 *                             <s>   This  is             same one, and it is kept once
 */

import type { SearchTree } from "../../api/types.ts";
import { pathTo } from "../search/outcome.ts";

/** One position of one row: the node of the tree whose keys and values are read. */
export interface Entry {
  node: number;
  token: number;
  /** Whether it is computed in this step, or read from the cache. */
  computed: boolean;
  /** Rows that read the same entry; more than one where they have this past in common. */
  readers: number;
  /** Whether a row above reads the same entry. */
  seenAbove: boolean;
}

/** A row of the step; `entries` is empty where no hypothesis is left to fill it. */
export interface Row {
  entries: Entry[];
  /** Whether the translation that was returned comes from this row. */
  chosen: boolean;
}

const ROOT = 0;

/**
 * Returns the rows that step `step` computed, best first: what was kept after the step before.
 * `count` is how many rows the search had at this step; those it had no use for are empty.
 */
export function rowsAt(tree: SearchTree, step: number, count: number): Row[] {
  const alive = tree.nodes.flatMap((node, number) =>
    node.step === step && node.status === "kept" ? [number] : [],
  );
  const best = tree.results[0];
  const winner = new Set(best === undefined ? [] : [ROOT, ...pathTo(tree, best)]);
  const paths = alive.slice(0, count).map((node) => [ROOT, ...pathTo(tree, node)]);
  const rows = paths.map((path, order) => ({
    chosen: winner.has(path.at(-1) ?? -1),
    entries: path.map((node, position) => ({
      node,
      token: tree.nodes[node]?.token ?? 0,
      computed: position === path.length - 1,
      readers: paths.filter((other) => other[position] === node).length,
      seenAbove: paths.slice(0, order).some((other) => other[position] === node),
    })),
  }));
  const empty = Array.from({ length: Math.max(0, count - rows.length) }, () => ({
    chosen: false,
    entries: [],
  }));
  return [...rows, ...empty];
}

/** The one row of a translation that was given or written without a tree. */
export function singleRow(tokens: number[], step: number): Row {
  return {
    chosen: true,
    entries: tokens.slice(0, step + 1).map((token, position) => ({
      node: position,
      token,
      computed: position === step,
      readers: 1,
      seenAbove: false,
    })),
  };
}
