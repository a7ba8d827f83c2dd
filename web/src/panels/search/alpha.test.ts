import { expect, it } from "vitest";
import { bestAt, curves, STEPS } from "./alpha.ts";
import { ALPHA, grown } from "./grown-tree.ts";
import { ends } from "./outcome.ts";

const tree = grown({ width: 4, steps: 9, seed: 7 });
const search = { length_form: "paper", length_penalty: ALPHA } as const;

it("passes through the tree's own scores at the tree's own α", () => {
  const here = STEPS.indexOf(ALPHA);
  for (const { node, scores } of curves(tree, search)) {
    expect(scores[here]).toBeCloseTo(tree.nodes[node]?.score as number, 10);
  }
});

it("lets the search's winner win at its α", () => {
  const spans = bestAt(curves(tree, search));
  const here = spans.find(({ from, to }) => from <= ALPHA && ALPHA <= to);
  expect(here?.node).toBe(ends(tree)[0]);
});

it("covers every α once, in order", () => {
  const spans = bestAt(curves(tree, search));
  expect(spans[0]?.from).toBe(0);
  expect(spans.at(-1)?.to).toBe(2);
  spans.slice(1).forEach(({ from }, index) => {
    expect(from).toBeGreaterThan(spans[index]?.to as number);
  });
});

it("favours a longer hypothesis as α grows", () => {
  const nodes = [
    { step: 0, parent: null, token: 1, log_prob: 0, score: 0, status: "kept" as const },
    { step: 1, parent: 0, token: 0, log_prob: -1, score: -1, status: "finished" as const },
    { step: 1, parent: 0, token: 5, log_prob: -0.6, score: -0.6, status: "kept" as const },
    {
      step: 2,
      parent: 2,
      token: 0,
      log_prob: -0.5,
      score: -1.1 / (7 / 6) ** ALPHA,
      status: "finished" as const,
    },
  ];
  const spans = bestAt(curves({ nodes, results: [1], stopped: "end" }, search));
  expect(spans.map(({ node }) => node)).toEqual([1, 3]);
});
