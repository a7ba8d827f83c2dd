import { describe, expect, it } from "vitest";
import type { SearchTree, Trace } from "../../api/types.ts";
import { comparison, describeStep, parting } from "./words.ts";

const TREE: SearchTree = {
  stopped: "end",
  results: [4],
  nodes: [
    { step: 0, parent: null, token: 2, log_prob: 0, score: 0, status: "kept" },
    { step: 1, parent: 0, token: 10, log_prob: -1, score: -1, status: "kept" },
    { step: 1, parent: 0, token: 11, log_prob: -2, score: -2, status: "kept" },
    { step: 1, parent: 0, token: 12, log_prob: -3, score: -3, status: "dropped" },
    { step: 2, parent: 1, token: 3, log_prob: -0.5, score: -1.4, status: "finished" },
    { step: 2, parent: 2, token: 13, log_prob: -5, score: -6, status: "dropped" },
  ],
};

function traced(tokens: number[], logProb: number, score: number, looped = false): Trace {
  const pieces = { 2: "<s>", 3: "</s>", 10: "▁The", 11: "▁A", 12: "▁It", 13: "▁cat" };
  const steps = tokens.map((id) => ({ token: { id, piece: pieces[id as 3] } }));
  return {
    steps,
    pieces,
    tree: TREE,
    log_prob: logProb,
    score,
    flags: { looped },
    search: { method: "beam" },
  } as unknown as Trace;
}

const BEAM = traced([10, 3], -1.5, -1.4);

describe("comparison", () => {
  it("says that both wrote the same", () => {
    expect(comparison(BEAM, BEAM)).toContain("the same translation");
  });
  it("says by how much the beam's is more probable", () => {
    expect(comparison(traced([11, 3], -3.5, -3.2), BEAM)).toBe(
      "The beam found a translation that is more probable than the greedy one: " +
        "log P −1.500 against −3.500, 7.39 times as probable.",
    );
  });
  it("says when the length penalty decided, and when the beam was worse", () => {
    expect(comparison(traced([11, 3], -1, -1.6), BEAM)).toContain("length penalty");
    expect(comparison(traced([11, 3], -1, -1.1), BEAM)).toContain("fell out of the beam");
    expect(comparison(traced([11, 3], -1.5, -1.4), BEAM)).toContain("same probability");
  });
  it("says that a greedy path in circles does not count", () => {
    expect(comparison(traced([11, 3], -1, -1.1, true), BEAM)).toContain("went in circles");
  });
});

describe("of samples", () => {
  const drawn = { ...BEAM, search: { method: "mbr" }, score: 61.5 } as Trace;
  it("says log P alone: their score is none of a beam", () => {
    expect(comparison(traced([11, 3], -1, -1.1), drawn)).toBe(
      "log P of the one that won is −1.500, of the greedy one −1.000.",
    );
  });
  it("says nothing of a beam", () => {
    expect(parting(traced([11, 3], -1, -1.1), drawn)).toBeNull();
  });
});

describe("parting", () => {
  it("says nothing of two that never part", () => {
    expect(parting(BEAM, BEAM)).toBeNull();
  });
  it("says where they part, and what became of greedy's path in the beam", () => {
    const fork = "They part at step 1: greedy writes “A”, the beam “The”.";
    expect(parting(traced([11, 13, 3], -9, -9), BEAM)).toBe(
      `${fork} Inside the beam, greedy's path was dropped at step 2.`,
    );
    expect(parting(traced([11, 99], -9, -9), BEAM)).toBe(
      `${fork} Greedy's path was not among the beam's candidates from step 2 on.`,
    );
    expect(parting(traced([11], -9, -9), BEAM)).toBe(
      `${fork} Greedy's path stayed in the beam to its end, and scored lower.`,
    );
  });
  it("knows that one may end where the other goes on", () => {
    expect(parting(traced([10], -9, -9), BEAM)).toContain(
      "greedy writes “nothing”, the beam “</s>”",
    );
  });
});

describe("describeStep", () => {
  it("counts the candidates and names those that go on", () => {
    expect(describeStep(BEAM, TREE, 1)).toBe(
      "Step 1: 3 candidates; “The”, “A” continue; 1 dropped, the best of them “It”.",
    );
    expect(describeStep(BEAM, TREE, 2)).toBe(
      "Step 2: 2 candidates; 1 path ended; 1 dropped, the best of them “A cat”.",
    );
  });
});
