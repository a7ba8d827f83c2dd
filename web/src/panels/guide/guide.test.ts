import { expect, test } from "vitest";
import { Problem } from "../../api/problem.ts";
import type { Tensor } from "../../api/tensors.ts";
import type { CacheUsage, SearchTree, Step, Trace } from "../../api/types.ts";
import { HOME } from "../../state/address.ts";
import {
  candidates,
  everyHead,
  type Facts,
  gather,
  headsApart,
  leastSureStep,
  letters,
  multiplications,
  rowLength,
  sharpestCross,
  strongestLink,
  tellingLink,
  wordNumbers,
} from "./facts.ts";
import { plain, tokens } from "./lines.ts";
import { findFacts, inView } from "./TourCard.tsx";
import { stepAddress, TOUR, withinTour } from "./tour.ts";

/* A made-up sentence of five tokens and its facts, for tests. */

const token = (piece: string) => ({ id: 7, piece, start: 0, end: 1 });

/** The trace: only what the guide looks at. */
const TRACE = {
  model: {
    source_vocab_size: 4000,
    target_vocab_size: 4000,
    encoder_layers: 2,
    decoder_layers: 1,
    d_model: 64,
    d_ff: 128,
    heads: 2,
    d_k: 32,
    norm: "pre",
    tying: "all",
    positions: "sinusoidal",
  },
  search: { length_penalty: 0.6 },
  source_tokens: ["▁L", "'", "animal", "▁dort", "</s>"].map(token),
  target_tokens: ["<s>", "▁The", "▁animal", "▁sleeps"].map(token),
  words: {
    source: [
      [0, 3],
      [3, 4],
      [4, 5],
    ],
    target: [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ],
  },
  steps: ["▁The", "▁animal", "▁sleeps", "</s>"].map((piece, place) => ({
    token: token(piece),
    log_prob: -0.5,
    rank: place === 2 ? 2 : 1,
    entropy: place,
    top: [
      { id: 1, piece, log_prob: -0.5 },
      { id: 2, piece: "▁rests", log_prob: -1.5 },
    ],
  })),
  tree: {
    nodes: [{ parent: null }, { parent: 0, status: "dropped" }],
    results: [],
    stopped: "end",
  },
  alignment_heads: [
    [0, 0],
    [0, 1],
  ],
  alignment_row: "predicts",
  tensors: { "encoder.0.feed_forward.output": [5, 2], "encoder.1.feed_forward.output": [5, 2] },
  cache: { steps: [{ multiplications: 1e6, without_cache: 4e6 }] },
} as unknown as Trace;

/** Its facts. */
const FACTS: Facts = {
  trace: TRACE,
  encoder: { layer: 1, head: 0, query: 3, key: 2, weight: 0.625 },
  apart: { layer: 1, one: 0, other: 1, distance: 0.5 },
  stream: { layer: 1, token: 3, before: 10, attention: 2, feedForward: 3 },
  decoder: { layer: 0, head: 1, query: 3, key: 1, weight: 0.375 },
  cross: { layer: 0, head: 1, query: 2, key: 3, weight: 0.875, sharpness: 0.75, piece: "▁sleeps" },
  unsure: 3,
  candidates: { seen: 1, dropped: 1 },
  multiplications: { made: 1e6, without: 4e6 },
};

/** Tensors of the right shapes: attention is even but where `peaks` says. */
function tensors(peaks: Record<string, [number, number, number]>) {
  const asked: string[] = [];
  const fetch = async (name: string): Promise<Tensor> => {
    asked.push(name);
    if (!name.endsWith(".weights")) return { shape: [5, 2], data: new Float32Array(10).fill(3) };
    const queries = name.startsWith("encoder") ? 5 : 4;
    const keys = name.includes("decoder.0.self") ? 4 : 5;
    const data = new Float32Array(2 * queries * keys).fill(0.1);
    const peak = peaks[name];
    if (peak) data[(peak[0] * queries + peak[1]) * keys + peak[2]] = 0.9;
    return { shape: [2, queries, keys], data };
  };
  return { fetch, asked };
}

test("facts come from the tensors of all layers of the three attentions", async () => {
  const { fetch, asked } = tensors({
    "encoder.1.self_attention.weights": [1, 3, 0],
    "decoder.0.self_attention.weights": [0, 3, 1],
    "decoder.0.cross_attention.weights": [1, 1, 2],
  });
  const facts = await gather(TRACE, fetch);
  expect(facts.encoder).toMatchObject({ layer: 1, head: 1, query: 3, key: 0 });
  expect(facts.decoder).toMatchObject({ layer: 0, head: 0, query: 3, key: 1 });
  expect(facts.cross).toMatchObject({ layer: 0, head: 1, query: 1, key: 2 });
  expect(facts.apart?.layer).toBe(1);
  expect(facts.unsure).toBe(3);
  expect(facts.stream?.before).toBeCloseTo(Math.sqrt(18), 6);
  expect(asked.filter((name) => name.endsWith(".weights")).length).toBe(4);
  expect(asked).toContain("encoder.1.feed_forward.output");
});

test("words of few letters count too", async () => {
  const { fetch } = tensors({ "decoder.0.self_attention.weights": [0, 3, 1] });
  const short = {
    ...TRACE,
    target_tokens: ["<s>", "▁It", "▁really", "▁rains"].map((piece) => ({
      id: 7,
      piece,
      start: 0,
      end: 1,
    })),
  };
  expect((await gather(short, fetch)).decoder).toMatchObject({ query: 3, key: 1 });
});

test("rows of cross-attention belong to the token that they predict, never to the end symbol", async () => {
  const { fetch } = tensors({ "decoder.0.cross_attention.weights": [0, 3, 2] });
  const facts = await gather(TRACE, fetch);
  expect(facts.cross?.query).not.toBe(3);
});

/** Attention of some heads, each given as rows. */
function attention(...heads: number[][][]): Tensor {
  const [rows = 0, columns = 0] = [heads[0]?.length, heads[0]?.[0]?.length];
  return {
    shape: [heads.length, rows, columns],
    data: Float32Array.from(heads.flat(2)),
  };
}

test("tokens without letters, and symbols, belong to no word", () => {
  const pieces = ["<2en>", "▁L", "'", "animal", "▁dort", ".", "</s>"];
  const spans = [
    [0, 1],
    [1, 4],
    [4, 6],
    [6, 7],
  ];
  expect(wordNumbers(pieces, spans)).toEqual([-1, 1, -1, 1, 2, -1, -1]);
});

test("the strongest link is between different words that are apart", () => {
  const neighbours = attention([
    [0, 1, 0, 0],
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 0, 1],
  ]);
  const far = attention([
    [0.2, 0.1, 0.1, 0.6],
    [1, 0, 0, 0],
    [0.5, 0.5, 0, 0],
    [0, 0, 1, 0],
  ]);
  expect(strongestLink([neighbours, far], [0, 1, 2, 3])).toMatchObject({
    layer: 1,
    head: 0,
    query: 0,
    key: 3,
  });
  expect(strongestLink([neighbours, far], [0, 1, 1, -1])).toMatchObject({ query: 2, key: 0 });
  expect(strongestLink([neighbours], [-1, -1, -1, -1])).toBe(null);
});

test("letters are counted, not signs", () => {
  expect([letters("▁L'été!"), letters(undefined)]).toEqual([4, 0]);
});

const aligned = [
  [0.9, 0.05, 0.05],
  [0.1, 0.8, 0.1],
  [0, 0, 1],
];
const every = (row: number[]) => [row, row, row];

test("the head that aligns wins over one that rests on the end or on one word", () => {
  const layers = [
    attention(every([0, 0, 1]), every([1, 0, 0])),
    attention(every([1, 0, 0]), aligned),
  ];
  const words = { queries: [0, 0, -1], keys: [0, 1, -1] };
  const found = sharpestCross(layers, everyHead(layers), words);
  expect(found).toMatchObject({ layer: 1, head: 1 });
  expect(found?.sharpness).toBeCloseTo(0.85, 6);
  expect(sharpestCross(layers, [[0, 1]], words)).toMatchObject({ layer: 0, head: 1 });
  expect(sharpestCross(layers, everyHead(layers), { queries: [], keys: [] })).toBe(null);
});

test("the telling link is one that other heads agree on, between long words", () => {
  const layers = [attention(aligned, every([0.1, 0.9, 0]))];
  const pieces = { queries: ["▁The", "▁street", ""], keys: ["▁la", "▁rue", ""] };
  const pointing = { layer: 0, head: 0, sharpness: 1 };
  expect(tellingLink(layers, pointing, everyHead(layers), pieces)).toMatchObject({
    head: 0,
    query: 1,
    key: 1,
  });
  const copied = { queries: ["▁animal", "▁street", ""], keys: ["animal", "▁rue", ""] };
  expect(tellingLink(layers, pointing, [[0, 0]], copied)?.query).toBe(1);
  expect(tellingLink(layers, pointing, [[0, 0]], { queries: ["", "", ""], keys: [] })).toBe(null);
});

test("heads that look at the same are 0 apart, at nothing common 1", () => {
  const left = [
    [1, 0],
    [1, 0],
  ];
  const right = [
    [0, 1],
    [0, 1],
  ];
  expect(headsApart([attention(left, left, right)])).toEqual({
    layer: 0,
    one: 0,
    other: 2,
    distance: 1,
  });
  expect(headsApart([attention(left, left)])).toBe(null);
});

test("the least sure step has the highest entropy", () => {
  const steps = [0.2, 1.7, 0.9].map((entropy) => ({ entropy }) as Step);
  expect(leastSureStep(steps)).toBe(1);
});

test("lengths are Euclidean", () => {
  const tensor = { shape: [2, 2], data: Float32Array.from([1, 1, 3, 4]) };
  expect(rowLength(tensor, 1)).toBe(5);
});

test("candidates are counted without the root, multiplications over all steps", () => {
  const node = (parent: number | null, status: string) => ({ parent, status });
  const tree = { nodes: [node(null, "kept"), node(0, "kept"), node(0, "dropped")] };
  expect(candidates(tree as unknown as SearchTree)).toEqual({ seen: 2, dropped: 1 });
  const cache = { steps: [2, 3].map((n) => ({ multiplications: n, without_cache: 10 * n })) };
  expect(multiplications(cache as unknown as CacheUsage)).toEqual({ made: 5, without: 50 });
});

const BARE: Facts = {
  ...FACTS,
  encoder: null,
  apart: null,
  stream: null,
  decoder: null,
  cross: null,
  candidates: null,
};

test("the tour visits every panel but itself", () => {
  const visited = new Set(TOUR.map(({ panel }) => panel));
  expect([...visited].sort()).toEqual(
    [
      "attention",
      "cache",
      "lens",
      "map",
      "norm",
      "output",
      "search",
      "steps",
      "tokens",
      "training",
    ].sort(),
  );
});

test("every step has a title of its own, a section, and something to try", () => {
  expect(new Set(TOUR.map(({ title }) => title)).size).toBe(TOUR.length);
  for (const { section, about, hint } of TOUR) {
    expect(section).toMatch(/^sections? \d/);
    expect(about.length).toBeGreaterThan(5);
    expect(hint).toMatch(/\.$/);
  }
});

test.each([
  ["a sentence", FACTS],
  ["a word alone", BARE],
])("every step has something to say of %s", (_, facts) => {
  for (const step of TOUR) {
    const said = step.words(facts).map(plain);
    expect(said.length).toBeGreaterThan(1);
    for (const paragraph of said) {
      expect(paragraph).toMatch(/[.:]$/);
      expect(paragraph).not.toMatch(/undefined|NaN|null|“”/);
    }
  }
});

test("what is said has the sentence's numbers and tokens", () => {
  const said = (title: string) =>
    TOUR.find((step) => step.title === title)
      ?.words(FACTS)
      .map(plain)
      .join(" ") ?? "";
  expect(said("The source looks at itself")).toContain("“dort” gives “animal” a weight of 0.63");
  expect(said("Words become tokens")).toContain("“L” + “'” + “animal” make one word");
  const signs = FACTS.trace.source_tokens.map((token, at) =>
    at === 1 || at === 2 ? { ...token, piece: "." } : token,
  );
  const [, whole = []] = tokens({ ...FACTS, trace: { ...FACTS.trace, source_tokens: signs } });
  expect(plain(whole)).toBe("In your sentence, every word is one piece.");
  expect(said("Looking back at the source")).toContain("For “sleeps”, it gives “dort”");
  expect(said("From a vector to a word")).toContain("Step 4");
  expect(said("Greedy, or with a beam")).toContain("the winner has “sleeps”, only number 2");
  expect(said("Nothing is computed twice")).toContain("4.0 times fewer");
  expect(said("Tokens become vectors")).toContain("√64 = 8.00");
});

test("a step leads to its panel, head and token, with nothing forced and no head off", () => {
  TOUR.forEach((step, place) => {
    const here = { ...HOME, ...stepAddress(place, FACTS) };
    expect(here).toMatchObject({
      view: "explore",
      panel: step.panel,
      tour: place,
      prefix: [],
      without: [],
    });
  });
  const cross = TOUR.findIndex(({ title }) => title === "Looking back at the source");
  expect(stepAddress(cross, FACTS)).toMatchObject({ side: "cross", layer: 0, head: 1, step: 2 });
});

test("before the facts are known, the panel alone is shown", () => {
  expect(stepAddress(4, null)).toEqual({
    view: "explore",
    panel: "attention",
    tour: 4,
    prefix: [],
    without: [],
  });
});

test("a step beyond the tour is its nearest one", () => {
  expect([-3, 2, 99].map(withinTour)).toEqual([0, 2, TOUR.length - 1]);
  expect(stepAddress(99, null).tour).toBe(TOUR.length - 1);
});

test("a step is in view where it leads, and not where another does", () => {
  TOUR.forEach((_, place) => {
    const here = { ...HOME, ...stepAddress(place, FACTS) };
    expect(inView(here, stepAddress(place, FACTS))).toBe(true);
    expect(inView(here, stepAddress((place + 1) % TOUR.length, FACTS))).toBe(false);
    expect(
      inView(
        { ...here, without: [{ side: "cross", layer: 0, head: 0 }] },
        stepAddress(place, FACTS),
      ),
    ).toBe(false);
  });
});

test("facts of another sentence, or of one that failed, are not known", () => {
  expect(findFacts({ state: "ready", value: FACTS.trace }, FACTS)).toBe(FACTS);
  expect(findFacts({ state: "loading", value: FACTS.trace }, FACTS)).toBe(FACTS);
  expect(findFacts({ state: "ready", value: { ...TRACE } }, FACTS)).toBeNull();
  expect(findFacts({ state: "idle" }, FACTS)).toBeNull();
  const problem = new Problem(422, "Too long", "");
  expect(findFacts({ state: "failed", value: FACTS.trace, problem }, FACTS)).toBeNull();
});
