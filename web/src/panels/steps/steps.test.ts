import { expect, test } from "vitest";
import { LIGHT } from "../../drawing/colours.ts";
import { randoms } from "../attention/madeUp.ts";
import {
  checks,
  computeNumbers,
  computeProducts,
  computeScores,
  computeTerms,
  exponentialInDigits,
  exponentials,
  type HeadTensors,
  isBiased,
  type Numbers,
  reach,
  rounded,
  roundedExponential,
  shortSum,
  strongest,
  sumReach,
} from "./numbers.ts";
import { sheetPicture, sheetTable } from "./picture.ts";
import { nextStage, parseStage, STAGES } from "./stages.ts";

test("the six steps are played in order and end", () => {
  const played = [];
  for (let at = nextStage(null); at !== null; at = nextStage(at)) played.push(at);
  expect(played).toEqual([1, 2, 3, 4, 5, 6]);
  expect(STAGES.map(({ stage }) => stage)).toEqual(played);
});

test("an address that names no step shows all", () => {
  expect(parseStage("3")).toBe(3);
  for (const word of [undefined, "", "0", "7", "3.0", "x"]) expect(parseStage(word)).toBeNull();
});

const numbers: Numbers = {
  q: Float32Array.of(1, 2),
  k: [Float32Array.of(1, 0), Float32Array.of(0, 1)],
  v: [Float32Array.of(4, 0), Float32Array.of(0, -8)],
  raw: Float32Array.of(1, 2),
  scaled: Float32Array.of(0.5, 1),
  mask: Float32Array.of(0, Number.NEGATIVE_INFINITY),
  weights: Float32Array.of(1, 0),
  output: Float32Array.of(4, 0),
};

test("the saved table has all numbers, and −∞ as such", () => {
  const { columns, rows } = sheetTable({ numbers, keys: ["a", "b"] });
  expect(columns).toEqual([
    ...["key", "q·k", "scaled", "mask", "exponential", "weight"],
    ...["k1", "k2", "v1", "v2"],
  ]);
  expect(rows[0]).toEqual(["a", 1, 0.5, 0, Math.exp(0.5), 1, 1, 0, 4, 0]);
  expect(rows[1]).toEqual(["b", 2, 1, "−∞", 0, 0, 0, 1, 0, -8]);
  expect(rows[2]?.slice(6)).toEqual([1, 2, "", ""]);
  expect(rows[3]?.slice(6)).toEqual(["", "", 4, 0]);
});

test("the picture writes the numbers and hatches what is hidden", () => {
  const sheet = { title: "T", numbers, query: "x", keys: ["a", "b"], chosen: 0 };
  const { svg } = sheetPicture(sheet, LIGHT);
  for (const words of ["2.000", "0.500", "−∞", "1.649", "1.0000", "÷ √2"]) {
    expect(svg).toContain(`>${words}<`);
  }
  expect(svg.match(/url\(#hatch\)/g)).toHaveLength(1);
  // q, two keys, two values, two weighted values and the sum, two cells each.
  expect(svg.match(/height="17"/g)).toHaveLength(8 * 2);
});

test("weighted values and their sum share one scale", () => {
  expect(sumReach(numbers)).toBe(4);
});

const QUERIES = 3;
const KEYS = 4;
const SIZE = 6;

/** Equation 1 from the textbook, in float64 and rounded to float32 at the end of each step. */
function attention(seed: number, mask: (row: number, column: number) => number): HeadTensors {
  const random = randoms(seed);
  const table = (rows: number, columns: number, cell: (r: number, c: number) => number) => ({
    shape: [rows, columns],
    data: Float32Array.from({ length: rows * columns }, (_, at) =>
      cell(Math.floor(at / columns), at % columns),
    ),
  });
  const at = (of: { shape: number[]; data: Float32Array }, r: number, c: number) =>
    of.data[r * (of.shape[1] ?? 0) + c] ?? 0;
  const wild = () => random() * 4 - 2;
  const [q, k, v] = [table(QUERIES, SIZE, wild), table(KEYS, SIZE, wild), table(KEYS, SIZE, wild)];
  const raw = table(QUERIES, KEYS, (r, c) => {
    let sum = 0;
    for (let i = 0; i < SIZE; i++) sum += at(q, r, i) * at(k, c, i);
    return sum;
  });
  const scaled = table(QUERIES, KEYS, (r, c) => at(raw, r, c) / Math.sqrt(SIZE));
  const added = table(QUERIES, KEYS, mask);
  const exp = (r: number, c: number) => Math.exp(at(scaled, r, c) + at(added, r, c));
  const weights = table(QUERIES, KEYS, (r, c) => {
    let sum = 0;
    for (let other = 0; other < KEYS; other++) sum += exp(r, other);
    return exp(r, c) / sum;
  });
  const heads = table(QUERIES, SIZE, (r, c) => {
    let sum = 0;
    for (let key = 0; key < KEYS; key++) sum += at(weights, r, key) * at(v, key, c);
    return sum;
  });
  return { q, k, v, raw, scaled, mask: added, weights, heads };
}

const plain = () => 0;
const causal = (row: number, column: number) => (column > row ? Number.NEGATIVE_INFINITY : 0);
const sum = (some: Iterable<number>) => [...some].reduce((total, one) => total + one, 0);

const each = (mask: (row: number, column: number) => number, look: (of: Numbers) => void) => {
  for (let seed = 1; seed <= 25; seed++) {
    for (let row = 0; row < QUERIES; row++) look(computeNumbers(attention(seed, mask), row));
  }
};

test("products of a key add up to its raw score", () => {
  each(plain, (of) => {
    for (let key = 0; key < KEYS; key++) {
      expect(sum(computeProducts(of, key))).toBeCloseTo(of.raw[key] ?? Number.NaN, 4);
    }
  });
});

test("exponentials over their sum are the weights, masked keys exactly 0", () => {
  each(causal, (of) => {
    const { each: exps, sum: total } = exponentials(computeScores(of));
    exps.forEach((one, key) => {
      expect(one / total).toBeCloseTo(of.weights[key] ?? Number.NaN, 5);
      if (of.mask[key] !== 0) expect(one).toBe(0);
    });
  });
});

test("taking off the largest score changes no quotient", () => {
  const scores = [71.5, 70.25, 52];
  const { each: exps, sum: total, shift } = exponentials(scores);
  expect(shift).toBe(71.5);
  expect(exps[0]).toBe(1);
  const plainly = scores.map((one) => Math.exp(one));
  exps.forEach((one, key) => {
    expect(one / total).toBeCloseTo((plainly[key] ?? 0) / sum(plainly), 12);
  });
  expect(exponentials([1, 2]).shift).toBe(0);
});

test("terms of a dimension add up to the head's output", () => {
  each(plain, (of) => {
    for (let at = 0; at < SIZE; at++) {
      expect(sum(computeTerms(of, at))).toBeCloseTo(of.output[at] ?? Number.NaN, 5);
    }
  });
});

test("the strongest key has the largest weight", () => {
  each(plain, (of) => expect(of.weights[strongest(of)]).toBe(Math.max(...of.weights)));
});

test("a bias is told from a mask", () => {
  expect(isBiased(computeNumbers(attention(1, causal), 1))).toBe(false);
  expect(
    isBiased(
      computeNumbers(
        attention(1, () => 0.25),
        1,
      ),
    ),
  ).toBe(true);
});

test("the end of a colour scale is the largest magnitude", () => {
  expect(reach([Float32Array.of(1, -3), Float32Array.of(2)])).toBe(3);
});

test("numbers are printed with three decimals, never as minus zero", () => {
  expect(rounded(1.23456)).toBe(1.235);
  expect(Object.is(rounded(-0.0001), 0)).toBe(true);
  expect(rounded(Number.NEGATIVE_INFINITY)).toBe(Number.NEGATIVE_INFINITY);
  expect(roundedExponential(87412.7)).toBe(87410);
});

test("a pocket calculator misses the network by no more than rounding can do", () => {
  each(plain, (of) => {
    const found = checks(of, 1, 2);
    // Each of d_k factors is off by at most 0.0005, the other factor being below 2.
    expect(Math.abs(found.product.byHand - found.product.network)).toBeLessThan(SIZE * 0.0021);
    expect(found.scaled.byHand).toBeCloseTo(found.scaled.network, 2);
    expect(found.score.byHand).toBeCloseTo(found.score.network, 2);
    expect(found.weight.byHand).toBeCloseTo(found.weight.network, 3);
    expect(found.output.byHand).toBeCloseTo(found.output.network, 2);
    expect(found.sum.byHand / found.sum.network).toBeCloseTo(1, 3);
  });
});

test("a masked key has the weight 0 by hand too", () => {
  const found = checks(computeNumbers(attention(4, causal), 0), 3, 0);
  expect(found.score.byHand).toBe(Number.NEGATIVE_INFINITY);
  expect(found.weight.byHand).toBe(0);
});

test("exponentials are printed with four significant digits", () => {
  const printed = [87.4127, 0.0012345, 1.0694e13, 3.2e-7, 0, 9999.6, 1].map(exponentialInDigits);
  expect(printed).toEqual([
    "87.41",
    "0.001234",
    "1.069 × 10¹³",
    "3.200 × 10⁻⁷",
    "0",
    "1.000 × 10⁴",
    "1.000",
  ]);
});

test("a sum cut short is still the whole sum", () => {
  const terms = [1, -5, 0.5, 3, 0.25];
  const short = shortSum(terms, 2);
  expect(short.terms).toEqual([
    { at: 1, value: -5 },
    { at: 3, value: 3 },
  ]);
  expect(short.rest).toEqual({ count: 3, value: 1.75 });
  expect(shortSum(terms, 9).rest).toEqual({ count: 0, value: 0 });
});
