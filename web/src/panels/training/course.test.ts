import { expect, test } from "vitest";
import type { RunEvent } from "../../api/types.ts";
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
