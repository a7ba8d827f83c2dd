import { expect, test } from "vitest";
import { sentences } from "./madeUp.ts";
import { marked } from "./marked.ts";

test("a word of self-attention is a row and a column, one of cross-attention only one of them", () => {
  expect(marked({ stream: "source", index: 1 }, sentences("encoder"))).toEqual({
    row: 1,
    column: 1,
  });
  expect(marked({ stream: "target", index: 1 }, sentences("cross"))).toEqual({ row: 1 });
  expect(marked({ stream: "source", index: 3 }, sentences("cross"))).toEqual({ column: 3 });
});

test("a word that is not part of an attention marks nothing", () => {
  expect(marked({ stream: "target", index: 1 }, sentences("encoder"))).toBeNull();
  expect(marked({ stream: "target", index: 3 }, sentences("cross"))).toBeNull();
  expect(marked(null, sentences("cross"))).toBeNull();
});
