import { expect, test } from "vitest";
import type { RunEvent } from "../../api/types.ts";
import { chartsOf, chartTable, linesOf } from "./charts.ts";
import { NOTHING, withEvents } from "./course.ts";

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
