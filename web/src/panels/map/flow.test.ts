import { expect, test } from "vitest";
import {
  attentionStrip,
  duration,
  eased,
  findState,
  isMoving,
  meanOfRows,
  meanRow,
  phases,
  pooled,
  received,
  relative,
} from "./flow.ts";
import { arrowHead, roundedPath } from "./layout.ts";
import { fitting } from "./scene.ts";

const SHARES = Array.from({ length: 21 }, (_, at) => at / 20);

test("the encoder works in the first step only", () => {
  for (const share of SHARES) {
    expect(findState("encoder", 0.5, 3, phases(3, share))).toBe("kept");
  }
  expect(findState("encoder", 0.5, 0, phases(0, 0))).toBe("waiting");
  expect(findState("encoder", 0.5, 0, phases(0, 1))).toBe("computed");
});

test("the decoder begins when the encoder, or the way back, has ended", () => {
  for (const share of SHARES) {
    const [first, later] = [phases(0, share), phases(4, share)];
    if (first.decoder > 0) expect(first.encoder).toBe(1);
    if (later.decoder > 0) expect(later.feedback).toBe(1);
  }
});

test("all is computed at the end of a step, and nothing of the decoder at its beginning", () => {
  for (const step of [0, 1, 5]) {
    expect(phases(step, 1)).toEqual({ encoder: 1, feedback: 1, decoder: 1 });
    expect(phases(step, 0).decoder).toBe(0);
    for (const reached of [0.1, 0.6, 1]) {
      expect(findState("decoder", reached, step, phases(step, 1))).toBe("computed");
      expect(findState("decoder", reached, step, phases(step, 0))).toBe("waiting");
    }
  }
});

test("phases never go back", () => {
  for (const step of [0, 2]) {
    const all = SHARES.map((share) => phases(step, share));
    for (const name of ["encoder", "feedback", "decoder"] as const) {
      const values = all.map((one) => eased(one[name]));
      expect(values).toEqual([...values].sort((a, b) => a - b));
    }
  }
});

test("movement: a new sentence, one step on, or a new round; nothing else", () => {
  expect(isMoving(null, 0, false)).toBe(true);
  expect(isMoving(null, 4, false)).toBe(false);
  expect(isMoving(2, 3, false)).toBe(true);
  expect(isMoving(3, 2, false)).toBe(false);
  expect(isMoving(2, 6, true)).toBe(false);
  expect(isMoving(8, 0, true)).toBe(true);
  expect(isMoving(1, 0, false)).toBe(false);
});

test("a step is drawn before the player goes on", () => {
  for (const stay of [200, 667, 2000]) expect(duration(1, stay)).toBeLessThan(stay);
  expect(duration(1, Number.POSITIVE_INFINITY)).toBeLessThan(2000);
});

const WEIGHTS = {
  shape: [2, 2, 3],
  data: new Float32Array([1, 0, 0, 0.5, 0.5, 0, 0, 1, 0, 0.25, 0.25, 0.5]),
};

test("a strip is the mean of the heads, of one row and the keys so far", () => {
  expect(meanRow(WEIGHTS, 0, 3)).toEqual([0.5, 0.5, 0]);
  expect(meanRow(WEIGHTS, 1, 2)).toEqual([0.375, 0.375]);
  expect(meanRow(WEIGHTS, 9, 2)).toEqual([]);
});

test("what tokens receive adds up to 1, as every row of a softmax does", () => {
  const all = received(WEIGHTS);
  expect(all).toHaveLength(3);
  expect(all.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 6);
});

test("pooling keeps the largest magnitude with its sign, and no bin is empty", () => {
  expect(pooled([1, -5, 2, 3], 2)).toEqual([-5, 3]);
  expect(pooled([1, 2], 48)).toEqual([1, 2]);
  for (const length of [5, 47, 48, 49, 2048]) {
    const row = Array.from({ length }, (_, at) => Math.sin(at + 1));
    const bins = pooled(row, 48);
    expect(Math.max(...bins.map(Math.abs))).toBe(Math.max(...row.map(Math.abs)));
    expect(bins.every((one) => one !== 0)).toBe(true);
  }
});

test("relative values reach 1, and silence stays silent", () => {
  expect(relative([0.2, 0.4])).toEqual([0.5, 1]);
  expect(relative([0, 0])).toEqual([0, 0]);
  expect(relative([])).toEqual([]);
});

test("the mean of the rows of a table", () => {
  expect(meanOfRows({ shape: [2, 2], data: new Float32Array([1, 2, 3, 6]) })).toEqual([2, 4]);
});

test("tokens that fit: all of a short sentence, one end of a long one, never none", () => {
  const long = Array.from({ length: 60 }, (_, at) => `token${at}`);
  expect(fitting(["a", "b"], 300, 1, "first")).toEqual({ from: 0, to: 2 });
  const first = fitting(long, 300, 1, "first");
  expect(first.from).toBe(0);
  expect(first.to).toBeLessThan(10);
  const last = fitting(long, 300, 1, "last");
  expect(last.to).toBe(60);
  expect(last.from).toBeGreaterThan(50);
  expect(fitting(long, 300, 2, "first").to).toBeGreaterThan(first.to);
  expect(fitting(["x".repeat(200)], 100, 1, "last")).toEqual({ from: 0, to: 1 });
  expect(fitting([], 100, 1, "last").to).toBe(0);
});

test("paths begin and end where the line does, and arrows point at its end", () => {
  const points = [
    { x: 0, y: 0 },
    { x: 40, y: 0 },
    { x: 40, y: 50 },
  ];
  const path = roundedPath(points, 10);
  expect(path.startsWith("M0 0")).toBe(true);
  expect(path.endsWith("L40 50")).toBe(true);
  expect(path).toContain("Q40 0");
  expect(arrowHead(points, 7).startsWith("M40 50")).toBe(true);
  expect(arrowHead([], 7)).toBe("");
});

test("the strip of an attention: the source once, of the target the keys so far", () => {
  const token = { id: 1, piece: "a", start: 0, end: 1 };
  const trace = { source_tokens: [token, token, token], target_tokens: [token, token] };
  const cross = attentionStrip(trace, "decoder.0.cross_attention.weights", 1, WEIGHTS);
  expect(cross.values).toEqual([0.75, 0.75, 0.5].map((one) => one / 0.75));
  expect(cross).toMatchObject({ slots: 3, computed: 3 });
  const first = attentionStrip(trace, "decoder.0.cross_attention.weights", 0, WEIGHTS);
  expect(first.computed).toBe(0);
  const own = attentionStrip(trace, "decoder.0.self_attention.weights", 1, WEIGHTS);
  expect(own.values).toHaveLength(2);
  expect(own).toMatchObject({ slots: 2, computed: 1 });
  const encoder = attentionStrip(trace, "encoder.0.self_attention.weights", 1, WEIGHTS);
  expect(encoder.values).toEqual(relative(received(WEIGHTS)));
});
