import { expect, test } from "vitest";
import type { Candidate, Translation } from "../api/types.ts";
import { asTranslation, describeDoubt } from "./translation.ts";
import {
  aligned,
  differing,
  findMark,
  linkedTo,
  tokenSpans,
  wordAt,
  wordSpans,
  wordWeights,
} from "./words.ts";

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
  expect(describeDoubt(0.5)).toBeNull();
  expect(describeDoubt(null)).toBeNull();
  expect(describeDoubt(0.317)).toContain("a 32 % chance of being acceptable");
  const sure = { ...best, confidence: 0.9 };
  const chosen = asTranslation(sure, { text: "cat", ending: "end" } as Candidate, null);
  expect(chosen.confidence).toBeNull();
});

const SOURCE = "Le chat  dort.\nIci !";
const PIECES = ["<2en>", "▁Le", "▁chat", "▁d", "ort", ".", "</s>", "▁Ici", "▁!", "</s>"];

test("pieces are found in the text, symbols nowhere", () => {
  const cut = tokenSpans(SOURCE, PIECES).map((span) => span && SOURCE.slice(...span));
  expect(cut).toEqual([null, "Le", "chat", "d", "ort", ".", null, "Ici", "!", null]);
});

test("a piece that is not there loses the rest, and claims nothing wrong", () => {
  const cut = tokenSpans("Le chat", ["▁Le", "▁chien", "▁chat"]);
  expect(cut).toEqual([[0, 2], null, null]);
  expect(tokenSpans("a b", ["▁b"])).toEqual([null]);
});

test("words are divided by spaces; without spaces, by tokens", () => {
  expect(wordSpans(SOURCE, []).map((span) => SOURCE.slice(...span))).toEqual([
    "Le",
    "chat",
    "dort.",
    "Ici",
    "!",
  ]);
  const chinese = "猫在睡觉。 ok";
  const tokens = tokenSpans(chinese, ["▁猫", "在", "睡觉", "。", "▁ok"]);
  expect(wordSpans(chinese, tokens).map((span) => chinese.slice(...span))).toEqual([
    "猫",
    "在",
    "睡觉",
    "。",
    "ok",
  ]);
});

test("the word at a place", () => {
  const words = wordSpans(SOURCE, []);
  expect(wordAt(words, 0)).toBe(0);
  expect(wordAt(words, 2)).toBe(-1);
  expect(wordAt(words, 13)).toBe(2);
});

test("words look at words as their tokens did together", () => {
  const source = { words: wordSpans("a bc", []), tokens: [[0, 1], [2, 3], [3, 4], null] as const };
  const target = {
    words: wordSpans("x y", []),
    tokens: [
      [0, 1],
      [2, 3],
    ] as const,
  };
  const weights = [
    [0.5, 0.2, 0.2, 0.1],
    [0.1, 0.4, 0.4, 0.1],
  ];
  const found = wordWeights(weights, target, source);
  expect(found[0]?.[0]).toBe(1);
  expect(found[0]?.[1]).toBeCloseTo(0.8);
  expect(found[1]?.[0]).toBeCloseTo(0.125);
  expect(found[1]?.[1]).toBe(1);
});

test("a pointed word marks what it is linked to, on the other side, both ways", () => {
  const between = aligned("le chat noir", "the black cat", {
    source_tokens: ["▁le", "▁chat", "▁noir", "</s>"],
    target_tokens: ["▁the", "▁black", "▁cat"],
    weights: [
      [0.9, 0.05, 0.05, 0],
      [0, 0.1, 0.9, 0],
      [0, 0.6, 0.4, 0],
    ],
    links: [
      [0, 0],
      [2, 1],
      [1, 2],
    ],
  });
  const cat = { side: "target" as const, number: 2 };
  const mark = (number: number) => findMark(between, cat, { side: "source", number });
  expect([0, 1, 2].map(mark)).toEqual([null, "linked", "near"]);
  expect(findMark(between, cat, cat)).toBe("pointed");
  const noir = { side: "source" as const, number: 2 };
  expect(findMark(between, noir, { side: "target", number: 1 })).toBe("linked");
  expect(linkedTo(between, noir)).toEqual([1]);
  expect(linkedTo(between, cat)).toEqual([1]);
  expect(findMark(between, null, cat)).toBeNull();
  const lonely = { ...between, links: [] };
  expect(findMark(lonely, noir, { side: "target", number: 1 })).toBe("near");
});

test("an alternative shows which of its words are its own", () => {
  const own = (text: string, other: string) =>
    differing(text, other)
      .filter(({ differs }) => differs)
      .map(({ word }) => word);
  expect(own("The small cat sleeps.", "The cat sleeps.")).toEqual(["small"]);
  expect(own("a b c d", "b d")).toEqual(["a", "c"]);
  expect(own("same text", "same text")).toEqual([]);
  const joined = differing("a  b\nc", "b").map(({ word }) => word);
  expect(joined.join("")).toBe("a  b\nc");
});
