import { describe, expect, it } from "vitest";
import { differences, prefixWith, words } from "./forcing.ts";

const apart = (before: string, after: string) =>
  differences(words(before), words(after)).map(({ kind, words: said }) => [kind, said.join(" ")]);

describe("differences", () => {
  it("marks what went and what came", () => {
    expect(apart("the cat sleeps", "the dog sleeps")).toEqual([
      ["same", "the"],
      ["gone", "cat"],
      ["new", "dog"],
      ["same", "sleeps"],
    ]);
  });
  it("is all the same for the same text, and all new after nothing", () => {
    expect(apart("a b", "a b")).toEqual([["same", "a b"]]);
    expect(apart("", "a b")).toEqual([["new", "a b"]]);
    expect(apart("a b", "")).toEqual([["gone", "a b"]]);
    expect(apart("", "")).toEqual([]);
  });
  it("spells both texts, whatever they are", () => {
    const texts = ["a b c a b", "b a b", "c c a", "a", "", "b c b a c a"];
    for (const before of texts) {
      for (const after of texts) {
        const found = differences(words(before), words(after));
        const said = (kind: string) =>
          found.flatMap((one) => (one.kind === kind || one.kind === "same" ? one.words : []));
        expect(said("gone").join(" ")).toBe(before);
        expect(said("new").join(" ")).toBe(after);
      }
    }
  });
  it("keeps as much as can be kept", () => {
    const kept = differences(words("a b c d e"), words("x b d y e")).filter(
      ({ kind }) => kind === "same",
    );
    expect(kept.flatMap((one) => one.words)).toEqual(["b", "d", "e"]);
  });
});

describe("prefixWith", () => {
  it("is what was written before the step, then the token", () => {
    const steps = [4, 5, 6].map((id) => ({
      token: { id, piece: "", start: 0, end: 0 },
      log_prob: 0,
      rank: 1,
      entropy: 0,
      top: [],
    }));
    expect(prefixWith({ steps }, 2, 9)).toEqual([4, 5, 9]);
    expect(prefixWith({ steps }, 0, 9)).toEqual([9]);
  });
});
