/**
 * Where the candidates of a search tree stand: one column per step, the best of a step highest.
 *
 *     step 1       step 2       step 3
 *     ┌─────┐      ┌─────┐      ┌─────┐
 *     │ The ├──────┤ cat ├──────┤ is  │       rows are ranks, so that the eye sees who overtook
 *     └─────┴─╲    ├─────┤      ├─────┤       whom; lines may cross, boxes never touch
 *     ┌─────┐  ╲───┤ dog ├╌╌╌╌╌╌┤ was │
 *     │ A   │      ├╌╌╌╌╌┤      └─────┘
 *     └─────┘      │ 9 more dropped
 *
 * Dropped candidates are most of a tree. Only the best few of a step are shown, and those asked
 * for; the others are counted.
 */

import type { SearchTree } from "../../api/types.ts";
import { nodeAt } from "./outcome.ts";

/** Pixels of a box and of the room between boxes. */
export const BOX = { width: 108, height: 38, across: 40, down: 8, margin: 12, heading: 30 };

/** A box: its left upper corner. */
export interface Place {
  node: number;
  x: number;
  y: number;
}

/** Dropped candidates of a step that are not shown. */
export interface Fold {
  step: number;
  count: number;
  x: number;
  y: number;
}

/** A line from a parent to a child. */
interface Edge {
  from: number;
  to: number;
}

/** A tree laid out. */
export interface TreeLayout {
  places: Map<number, Place>;
  folds: Fold[];
  edges: Edge[];
  steps: number;
  width: number;
  height: number;
}

/** What of a tree is laid out. */
export interface Shown {
  /** Dropped candidates of each step, the best ones. */
  dropped: number;
  /** Candidates that are shown in any case, such as those on a path. */
  always: ReadonlySet<number>;
}

/** Lay out a tree. */
export function layOut(tree: SearchTree, shown: Shown): TreeLayout {
  const places = new Map<number, Place>();
  const folds: Fold[] = [];
  const columns = byStep(tree);
  let rows = 1;
  columns.forEach((column, step) => {
    const { visible, hidden } = divided(tree, column, shown);
    visible.forEach((node, row) => {
      places.set(node, { node, ...corner(step, row) });
    });
    if (hidden > 0) folds.push({ step, count: hidden, ...corner(step, visible.length) });
    rows = Math.max(rows, visible.length + (hidden > 0 ? 1 : 0));
  });
  const end = corner(columns.length - 1, rows);
  return {
    places,
    folds,
    edges: edgesBetween(tree, places),
    steps: columns.length - 1,
    width: end.x + BOX.width + BOX.margin,
    height: end.y - BOX.down + BOX.margin,
  };
}

function corner(step: number, row: number): { x: number; y: number } {
  return {
    x: BOX.margin + step * (BOX.width + BOX.across),
    y: BOX.heading + row * (BOX.height + BOX.down),
  };
}

function byStep(tree: SearchTree): number[][] {
  const columns: number[][] = [];
  tree.nodes.forEach(({ step }, number) => {
    const column = columns[step] ?? [];
    column.push(number);
    columns[step] = column;
  });
  for (const column of columns) {
    column.sort((a, b) => nodeAt(tree, b).score - nodeAt(tree, a).score || a - b);
  }
  return columns;
}

/** Divide a column, best first, into what is shown and the number of those that are not. */
function divided(tree: SearchTree, column: number[], { dropped, always }: Shown) {
  let room = dropped;
  const visible = column.filter((number) => {
    if (nodeAt(tree, number).status !== "dropped" || always.has(number)) return true;
    room -= 1;
    return room >= 0;
  });
  return { visible, hidden: column.length - visible.length };
}

function edgesBetween(tree: SearchTree, places: ReadonlyMap<number, Place>): Edge[] {
  const edges: Edge[] = [];
  for (const to of places.keys()) {
    const from = nodeAt(tree, to).parent;
    if (from !== null && places.has(from)) edges.push({ from, to });
  }
  return edges;
}

/** Return the line of an edge as an SVG path: it leaves and arrives level. */
export function curve(from: Place, to: Place): string {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

/** A key that moves from box to box. */
export type Direction = "up" | "down" | "left" | "right";

/** Return the box that an arrow key leads to: parent, best child, or the neighbour in its step. */
export function neighbour(
  tree: SearchTree,
  { places }: TreeLayout,
  at: number,
  direction: Direction,
): number {
  const here = places.get(at);
  if (here === undefined) return tree.results[0] ?? 0;
  if (direction === "left") return nodeAt(tree, at).parent ?? at;
  const others = [...places.values()].sort((a, b) => a.y - b.y);
  if (direction === "right") {
    return others.find(({ node }) => nodeAt(tree, node).parent === at)?.node ?? at;
  }
  const column = others.filter(({ x }) => x === here.x);
  const next = column.indexOf(here) + (direction === "up" ? -1 : 1);
  return column[next]?.node ?? at;
}
