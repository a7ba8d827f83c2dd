import { expect, test } from "vitest";
import { duration, eased, isMoving, phases, stateOf } from "./flow.ts";

const SHARES = Array.from({ length: 21 }, (_, at) => at / 20);

test("the encoder works in the first step only", () => {
  for (const share of SHARES) {
    expect(stateOf("encoder", 0.5, 3, phases(3, share))).toBe("kept");
  }
  expect(stateOf("encoder", 0.5, 0, phases(0, 0))).toBe("waiting");
  expect(stateOf("encoder", 0.5, 0, phases(0, 1))).toBe("computed");
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
      expect(stateOf("decoder", reached, step, phases(step, 1))).toBe("computed");
      expect(stateOf("decoder", reached, step, phases(step, 0))).toBe("waiting");
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
