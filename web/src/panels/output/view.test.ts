import { describe, expect, it } from "vitest";
import type { Trace } from "../../api/types.ts";
import { wholeOf, withExtra } from "./extra.ts";
import { barsPath, productAt } from "./logit.ts";
import {
  AS_IT_IS,
  cutsInWords,
  isChanged,
  placeOf,
  ranked,
  rowAt,
  rowsOf,
  spread,
  sureness,
  temperatureInWords,
} from "./rows.ts";
import { piecesOf, prefixWith, type StepView } from "./view.ts";

const trace = { model_hash: "a1", pieces: { 4: "▁cat" } };

it("names tokens by the trace, then by the vocabulary of its model", () => {
  const pieceOf = piecesOf(trace, { hash: "a1", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1, 9].map(pieceOf)).toEqual(["▁cat", "b", "#9"]);
});

it("never names them by the vocabulary of another model", () => {
  const pieceOf = piecesOf(trace, { hash: "b2", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1].map(pieceOf)).toEqual(["▁cat", "#1"]);
  expect(piecesOf(trace, undefined)(1)).toBe("#1");
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

it("sets some keys, takes others away, and leaves the rest", () => {
  const before = { seed: "3", tree: "both", grow: "1" };
  expect(withExtra(before, { seed: "4", grow: null })).toEqual({ seed: "4", tree: "both" });
  expect(before.grow).toBe("1");
});

it("reads whole numbers only, and bounds them", () => {
  expect(wholeOf("12", 100, 7)).toBe(12);
  expect(wholeOf("120", 100, 7)).toBe(100);
  for (const word of [undefined, "", "-1", "1.5", "x", "1e9", "99999999999"]) {
    expect(wholeOf(word, 100, 7)).toBe(7);
    expect(wholeOf(word, 100, null)).toBeNull();
  }
});

const states = { shape: [2, 4], data: Float32Array.of(1, 2, -1, 0.5, 9, 9, 9, 9) };
const embedding = { shape: [2, 4], data: Float32Array.of(7, 7, 7, 7, 2, -4, 6, 8) };

describe("productAt", () => {
  it("multiplies a state with the row of the token read next, √d_model taken out", () => {
    const found = productAt(states, embedding, 0);
    expect([...(found?.row ?? [])]).toEqual([1, -2, 3, 4]);
    expect([...(found?.products ?? [])]).toEqual([1, -4, -3, 2]);
    expect(found?.logit).toBe(-4);
  });
  it("knows no row for the last token, which nothing reads", () => {
    expect(productAt(states, embedding, 1)).toBeUndefined();
  });
});

describe("barsPath", () => {
  it("draws those of one sign, the largest as high as there is room", () => {
    expect(barsPath(Float64Array.of(1, -2, 0.5), 10, 8, 1)).toBe(
      "M0.1 10h.8v-4h-.8zM2.1 10h.8v-2h-.8z",
    );
    expect(barsPath(Float64Array.of(1, -2, 0.5), 10, 8, -1)).toBe("M1.1 10h.8v8h-.8z");
  });
  it("draws nothing of zeros", () => {
    expect(barsPath(new Float64Array(3), 10, 8, 1)).toBe("");
  });
});

function viewOf(logits: number[], writtenId: number): StepView {
  const order = ranked(logits);
  return {
    trace: {} as Trace,
    at: 0,
    step: {
      token: { id: writtenId, piece: "x", start: 0, end: 1 },
      log_prob: 0,
      rank: 1,
      entropy: 0,
      top: [],
    },
    order,
    plain: spread(order, AS_IT_IS),
    written: placeOf(order, writtenId),
  };
}

const LOGITS = [1, 5, 3, -2, 4, 0, 2];
const piece = (id: number) => `p${id}`;

describe("rowsOf", () => {
  it("has the best first, then the written one, and the rest makes it whole", () => {
    const view = viewOf(LOGITS, 3);
    const now = spread(view.order, { temperature: 2, topK: 5, topP: 1 });
    const { rows, rest } = rowsOf(view, now, piece, 3);
    expect(rows.map(({ id }) => id)).toEqual([1, 4, 2, 3]);
    expect(rows.map(({ written }) => written)).toEqual([false, false, false, true]);
    expect(rows.map(({ kept }) => kept)).toEqual([true, true, true, false]);
    expect(rest.count).toBe(3);
    expect(rest.kept).toBe(2);
    for (const name of ["probability", "plain", "share"] as const) {
      const whole = rows.reduce((total, row) => total + row[name], rest[name]);
      expect(whole).toBeCloseTo(1, 14);
    }
    expect(rows.reduce((total, row) => total + row.exp, rest.exp)).toBeCloseTo(now.total, 14);
  });
  it("has no rest where all have a row", () => {
    const view = viewOf(LOGITS, 1);
    expect(rowsOf(view, view.plain, piece, 100).rest).toEqual({
      count: 0,
      exp: 0,
      plain: 0,
      probability: 0,
      share: 0,
      kept: 0,
    });
  });
  it("gives a token's own logit", () => {
    const view = viewOf(LOGITS, 1);
    LOGITS.forEach((logit, id) => {
      const row = rowAt(view, view.plain, piece, placeOf(view.order, id));
      expect([row.logit, row.piece]).toEqual([logit, `p${id}`]);
    });
  });
});

describe("sureness", () => {
  it("of four equal tokens is 2 bits, as unsure as between 4", () => {
    const { bits, perplexity } = sureness(Float64Array.of(0.25, 0.25, 0.25, 0.25, 0));
    expect(bits).toBeCloseTo(2, 14);
    expect(perplexity).toBeCloseTo(4, 12);
  });
});

describe("words", () => {
  it("say what the temperature does", () => {
    expect(temperatureInWords(0)).toContain("greedy");
    expect(temperatureInWords(0.5)).toContain("sharper");
    expect(temperatureInWords(1)).toContain("trained");
    expect(temperatureInWords(2)).toContain("flatter");
  });
  it("say what the cuts leave", () => {
    expect(cutsInWords(AS_IT_IS, 4000, 4000)).toBe(
      "Nothing is cut: all 4\u202f000 tokens may come.",
    );
    expect(cutsInWords({ temperature: 1, topK: 5, topP: 0.9 }, 1, 4000)).toBe(
      "Kept: the 5 most probable, and of them the fewest that reach 0.9 together. " +
        "1 token is left, 3\u202f999 are cut.",
    );
    expect(cutsInWords({ temperature: 1, topK: 5, topP: 1 }, 5, 8)).toContain("5 tokens are left");
  });
  it("say nothing of cuts where greedy leaves one token", () => {
    expect(cutsInWords({ temperature: 0, topK: 0, topP: 1 }, 4000, 4000)).toBe("");
  });
  it("know whether anything was changed", () => {
    expect(isChanged(AS_IT_IS)).toBe(false);
    expect(isChanged({ ...AS_IT_IS, temperature: 0 })).toBe(true);
    expect(isChanged({ ...AS_IT_IS, topK: 1 })).toBe(true);
    expect(isChanged({ ...AS_IT_IS, topP: 0.5 })).toBe(true);
  });
});
