import { describe, expect, it } from "vitest";
import { prefixWith } from "./forcing.ts";

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
