import { expect, test } from "vitest";
import type { Film, Run, RunEvent } from "../../api/types.ts";
import { LIGHT } from "../../drawing/colours.ts";
import { chartsOf, chartTable, linesOf } from "./charts.ts";
import { NOTHING, withEvents } from "./course.ts";
import {
  filmPicture,
  filmRequest,
  filmTable,
  headWithin,
  hidden,
  labelsOf,
  sameSentence,
  sizesOf,
} from "./filmView.ts";
import { changedKeys } from "./keep.ts";

const events = [
  ...Array.from({ length: 1000 }, (_, place) => ({
    event: "trained",
    step: place + 1,
    loss: 9,
    perplexity: Math.exp(5 / (place + 1)),
    tokens: 600,
    seconds: 2,
    learning_rate: 0.001,
    gradient_norm: 1,
    epoch: 0,
  })),
  {
    event: "validated",
    step: 500,
    loss: 0.7,
    perplexity: Math.exp(0.7),
    bleu: 30,
    chrf: 55,
    signatures: ["BLEU|x"],
    samples: [],
    best: true,
  },
] as unknown as RunEvent[];
const course = withEvents(NOTHING, events);
const shared = { logX: false, firstStep: 1, lastStep: 1000, at: null };

test("losses are those without label smoothing, of training and of the dev set", () => {
  const [loss] = chartsOf(course, false);
  expect(loss?.series[0]?.points[1]?.value).toBeCloseTo(2.5, 12);
  expect(loss?.series[1]?.points[0]?.value).toBeCloseTo(0.7, 12);
  expect(chartsOf(course, true)[0]?.series[1]?.points[0]?.value).toBe(Math.exp(0.7));
});

test("long lines are thinned on the screen and whole in the file", () => {
  for (const chart of chartsOf(course, false)) {
    for (const line of linesOf(chart, shared).lines) {
      expect(line.points.length).toBeLessThanOrEqual(240);
    }
  }
  const [loss] = chartsOf(course, false);
  expect(chartTable(loss as NonNullable<typeof loss>).rows.length).toBe(1001);
});

test("speed is tokens a second", () => {
  const speed = chartsOf(course, false).find(({ name }) => name === "speed");
  expect(speed?.series[0]?.points[0]).toEqual({ step: 1, value: 300 });
});

test("a logarithmic axis of steps begins above 0, and all charts have the same one", () => {
  for (const chart of chartsOf(course, false)) {
    expect(linesOf(chart, { ...shared, logX: true }).rangeX).toEqual([1, 1000]);
    expect(linesOf(chart, shared).rangeX).toEqual([0, 1000]);
  }
});

test("a run that has told nothing yet has empty charts", () => {
  for (const chart of chartsOf(NOTHING, true)) {
    expect(linesOf(chart, { ...shared, lastStep: 0 }).rangeX).toEqual([0, 1]);
    expect(chartTable(chart).rows).toEqual([]);
  }
});

test("keys are changed one by one, and an empty word takes one away", () => {
  const keys = { run: "a", at: "300", scale: "own" };
  expect(changedKeys(keys, { at: "", frame: "2" })).toEqual({ run: "a", scale: "own", frame: "2" });
  expect(keys.at).toBe("300");
});

const film: Film = {
  source_tokens: ["▁Le", "▁chat", "</s>"],
  target_tokens: ["<s>", "▁The"],
  frames: [
    {
      step: 100,
      translation: "a <b>",
      log_prob: -3,
      weights: [
        [0.5, 0.25, 0.25],
        [1, 0, 0],
      ],
    },
    {
      step: 200,
      translation: "The cat",
      log_prob: -1,
      weights: [
        [0, 1, 0],
        [0, 0, 1],
      ],
    },
  ],
};

test("rows are who looks, columns at what", () => {
  expect(labelsOf(film, "cross")).toEqual({
    rows: ["<s>", "The"],
    columns: ["Le", "chat", "</s>"],
  });
  expect(labelsOf(film, "encoder").rows).toEqual(labelsOf(film, "encoder").columns);
  expect(labelsOf(film, "decoder").columns).toEqual(["<s>", "The"]);
});

test("only the decoder's own attention hides what comes later", () => {
  expect(hidden("decoder", 0, 1)).toBe(true);
  expect(hidden("decoder", 1, 1)).toBe(false);
  expect(hidden("cross", 0, 1)).toBe(false);
});

test("a head of another network becomes the nearest one of this", () => {
  const run = { settings: { model: { encoder_layers: 3, decoder_layers: 2, heads: 4 } } };
  const sizes = sizesOf(run as unknown as Run);
  expect(headWithin({ side: "encoder", layer: 5, head: 7 }, sizes)).toEqual({
    side: "encoder",
    layer: 2,
    head: 3,
  });
  expect(headWithin({ side: "cross", layer: 2, head: 1 }, sizes).layer).toBe(1);
});

const HEAD = { side: "cross", layer: 0, head: 1 } as const;

test("a film is asked for in a language that the run has, or in none", () => {
  const run: Pick<Run, "directions"> = { directions: [["fr", "en"]] };
  const none: Pick<Run, "directions"> = { directions: [] };
  expect(filmRequest(run, "chat", HEAD, "en")).toEqual({ text: "chat", ...HEAD, target: "en" });
  for (const [one, target] of [
    [run, "de"],
    [run, undefined],
    [none, "en"],
  ] as const) {
    expect(filmRequest(one, "chat", HEAD, target)).toEqual({ text: "chat", ...HEAD });
  }
});

test("another head is of the same sentence, another text or language is not", () => {
  const one = { text: "chat", target: "en", ...HEAD };
  expect(sameSentence(one, { ...one, head: 3 })).toBe(true);
  expect(sameSentence(one, { ...one, text: "chats" })).toBe(false);
  expect(sameSentence(one, { ...one, target: "de" })).toBe(false);
});

test("the table has every weight", () => {
  const { rows } = filmTable(film, "cross");
  expect(rows.length).toBe(2 * 2 * 3);
  expect(rows.at(-1)).toEqual([200, "The cat", 1, "The", 2, "</s>", 1]);
});

test("the picture has a cell a weight, and words that cannot break it", () => {
  const { svg } = filmPicture(film, { side: "cross", layer: 0, head: 1 }, LIGHT);
  // Two rects are the ground and the hatching's own.
  expect(svg.match(/<rect /g)?.length).toBe(12 + 2);
  expect(svg).not.toContain("<b>");
});
