import { describe, expect, it } from "vitest";
import { AS_IT_IS, drawn, entropy, placeOf, ranked, spread, stretch, uniform } from "./rows.ts";

const LOGITS = [0.5, 3.25, -2, 3.25, 1.75, Number.NEGATIVE_INFINITY, -7.5];

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
    expect([...ranked(LOGITS).ids]).toEqual([1, 3, 4, 0, 2, 6, 5]);
  });
  it("keeps the lower of two impossible tokens first", () => {
    const none = Number.NEGATIVE_INFINITY;
    expect([...ranked([none, 1, none]).ids]).toEqual([1, 0, 2]);
  });
  it("tells where a token stands", () => {
    expect(placeOf(ranked(LOGITS), 4)).toBe(2);
    expect(placeOf(ranked(LOGITS), 99)).toBe(-1);
  });
});

describe("spread", () => {
  it.each([0.1, 0.5, 1, 1.7, 3])("is softmax(logits / %d) where nothing is cut", (temperature) => {
    const order = ranked(LOGITS);
    const found = byToken(order.ids, spread(order, { ...AS_IT_IS, temperature }).shares);
    softmax(LOGITS, temperature).forEach((p, id) => {
      expect(found[id]).toBeCloseTo(p, 14);
    });
  });
  it("does not overflow where e^z would", () => {
    const { probabilities } = spread(ranked([5000, 4999]), AS_IT_IS);
    expect(probabilities[0]).toBeCloseTo(1 / (1 + Math.exp(-1)), 14);
  });
  it("leaves the best alone at temperature 0, of equals the lower id", () => {
    const order = ranked(LOGITS);
    const { shares } = spread(order, { ...AS_IT_IS, temperature: 0 });
    expect([...shares]).toEqual([1, 0, 0, 0, 0, 0, 0]);
    expect(order.ids[0]).toBe(1);
  });
  it.each([1, 2, 3, 6])("keeps the %d most probable by top-k, in proportion", (topK) => {
    const order = ranked(LOGITS);
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
    const order = ranked(LOGITS);
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
