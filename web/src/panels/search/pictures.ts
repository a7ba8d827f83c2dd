/** The tree as an SVG document and as a table. */

import type { SearchTree, Trace, TreeNode } from "../../api/types.ts";
import { type Palette, palette } from "../../drawing/colours.ts";
import type { Table } from "../../drawing/Figure.tsx";
import { printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  estimateWidth,
  group,
  heading,
  type Picture,
  path,
  picture,
  rect,
  text,
} from "../../drawing/svg.ts";
import { BOX, curve, type Place, type TreeLayout } from "./layout.ts";
import { nodeAt } from "./outcome.ts";

/** What the picture shows. */
export interface Drawn {
  title: string;
  trace: Trace;
  tree: SearchTree;
  layout: TreeLayout;
  won: ReadonlySet<number>;
  other: ReadonlySet<number>;
}

const TOP = 34;

/** The tree with its heading, as it is laid out on the page. */
export function treePicture(drawn: Drawn): Picture {
  const colours = palette();
  const { layout, title } = drawn;
  const steps = Array.from({ length: layout.steps }, (_, index) => {
    const x = BOX.margin + (index + 1) * (BOX.width + BOX.across);
    return text(x, 18, `step ${index + 1}`, { fill: colours.muted, "font-size": 11 });
  });
  const folds = layout.folds.map(({ x, y, count }) =>
    text(x + 6, y + 18, `${count} dropped`, { fill: colours.muted, "font-size": 11 }),
  );
  const boxes = [...layout.places.values()].map((place) => box(drawn, place, colours));
  const width = Math.max(layout.width, 360);
  return picture(
    width,
    layout.height + TOP,
    colours,
    heading(BOX.margin, 24, title),
    group(
      { transform: `translate(0 ${TOP})` },
      ...steps,
      ...lines(drawn, colours),
      ...boxes,
      ...folds,
    ),
  );
}

function lines({ tree, layout, won, other }: Drawn, colours: Palette): string[] {
  return layout.edges.map(({ from, to }) => {
    const d = curve(layout.places.get(from) as Place, layout.places.get(to) as Place);
    if (won.has(to)) return path(d, { stroke: colours.accent, "stroke-width": 2.5 });
    if (other.has(to)) {
      return path(d, { stroke: colours.series[1], "stroke-width": 2, "stroke-dasharray": "2 4" });
    }
    const dashes = nodeAt(tree, to).status === "dropped" ? "3 3" : null;
    return path(d, { stroke: colours.muted, "stroke-dasharray": dashes });
  });
}

function box(
  { trace, tree, won, other }: Drawn,
  { node: number, x, y }: Place,
  colours: Palette,
): string {
  const node = nodeAt(tree, number);
  const piece = plain(trace.pieces[node.token] ?? `#${node.token}`);
  const gone = node.status === "dropped";
  const stroke = chooseStroke(node, { won: won.has(number), other: other.has(number) }, colours);
  const small = { "font-size": 10, fill: colours.muted };
  const below = y + BOX.height - 7;
  return group(
    {},
    rect(x, y, BOX.width, BOX.height, {
      rx: 5,
      fill: gone ? colours.ground : colours.panel,
      stroke,
      "stroke-width": won.has(number) ? 2 : 1,
      "stroke-dasharray": gone ? "3 3" : null,
    }),
    text(x + 8, y + 16, shortened(piece, BOX.width - 16), {
      fill: gone ? colours.muted : colours.ink,
      "font-weight": won.has(number) ? 600 : null,
    }),
    node.parent === null ? "" : text(x + 8, below, printed(node.log_prob, 2), small),
    node.parent === null
      ? ""
      : text(x + BOX.width - 8, below, printed(node.score, 2), { ...small, "text-anchor": "end" }),
  );
}

function chooseStroke(
  node: TreeNode,
  on: { won: boolean; other: boolean },
  colours: Palette,
): string {
  if (node.status === "finished" || node.status === "cut") return colours.good;
  if (on.won) return colours.accent;
  return on.other ? (colours.series[1] ?? colours.muted) : colours.muted;
}

function shortened(words: string, room: number): string {
  if (estimateWidth(words) <= room) return words;
  let kept = words;
  while (kept !== "" && estimateWidth(`${kept}…`) > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** Every candidate of the search, also those that are folded away. */
export function treeTable({ trace, tree, won, other }: Omit<Drawn, "layout" | "title">): Table {
  return {
    columns: [
      "node",
      "step",
      "parent",
      "id",
      "token",
      "log P",
      "score",
      "status",
      "on the winner's path",
      "on the other search's path",
    ],
    rows: tree.nodes.map((node, number) => [
      number,
      node.step,
      node.parent ?? "",
      node.token,
      trace.pieces[node.token] ?? "",
      node.log_prob,
      node.score,
      node.status,
      won.has(number) ? "yes" : "no",
      other.has(number) ? "yes" : "no",
    ]),
  };
}
