import { describe, expect, it } from "vitest";
import { barsPath, productAt } from "./logit.ts";

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
