/** Scores of the hypotheses that ended, as functions of the length penalty's α. */

import type { SearchTree } from "../../api/types.ts";
import { arithmetic, ends, lengthPenalty, type Penalty } from "./outcome.ts";

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
