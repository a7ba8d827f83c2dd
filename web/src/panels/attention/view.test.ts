import { expect, test } from "vitest";
import { sentences } from "./madeUp.ts";
import { alignsWords, extraWith, headInView, marked, rowInView } from "./view.ts";

const model = { encoder_layers: 2, decoder_layers: 3, heads: 4 } as never;

test("a link to a head that this model does not have shows its last one", () => {
  expect(headInView({ side: "encoder", layer: 5, head: 9 }, { model })).toEqual({
    side: "encoder",
    layer: 1,
    head: 3,
  });
  expect(headInView({ side: "cross", layer: 2, head: 0 }, { model })).toMatchObject({ layer: 2 });
});

test("without a choice the row follows the step, but for the encoder, which has no steps", () => {
  expect(rowInView(null, 2, sentences("cross"))).toBe(2);
  expect(rowInView(null, 99, sentences("decoder"))).toBe(2);
  expect(rowInView(null, 2, sentences("encoder"))).toBe(0);
  expect(rowInView(1, 2, sentences("cross"))).toBe(1);
});

test("extra keys are changed one by one", () => {
  expect(extraWith({ extra: { a: "1", b: "2" } }, { b: null, c: "3" })).toEqual({ a: "1", c: "3" });
});

test("only heads of cross-attention align words", () => {
  const trace = { alignment_heads: [[1, 2]] as [number, number][] };
  expect(alignsWords(trace, { side: "cross", layer: 1, head: 2 })).toBe(true);
  expect(alignsWords(trace, { side: "cross", layer: 2, head: 1 })).toBe(false);
  expect(alignsWords(trace, { side: "encoder", layer: 1, head: 2 })).toBe(false);
});

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
