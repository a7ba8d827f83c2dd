import { describe, expect, it } from "vitest";
import { chosenNode, stepOf, winnersNode, writtenPath } from "./choice.ts";
import { grown } from "./grown-tree.ts";
import { nodeAt, pathTo } from "./outcome.ts";

const tree = grown({ width: 4, steps: 9, seed: 7 });
const winner = pathTo(tree, tree.results[0] as number);

// the page may have as many steps as the winner, or those of another search's translation
describe.each([winner.length, 2, 30])("with %d steps on the page", (steps) => {
  it("finds every box again by the tokens that lead to it", () => {
    tree.nodes.forEach(({ step }, node) => {
      if (step === 0) return;
      const at = stepOf(tree, node, steps) + 1;
      expect(at).toBe(Math.min(step, steps));
      expect(chosenNode(tree, writtenPath(tree, node), { at, steps })).toBe(node);
    });
  });
  it("falls back to the winner where the path is none, gone, or of another step", () => {
    const second = winner[1] as number;
    const first = writtenPath(tree, winner[0] as number);
    for (const path of ["", "x", "99999", "1.2.3.4.5.6.7.8.9.10.11", first]) {
      expect(chosenNode(tree, path, { at: 2, steps })).toBe(second);
    }
  });
});

it("stays at the winner's end in later steps", () => {
  expect(winnersNode(tree, 100)).toBe(winner.at(-1));
  expect(winnersNode({ ...tree, results: [] }, 3)).toBe(0);
  expect(nodeAt(tree, winnersNode(tree, 1)).step).toBe(1);
});
