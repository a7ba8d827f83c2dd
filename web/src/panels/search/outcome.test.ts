import { describe, expect, it } from "vitest";
import type { SearchTree, TreeNode } from "../../api/types.ts";
import { ALPHA, END, grown } from "./grown-tree.ts";
import {
  arithmetic,
  bestAt,
  chosenNode,
  curves,
  ends,
  findStep,
  follow,
  lengthPenalty,
  nodeAt,
  partingAt,
  pathTo,
  STEPS,
  spelled,
  verdict,
  whatBecame,
  whyStopped,
  winnersNode,
  writtenPath,
} from "./outcome.ts";

const PAPER = { length_form: "paper", length_penalty: ALPHA } as const;
const TREE = grown({ width: 4, steps: 9, seed: 7 });

describe("lengthPenalty", () => {
  it("is ((5 + n) / 6)^α in the paper's form, and n^α in the plain one", () => {
    expect(lengthPenalty(7, { length_form: "paper", length_penalty: 1 })).toBe(2);
    expect(lengthPenalty(7, { length_form: "plain", length_penalty: 1 })).toBe(7);
    expect(lengthPenalty(49, { length_form: "paper", length_penalty: 0.5 })).toBe(3);
  });
  it("is 1 where α is 0", () => {
    for (const length_form of ["paper", "plain"] as const) {
      expect(lengthPenalty(30, { length_form, length_penalty: 0 })).toBe(1);
    }
  });
});

describe("arithmetic", () => {
  it("comes to the score of every node of the tree", () => {
    TREE.nodes.forEach(({ score }, number) => {
      const found = arithmetic(TREE, number, PAPER);
      expect(found.logProb / found.penalty).toBeCloseTo(score, 10);
      expect(found.coverage).toBeCloseTo(0, 10);
      expect(found.length).toBe(TREE.nodes[number]?.step);
    });
  });
  it("leaves the rest of a score to the coverage penalty", () => {
    const nodes: TreeNode[] = TREE.nodes.map((node) => ({ ...node, score: node.score - 0.25 }));
    expect(arithmetic({ ...TREE, nodes }, 5, PAPER).coverage).toBeCloseTo(-0.25, 10);
  });
});

describe("paths", () => {
  it("lead from the root's child to the node", () => {
    const last = TREE.nodes.length - 1;
    const path = pathTo(TREE, last);
    expect(path.at(-1)).toBe(last);
    expect(TREE.nodes[path[0] as number]?.parent).toBe(0);
    expect(path.map((number) => TREE.nodes[number]?.step)).toEqual(path.map((_, at) => at + 1));
    expect(pathTo(TREE, 0)).toEqual([]);
  });
});

describe("ends", () => {
  it("are all that finished, the returned one first, then by score", () => {
    const found = ends(TREE);
    expect(found[0]).toBe(TREE.results[0]);
    expect(found.every((number) => TREE.nodes[number]?.token === END)).toBe(true);
    const scores = found.map((number) => TREE.nodes[number]?.score as number);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
  });
  it("keep the search's own first, although a loop may score higher", () => {
    const tree: SearchTree = {
      stopped: "loop",
      results: [2],
      nodes: [
        { step: 0, parent: null, token: 1, log_prob: 0, score: 0, status: "kept" },
        { step: 1, parent: 0, token: 5, log_prob: -0.1, score: -0.1, status: "cut" },
        { step: 1, parent: 0, token: END, log_prob: -3, score: -3, status: "finished" },
      ],
    };
    expect(ends(tree)).toEqual([2, 1]);
  });
});

describe("words", () => {
  it("say why the search stopped and what became of a node", () => {
    const said = (["end", "bound", "limit", "loop"] as const).map((stopped) =>
      whyStopped({ ...TREE, stopped }),
    );
    expect(new Set(said).size).toBe(4);
    const node = TREE.nodes[1] as TreeNode;
    const fates = (["kept", "dropped", "finished", "cut"] as const).map((status) =>
      whatBecame({ ...node, status }),
    );
    expect(
      fates.every((fate, index) =>
        fate.startsWith(["kept", "dropped", "finished", "cut"][index] as string),
      ),
    ).toBe(true);
  });
  it("spell pieces, symbols left out", () => {
    expect(spelled(["▁The", "▁ca", "t", ".", "</s>"])).toBe("The cat.");
    expect(spelled(["<", "▁<b", ">"])).toBe("< <b>");
    expect(spelled([" black", " cat", "</s>"])).toBe("black cat");
    expect(spelled(["▁5", "▁", "<0xE2>", "<0x82>", "<0xAC>", "</s>"])).toBe("5 €");
  });
});

describe("greedy against beam", () => {
  it("parts at the first token that differs, or where one ends", () => {
    expect(partingAt([4, 5, 6], [4, 5, 6])).toBeNull();
    expect(partingAt([4, 5, 6], [4, 9, 6])).toBe(1);
    expect(partingAt([4, 5], [4, 5, 6])).toBe(2);
  });
  it("follows what a search wrote through its own tree", () => {
    const path = pathTo(TREE, TREE.results[0] as number);
    const tokens = path.map((number) => TREE.nodes[number]?.token as number);
    expect(follow(TREE, tokens)).toEqual({ nodes: path, fate: "kept" });
  });
  it("says that a candidate was dropped, and that one never was", () => {
    const dropped = TREE.nodes.findIndex(({ status }) => status === "dropped");
    const tokens = pathTo(TREE, dropped).map((number) => TREE.nodes[number]?.token as number);
    expect(follow(TREE, tokens).fate).toBe("dropped");
    expect(follow(TREE, [...tokens, 3]).fate).toBe("dropped");
    expect(follow(TREE, [77])).toEqual({ nodes: [], fate: "missing" });
  });
  it("tells who found the more probable translation", () => {
    const greedy = { tokens: [4, END], logProb: -2, score: -1.9 };
    expect(verdict(greedy, greedy)).toBe("same");
    expect(verdict(greedy, { tokens: [5, END], logProb: -1, score: -0.9 })).toBe("more probable");
    expect(verdict(greedy, { tokens: [5, 6, END], logProb: -2.1, score: -1.8 })).toBe("longer");
    expect(verdict(greedy, { tokens: [5, END], logProb: -2.5, score: -2.4 })).toBe("worse");
    expect(verdict(greedy, { tokens: [5, END], logProb: -2, score: -1.9 })).toBe("equal");
  });
});

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

const winner = pathTo(tree, tree.results[0] as number);

// the page may have as many steps as the winner, or those of another search's translation
describe.each([winner.length, 2, 30])("with %d steps on the page", (steps) => {
  it("finds every box again by the tokens that lead to it", () => {
    tree.nodes.forEach(({ step }, node) => {
      if (step === 0) return;
      const at = findStep(tree, node, steps) + 1;
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
