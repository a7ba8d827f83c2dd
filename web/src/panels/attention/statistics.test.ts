import { expect, test } from "vitest";
import { sentences, weightsFor } from "./madeUp.ts";
import { entropyOf, type Kind, largestShare, measure, roleOf } from "./statistics.ts";

const fill = (rows: number[][]) => ({
  shape: [rows.length, rows[0]?.length ?? 0],
  data: Float32Array.from(rows.flat()),
});

const share = (found: ReturnType<typeof measure>, kind: Kind) =>
  found.shares.find((one) => one.kind === kind)?.share;

test("even attention is as spread as it can be, and called broad", () => {
  const even = fill(Array.from({ length: 4 }, () => [0.25, 0.25, 0.25, 0.25]));
  const found = measure(even, sentences("encoder"));
  expect(found.entropy).toBeCloseTo(Math.log(4), 6);
  expect(found.evenness).toBeCloseTo(1, 6);
  expect(roleOf(found)).toBe("broad");
});

test("a head that looks at the previous token alone is named so, and its entropy is 0", () => {
  const rows = [
    [1, 0, 0, 0],
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
  ];
  const found = measure(fill(rows), sentences("encoder"));
  expect(share(found, "previous")).toBe(1);
  expect(found.entropy).toBe(0);
  expect(found.distance).toBeCloseTo(2 / 3, 6); // the first word can only look at itself
  expect(found.queries).toBe(3); // </s> asks nothing
  expect(roleOf(found)).toBe("previous");
});

test("the share of the same word counts only rows that have one", () => {
  const rows = [
    [0, 0, 1, 0],
    [0, 1, 0, 0],
    [0.5, 0, 0.5, 0],
    [0, 0, 0, 1],
  ];
  const found = measure(fill(rows), sentences("encoder"));
  const same = found.shares.find((one) => one.kind === "same word");
  expect(same).toEqual({ kind: "same word", share: 0.75, queries: 2 });
});

test("in cross-attention the same word is the one about to be written", () => {
  const rows = [
    [0, 0, 0, 1],
    [0, 1, 0, 0],
    [0, 0, 0, 1],
  ];
  const found = measure(fill(rows), sentences("cross"));
  expect(share(found, "same word")).toBe(1); // row 1 reads 40, writes 31
  expect(share(found, "end")).toBeCloseTo(2 / 3, 6);
  expect(found.shares.map((one) => one.kind)).not.toContain("previous");
  // One row of three has such a piece: too few to name the head by it.
  expect(largestShare(found)?.kind).toBe("end");
});

test("distance in cross-attention is from the straight line between the sentences", () => {
  const rows = [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 0, 1],
  ];
  // Rows 0, 1, 2 of 3 stand at 0, 4/3 and 8/3 of 4 columns.
  expect(measure(fill(rows), sentences("cross")).distance).toBeCloseTo((0 + 1 / 3 + 1 / 3) / 3, 6);
});

test("the decoder is measured against what it may see", () => {
  const rows = [
    [1, 0, 0],
    [0.5, 0.5, 0],
    [1 / 3, 1 / 3, 1 / 3],
  ];
  expect(measure(fill(rows), sentences("decoder")).evenness).toBeCloseTo(1, 6);
});

test("shares are shares and entropy lies between 0 and that of even attention", () => {
  for (let seed = 1; seed <= 40; seed++) {
    for (const side of ["encoder", "decoder", "cross"] as const) {
      const of = sentences(side);
      const weights = weightsFor(of, seed);
      const found = measure(weights, of);
      for (const one of found.shares) {
        expect(one.share).toBeGreaterThanOrEqual(0);
        expect(one.share).toBeLessThanOrEqual(1 + 1e-6);
      }
      expect(found.evenness).toBeGreaterThan(0);
      expect(found.evenness).toBeLessThanOrEqual(1 + 1e-6);
      expect(entropyOf(weights, 0)).toBeLessThanOrEqual(Math.log(of.keys.length) + 1e-6);
    }
  }
});

test("a head that picks one word a row, but no kind of word, is pointed", () => {
  const rows = [
    [0, 0, 1, 0],
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 0, 1],
  ];
  const of = { ...sentences("cross"), queries: sentences("encoder").queries, written: [] };
  expect(roleOf(measure(fill(rows), of))).toBe("pointed");
  const half = rows.map((row) => row.map((one) => 0.55 * one + 0.1125));
  expect(roleOf(measure(fill(half), of))).toBe("mixed");
});

test("the first token counts as such only where it is not also the token before", () => {
  const rows = [
    [1, 0, 0, 0],
    [1, 0, 0, 0],
    [1, 0, 0, 0],
    [1, 0, 0, 0],
  ];
  const found = measure(fill(rows), sentences("encoder"));
  const first = found.shares.find((one) => one.kind === "first");
  expect(first).toEqual({ kind: "first", share: 1, queries: 1 });
});
