/** Search trees for tests: a beam search over a language whose probabilities are drawn by lot. */

import type { SearchTree, TreeNode } from "../../api/types.ts";

/** The end symbol of that language. */
export const END = 0;

const VOCABULARY = 9;

/** The length penalty of all trees here, in the form of the paper. */
export const ALPHA = 0.6;

interface Wish {
  width: number;
  steps: number;
  seed: number;
}

interface Row {
  node: number;
  total: number;
}

/** Grow a tree as a beam search does: `width` rows go on, an end among the best `width` ends. */
export function grown({ width, steps, seed }: Wish): SearchTree {
  const random = lottery(seed);
  const nodes: TreeNode[] = [root()];
  let rows: Row[] = [{ node: 0, total: 0 }];
  for (let step = 1; step <= steps && rows.length > 0; step += 1) {
    rows = advance(nodes, rows, { step, last: step === steps, width }, random);
  }
  const ended = nodes.flatMap(({ status }, number) => (status === "finished" ? [number] : []));
  ended.sort((a, b) => (nodes[b]?.score ?? 0) - (nodes[a]?.score ?? 0));
  return { nodes, results: ended.slice(0, 1), stopped: "end" };
}

function advance(
  nodes: TreeNode[],
  rows: Row[],
  { step, last, width }: { step: number; last: boolean; width: number },
  random: () => number,
): Row[] {
  const candidates = rows.flatMap(({ node, total }) =>
    softmax(Array.from({ length: VOCABULARY }, () => 6 * random())).map((p, token) => ({
      node,
      token,
      logProb: Math.log(p),
      total: total + Math.log(p),
    })),
  );
  candidates.sort((a, b) => b.total - a.total);
  const next: Row[] = [];
  candidates.forEach(({ node, token, logProb, total }, rank) => {
    const ends = token === END && (rank < width || last);
    const goesOn = !ends && token !== END && !last && next.length < width;
    const status = ends ? "finished" : goesOn ? "kept" : "dropped";
    nodes.push({
      step,
      parent: node,
      token,
      log_prob: logProb,
      score: scored(total, step),
      status,
    });
    if (goesOn) next.push({ node: nodes.length - 1, total });
  });
  return next;
}

/** The score by logarithms, which is another route than the page's. */
function scored(total: number, length: number): number {
  return -Math.exp(Math.log(-total) - ALPHA * (Math.log(5 + length) - Math.log(6)));
}

function root(): TreeNode {
  return { step: 0, parent: null, token: 1, log_prob: 0, score: 0, status: "kept" };
}

function softmax(logits: number[]): number[] {
  const exps = logits.map(Math.exp);
  const total = exps.reduce((a, b) => a + b, 0);
  return exps.map((value) => value / total);
}

/** A plain generator of numbers of [0, 1): the same ones for the same seed. */
function lottery(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
