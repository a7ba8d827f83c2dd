import { describe, expect, it } from "vitest";
import type { Trace } from "../../api/types.ts";
import { parseWhole, withExtra } from "../../state/address.ts";
import { comparedTokens, logitParts } from "./parts.ts";
import {
  AS_IT_IS,
  buildRows,
  describeCuts,
  describeTemperature,
  drawn,
  entropy,
  findPlace,
  isChanged,
  ranked,
  rowAt,
  spread,
  stretch,
  sureness,
  uniform,
} from "./rows.ts";
import {
  barsPath,
  embeddedRow,
  getPieceNames,
  prefixWith,
  productOf,
  type StepView,
} from "./view.ts";

const trace = { model_hash: "a1", pieces: { 4: "▁cat" } };

it("names tokens by the trace, then by the vocabulary of its model", () => {
  const pieceOf = getPieceNames(trace, { hash: "a1", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1, 9].map(pieceOf)).toEqual(["▁cat", "b", "#9"]);
});

it("never names them by the vocabulary of another model", () => {
  const pieceOf = getPieceNames(trace, { hash: "b2", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1].map(pieceOf)).toEqual(["▁cat", "#1"]);
  expect(getPieceNames(trace, undefined)(1)).toBe("#1");
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
  expect(parseWhole("12", 100, 7)).toBe(12);
  expect(parseWhole("120", 100, 7)).toBe(100);
  for (const word of [undefined, "", "-1", "1.5", "x", "1e9", "99999999999"]) {
    expect(parseWhole(word, 100, 7)).toBe(7);
    expect(parseWhole(word, 100, null)).toBeNull();
  }
});

const embedding = { shape: [2, 4], data: Float32Array.of(7, 7, 7, 7, 2, -4, 6, 8) };

describe("productOf", () => {
  it("multiplies a state with the row of the token read next, √d_model taken out", () => {
    const found = productOf([1, 2, -1, 0.5], embeddedRow(embedding, 0) ?? []);
    expect([...(found?.row ?? [])]).toEqual([1, -2, 3, 4]);
    expect([...(found?.products ?? [])]).toEqual([1, -4, -3, 2]);
    expect(found?.logit).toBe(-4);
  });
  it("knows no row for the last token, which nothing reads", () => {
    expect(embeddedRow(embedding, 1)).toBeUndefined();
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
    written: findPlace(order, writtenId),
  };
}

const LOGITS = [1, 5, 3, -2, 4, 0, 2];
const piece = (id: number) => `p${id}`;

describe("buildRows", () => {
  it("has the best first, then the written one, and the rest makes it whole", () => {
    const view = viewOf(LOGITS, 3);
    const now = spread(view.order, { temperature: 2, topK: 5, topP: 1 });
    const { rows, rest } = buildRows(view, now, piece, 3);
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
    expect(buildRows(view, view.plain, piece, 100).rest).toEqual({
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
      const row = rowAt(view, view.plain, piece, findPlace(view.order, id));
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
    expect(describeTemperature(0)).toContain("greedy");
    expect(describeTemperature(0.5)).toContain("sharper");
    expect(describeTemperature(1)).toContain("trained");
    expect(describeTemperature(2)).toContain("flatter");
  });
  it("say what the cuts leave", () => {
    expect(describeCuts(AS_IT_IS, 4000, 4000)).toBe(
      "Nothing is cut: all 4\u202f000 tokens are possible.",
    );
    expect(describeCuts({ temperature: 1, topK: 5, topP: 0.9 }, 1, 4000)).toBe(
      "Kept: the 5 most probable, and of them the fewest that reach 0.9 together. " +
        "1 token is left, 3\u202f999 are cut.",
    );
    expect(describeCuts({ temperature: 1, topK: 5, topP: 1 }, 5, 8)).toContain("5 tokens are left");
  });
  it("say nothing of cuts where greedy leaves one token", () => {
    expect(describeCuts({ temperature: 0, topK: 0, topP: 1 }, 4000, 4000)).toBe("");
  });
  it("know whether anything was changed", () => {
    expect(isChanged(AS_IT_IS)).toBe(false);
    expect(isChanged({ ...AS_IT_IS, temperature: 0 })).toBe(true);
    expect(isChanged({ ...AS_IT_IS, topK: 1 })).toBe(true);
    expect(isChanged({ ...AS_IT_IS, topP: 0.5 })).toBe(true);
  });
});

const UNRANKED = [0.5, 3.25, -2, 3.25, 1.75, Number.NEGATIVE_INFINITY, -7.5];

/** The definition, token by token, without an order and without a shift. */
function softmax(logits: number[], temperature: number): number[] {
  const exps = logits.map((z) => Math.exp(z / temperature));
  const total = exps.reduce((a, b) => a + b, 0);
  return exps.map((e) => e / total);
}

function byToken(ids: Int32Array, values: Float64Array): number[] {
  const found = new Array<number>(ids.length);
  ids.forEach((id, place) => {
    found[id] = values[place] as number;
  });
  return found;
}

describe("ranked", () => {
  it("puts the highest first, of equals the lower id, −∞ last", () => {
    expect([...ranked(UNRANKED).ids]).toEqual([1, 3, 4, 0, 2, 6, 5]);
  });
  it("keeps the lower of two impossible tokens first", () => {
    const none = Number.NEGATIVE_INFINITY;
    expect([...ranked([none, 1, none]).ids]).toEqual([1, 0, 2]);
  });
  it("tells where a token stands", () => {
    expect(findPlace(ranked(UNRANKED), 4)).toBe(2);
    expect(findPlace(ranked(UNRANKED), 99)).toBe(-1);
  });
});

describe("spread", () => {
  it.each([0.1, 0.5, 1, 1.7, 3])("is softmax(logits / %d) where nothing is cut", (temperature) => {
    const order = ranked(UNRANKED);
    const found = byToken(order.ids, spread(order, { ...AS_IT_IS, temperature }).shares);
    softmax(UNRANKED, temperature).forEach((p, id) => {
      expect(found[id]).toBeCloseTo(p, 14);
    });
  });
  it("does not overflow where e^z would", () => {
    const { probabilities } = spread(ranked([5000, 4999]), AS_IT_IS);
    expect(probabilities[0]).toBeCloseTo(1 / (1 + Math.exp(-1)), 14);
  });
  it("leaves the best alone at temperature 0, of equals the lower id", () => {
    const order = ranked(UNRANKED);
    const { shares } = spread(order, { ...AS_IT_IS, temperature: 0 });
    expect([...shares]).toEqual([1, 0, 0, 0, 0, 0, 0]);
    expect(order.ids[0]).toBe(1);
  });
  it.each([1, 2, 3, 6])("keeps the %d most probable by top-k, in proportion", (topK) => {
    const order = ranked(UNRANKED);
    const { shares, probabilities, kept, keptProbability } = spread(order, { ...AS_IT_IS, topK });
    const whole = [...probabilities].slice(0, topK).reduce((a, b) => a + b, 0);
    expect(kept).toBe(topK);
    expect(keptProbability).toBeCloseTo(whole, 14);
    expect([...shares].reduce((a, b) => a + b, 0)).toBeCloseTo(1, 14);
    expect([...shares].slice(topK).every((share) => share === 0)).toBe(true);
    expect((shares[0] as number) / (probabilities[0] as number)).toBeCloseTo(1 / whole, 12);
  });
  it("keeps the fewest tokens that reach top-p", () => {
    const order = ranked([0.45, 0.25, 0.15, 0.08, 0.07].map(Math.log));
    const kept = (topP: number) => spread(order, { ...AS_IT_IS, topP }).kept;
    expect([0.01, 0.44, 0.46, 0.69, 0.71, 0.84, 0.99, 1].map(kept)).toEqual([
      1, 1, 2, 2, 3, 3, 5, 5,
    ]);
  });
  it("lets the tighter of the two cuts decide", () => {
    const order = ranked([0.45, 0.25, 0.15, 0.08, 0.07].map(Math.log));
    expect(spread(order, { temperature: 1, topK: 2, topP: 0.99 }).kept).toBe(2);
    expect(spread(order, { temperature: 1, topK: 4, topP: 0.5 }).kept).toBe(2);
  });
  it("judges the cuts after the temperature", () => {
    const order = ranked([0.6, 0.2, 0.2].map(Math.log));
    expect(spread(order, { temperature: 0.5, topK: 0, topP: 0.7 }).kept).toBe(1);
    expect(spread(order, { temperature: 1, topK: 0, topP: 0.7 }).kept).toBe(2);
  });
});

describe("entropy", () => {
  it("is ln n of n equal tokens, and 0 of a certain one", () => {
    expect(entropy(new Float64Array(8).fill(1 / 8))).toBeCloseTo(Math.log(8), 14);
    expect(entropy(Float64Array.of(1, 0, 0))).toBe(0);
  });
  it("falls with the temperature", () => {
    const order = ranked(UNRANKED);
    const at = (temperature: number) => entropy(spread(order, { ...AS_IT_IS, temperature }).shares);
    expect([0, 0.3, 1, 3].map(at)).toEqual([...[0, 0.3, 1, 3].map(at)].sort((a, b) => a - b));
  });
});

describe("a draw", () => {
  it("lies in [0, 1), the same for the same seed and step", () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const number = uniform(seed, 3);
      expect(number).toBeGreaterThanOrEqual(0);
      expect(number).toBeLessThan(1);
      expect(uniform(seed, 3)).toBe(number);
      expect(uniform(seed, 4)).not.toBe(number);
    }
  });
  it("falls on each token as often as its share says", () => {
    const shares = Float64Array.of(0.5, 0.3, 0.2, 0);
    const counts = [0, 0, 0, 0];
    const draws = 20_000;
    for (let seed = 0; seed < draws; seed += 1) {
      const place = drawn(shares, uniform(seed, 0));
      counts[place] = (counts[place] as number) + 1;
    }
    shares.forEach((share, place) => {
      // five standard deviations of a binomial count
      const wide = 5 * Math.sqrt((share * (1 - share)) / draws) + 1e-12;
      expect(Math.abs((counts[place] as number) / draws - share)).toBeLessThanOrEqual(wide);
    });
  });
  it("never falls on what was cut, not even at the end", () => {
    const third = 1 / 3;
    expect(drawn(Float64Array.of(third, third, 0.3333333333, 0, 0), 1 - 2 ** -53)).toBe(2);
    expect(drawn(Float64Array.of(0, 1), 0)).toBe(1);
  });
  it("falls inside the stretch of its token", () => {
    const shares = Float64Array.of(0.5, 0.3, 0.2);
    for (let seed = 0; seed < 100; seed += 1) {
      const number = uniform(seed, 1);
      const [from, to] = stretch(shares, drawn(shares, number));
      expect(from).toBeLessThanOrEqual(number);
      expect(to).toBeGreaterThan(number);
    }
  });
});

describe("the parts of a logit", () => {
  const model = { decoder_layers: 2, heads: 2 };
  // embedding, then per layer two heads of each attention and the feed-forward network, constants
  const own = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
  const other = own.map((value) => value / 2);
  const shares = { shape: [2, 12], data: Float32Array.from([...own, ...other]) };
  it("stand in the order of the library, and sum to the logit", () => {
    const found = logitParts(shares, model, 0, null);
    expect(found.embedding).toBe(1);
    expect(found.constants).toBe(12);
    expect(found.layers[1]?.map(({ value }) => value)).toEqual([7, 8, 9, 10, 11]);
    expect(found.layers[1]?.[2]?.head).toEqual({ side: "cross", layer: 1, head: 0 });
    expect(found.layers[0]?.[4]?.head).toBeNull();
    expect(found.total).toBe(78);
  });
  it("are subtracted one by one from those of another token", () => {
    expect(logitParts(shares, model, 0, 1).total).toBe(39);
    expect(logitParts(shares, model, 0, 1).layers[0]?.[0]?.value).toBe(1);
  });
  it("are those of the written token and its rivals, each once", () => {
    const token = { id: 7, piece: "a", start: 0, end: 1 };
    const top = [9, 7].map((id) => ({ id, piece: `#${id}`, log_prob: -1 }));
    const found = comparedTokens({ token, log_prob: -2, rank: 2, entropy: 1, top });
    expect(found.map(({ row, token: { id } }) => [row, id])).toEqual([
      [0, 7],
      [1, 9],
    ]);
  });
});
