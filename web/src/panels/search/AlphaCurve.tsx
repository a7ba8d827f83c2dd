/** How the ends of the beam would rank at other length penalties. */

import type { Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Lines, linesPicture } from "../../drawing/Lines.tsx";
import { bestAt, curves, nodeAt, pathTo, STEPS, spelled } from "./outcome.ts";

/** The figure; nothing where fewer than two hypotheses ended. */
export function AlphaCurve({ trace }: { trace: Trace }) {
  if (trace.tree === null) return null;
  const { tree, search } = trace;
  const found = curves(tree, search);
  if (found.length < 2) return null;
  const name = (node: number) =>
    spelled(pathTo(tree, node).map((one) => trace.pieces[nodeAt(tree, one).token] ?? "")) ||
    "(nothing)";
  const chart = {
    label: "Score of each end at every α",
    x: "α",
    y: "score",
    at: search.length_penalty,
    lines: found.map(({ node, scores }, index) => ({
      name: `${index + 1}  ${name(node)}`,
      points: scores.map((score, step) => [STEPS[step] as number, score] as [number, number]),
    })),
  };
  return (
    <Figure
      name="length-penalty"
      title="What the length penalty decides"
      caption={describeWinners(found.length, bestAt(found), name)}
      picture={() => linesPicture(chart, palette())}
      table={() => ({
        columns: ["alpha", ...found.map(({ node }) => name(node))],
        rows: STEPS.map((alpha, step) => [
          alpha,
          ...found.map(({ scores }) => scores[step] as number),
        ]),
      })}
    >
      <Lines {...chart} />
    </Figure>
  );
}

function describeWinners(
  count: number,
  spans: { node: number; from: number; to: number }[],
  name: (node: number) => string,
): string {
  const about = `The ${count} best ends of this search, ranked at every α. `;
  const [first] = spans;
  if (spans.length === 1 && first) return `${about}The same one wins at each.`;
  const won = spans.map(({ node, from, to }) => {
    const where = from === to ? `at ${from}` : `from ${from} to ${to}`;
    return `${where} “${name(node)}”`;
  });
  return `${about}Winner: ${won.join("; ")}. A search at another α may also find other ends.`;
}
