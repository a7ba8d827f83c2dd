import { expect, test } from "vitest";
import type { Candidate, Translation } from "../api/types.ts";
import { asTranslation, doubtOf } from "./translation.ts";

const best = {
  source: "chat",
  text: "cat cat cat",
  flags: {
    truncated: false,
    unknown: true,
    looped: true,
    split: false,
    between_spans: false,
    forced_spans: false,
  },
} as Translation;

test("an alternative has the warnings of its own ending, and those of the source", () => {
  const flags = (ending: string) =>
    asTranslation(best, { text: "cat", ending } as Candidate, null).flags;
  const whole = {
    truncated: false,
    unknown: true,
    looped: false,
    split: false,
    between_spans: false,
    forced_spans: false,
  };
  expect(flags("end")).toEqual(whole);
  expect(flags("limit")).toEqual({ ...whole, truncated: true });
  expect(flags("loop")).toEqual({ ...whole, looped: true });
});

test("it has its own words, and the source of the best one", () => {
  const chosen = asTranslation(best, { text: "cat", ending: "end" } as Candidate, null);
  expect([chosen.source, chosen.text]).toEqual(["chat", "cat"]);
});

test("a translation is doubtful below an even chance, and an alternative is not judged", () => {
  expect(doubtOf(0.5)).toBeNull();
  expect(doubtOf(null)).toBeNull();
  expect(doubtOf(0.317)).toContain("a 32 % chance of being acceptable");
  const sure = { ...best, confidence: 0.9 };
  const chosen = asTranslation(sure, { text: "cat", ending: "end" } as Candidate, null);
  expect(chosen.confidence).toBeNull();
});
