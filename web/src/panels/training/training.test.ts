import { expect, test } from "vitest";
import type { Film, Run, RunEvent } from "../../api/types.ts";
import { LIGHT } from "../../drawing/colours.ts";
import { withExtra } from "../../state/address.ts";
import { isMasked } from "../attention/tokens.ts";
import { clampHead } from "../lens/headList.ts";
import { buildCharts, buildLines, chartTable } from "./Charts.tsx";
import {
  duration,
  lastStep,
  NOTHING,
  nearest,
  samplesOverTime,
  secondsLeft,
  secondsPerStep,
  thinned,
  trainedPoints,
  withEvents,
} from "./course.ts";
import {
  filmPicture,
  filmRequest,
  filmTable,
  getLabels,
  readSizes,
  sameSentence,
} from "./FilmPlayer.tsx";

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
  const [loss] = buildCharts(course, false);
  expect(loss?.series[0]?.points[1]?.value).toBeCloseTo(2.5, 12);
  expect(loss?.series[1]?.points[0]?.value).toBeCloseTo(0.7, 12);
  expect(buildCharts(course, true)[0]?.series[1]?.points[0]?.value).toBe(Math.exp(0.7));
});

test("long lines are thinned on the screen and whole in the file", () => {
  for (const chart of buildCharts(course, false)) {
    for (const line of buildLines(chart, shared).lines) {
      expect(line.points.length).toBeLessThanOrEqual(240);
    }
  }
  const [loss] = buildCharts(course, false);
  expect(chartTable(loss as NonNullable<typeof loss>).rows.length).toBe(1001);
});

test("speed is tokens per second", () => {
  const speed = buildCharts(course, false).find(({ name }) => name === "speed");
  expect(speed?.series[0]?.points[0]).toEqual({ step: 1, value: 300 });
});

test("a logarithmic axis of steps begins above 0, and all charts have the same one", () => {
  for (const chart of buildCharts(course, false)) {
    expect(buildLines(chart, { ...shared, logX: true }).rangeX).toEqual([1, 1000]);
    expect(buildLines(chart, shared).rangeX).toEqual([0, 1000]);
  }
});

test("a run that has told nothing yet has empty charts", () => {
  for (const chart of buildCharts(NOTHING, true)) {
    expect(buildLines(chart, { ...shared, lastStep: 0 }).rangeX).toEqual([0, 1]);
    expect(chartTable(chart).rows).toEqual([]);
  }
});

test("keys are changed one by one, and null removes one", () => {
  const keys = { run: "a", at: "300", scale: "own" };
  expect(withExtra(keys, { at: null, frame: "2" })).toEqual({ run: "a", scale: "own", frame: "2" });
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
  expect(getLabels(film, "cross")).toEqual({
    rows: ["<s>", "The"],
    columns: ["Le", "chat", "</s>"],
  });
  expect(getLabels(film, "encoder").rows).toEqual(getLabels(film, "encoder").columns);
  expect(getLabels(film, "decoder").columns).toEqual(["<s>", "The"]);
});

test("only the decoder's own attention hides what comes later", () => {
  expect(isMasked("decoder", 0, 1)).toBe(true);
  expect(isMasked("decoder", 1, 1)).toBe(false);
  expect(isMasked("cross", 0, 1)).toBe(false);
});

test("a head of another network becomes the nearest one of this", () => {
  const run = { settings: { model: { encoder_layers: 3, decoder_layers: 2, heads: 4 } } };
  const sizes = readSizes(run as unknown as Run);
  expect(clampHead({ side: "encoder", layer: 5, head: 7 }, sizes)).toEqual({
    side: "encoder",
    layer: 2,
    head: 3,
  });
  expect(clampHead({ side: "cross", layer: 2, head: 1 }, sizes).layer).toBe(1);
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
  expect(rows.at(-1)).toEqual([200, "The cat", 2, "The", 3, "</s>", 1]);
});

test("the picture has a cell a weight, and words that cannot break it", () => {
  const { svg } = filmPicture(film, { side: "cross", layer: 0, head: 1 }, LIGHT);
  // Two rects are the ground and the hatching's own.
  expect(svg.match(/<rect /g)?.length).toBe(12 + 2);
  expect(svg).not.toContain("<b>");
});

const trained = (step: number, seconds = 2): RunEvent =>
  ({
    event: "trained",
    step,
    loss: 4,
    perplexity: 30,
    tokens: 1000,
    seconds,
    learning_rate: 0.001,
    gradient_norm: 1,
    epoch: 0,
  }) as unknown as RunEvent;
const validated = (step: number, translation: string): RunEvent =>
  ({
    event: "validated",
    step,
    loss: 3,
    perplexity: 20,
    bleu: 10,
    chrf: 30,
    signatures: [],
    samples: [{ source: "Le chat.", reference: "The cat.", translation }],
    best: true,
  }) as unknown as RunEvent;

test("lines are sorted by kind, and unknown kinds are left alone", () => {
  const odd = { event: "saved", step: 3 } as unknown as RunEvent;
  const skipped = { event: "skipped", step: 25, reason: "not finite" } as unknown as RunEvent;
  const course = withEvents(NOTHING, [trained(10), odd, validated(20, "A."), skipped]);
  expect(course.trained.length).toBe(1);
  expect(course.validated.length).toBe(1);
  expect(course.skipped).toEqual([skipped]);
  expect(lastStep(course)).toBe(20);
});

test("in one go or line by line, a course is the same", () => {
  const lines = [trained(10), trained(20), validated(20, "A."), trained(30)];
  const apart = lines.reduce((course, line) => withEvents(course, [line]), NOTHING);
  expect(apart).toEqual(withEvents(NOTHING, lines));
});

test("a resumed run that went back replaces what came after", () => {
  const before = withEvents(NOTHING, [trained(10), trained(20), trained(30)]);
  const after = withEvents(before, [trained(20, 9)]);
  expect(trainedPoints(after, ({ seconds }) => seconds)).toEqual([
    { step: 10, value: 2 },
    { step: 20, value: 9 },
  ]);
});

test("thinning keeps the mean and the last step, and leaves out what is not finite", () => {
  const points = Array.from({ length: 100 }, (_, place) => ({ step: place + 1, value: place }));
  const few = thinned(points, 10);
  expect(few.length).toBe(10);
  expect(few.at(-1)?.step).toBe(100);
  expect(few.reduce((sum, { value }) => sum + value, 0) / 10).toBeCloseTo(49.5);
  expect(thinned([{ step: 1, value: Number.NaN }], 5)).toEqual([]);
});

test("the time left is the steps left at the pace of late", () => {
  const course = withEvents(NOTHING, [trained(10), trained(20, 5), trained(30, 5)]);
  expect(secondsPerStep(course)).toBe(0.5);
  expect(secondsLeft(course, 130)).toBe(50);
  expect(secondsLeft(course, 20)).toBe(0);
  expect(secondsLeft(withEvents(NOTHING, [trained(10)]), 100)).toBe(null);
});

test("times are told in at most two units", () => {
  const told = [42, 600, 12_060, 400_000].map(duration);
  expect(told).toEqual(["42 s", "10 min", "3 h 21 min", "5 days"]);
});

test("the nearest point is found from both sides", () => {
  const points = [10, 20, 40].map((step) => ({ step, value: step }));
  expect([0, 14, 16, 31, 99].map((step) => nearest(points, step)?.step)).toEqual([
    10, 10, 20, 40, 40,
  ]);
  expect(nearest([], 5)).toBe(null);
});

test("samples are gathered by sentence", () => {
  const course = withEvents(NOTHING, [validated(20, "A."), validated(40, "The cat.")]);
  expect(samplesOverTime(course)).toEqual([
    {
      source: "Le chat.",
      reference: "The cat.",
      versions: [
        { step: 20, translation: "A." },
        { step: 40, translation: "The cat." },
      ],
    },
  ]);
});
