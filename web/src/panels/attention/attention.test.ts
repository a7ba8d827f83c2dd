import { expect, test } from "vitest";
import { withExtra } from "../../state/address.ts";
import { clampHead } from "../lens/headList.ts";
import { alignsWords, marked, rowInView } from "./inView.ts";
import { sentences, weightsFor } from "./madeUp.ts";
import { largest, readColumn, readRow, shareOn, told } from "./reading.ts";
import { isMasked, isText, labels } from "./tokens.ts";

test("pieces that continue a word have a dot, symbols stay", () => {
  const pieces = ["▁over", "ing", "</s>", "▁", "▁a▁b"].map((piece) => ({ piece }));
  expect(labels(pieces)).toEqual(["over", "·ing", "</s>", "␣", "a␣b"]);
});

test("where pieces are characters there are no dots", () => {
  expect(labels(["a", "b", "▁", "</s>"].map((piece) => ({ piece })))).toEqual([
    "a",
    "b",
    "␣",
    "</s>",
  ]);
});

test("the unknown piece is text, start, end and tags are not", () => {
  expect([0, 1, 2, 3, 4, 19, 20].map(isText)).toEqual([
    false,
    true,
    false,
    false,
    false,
    false,
    true,
  ]);
});

test("only the decoder hides the future, and never the token itself", () => {
  expect(isMasked("decoder", 2, 3)).toBe(true);
  expect(isMasked("decoder", 2, 2)).toBe(false);
  expect(isMasked("encoder", 2, 3)).toBe(false);
  expect(isMasked("cross", 2, 3)).toBe(false);
});

test("each attention has its own rows and columns", () => {
  const sizes = (["encoder", "decoder", "cross"] as const).map((side) => {
    const of = sentences(side);
    return [of.queries.length, of.keys.length, of.written.length];
  });
  expect(sizes).toEqual([
    [4, 4, 0],
    [3, 3, 3],
    [3, 4, 3],
  ]);
});

const model = { encoder_layers: 2, decoder_layers: 3, heads: 4 } as never;

test("a link to a head that this model does not have shows its last one", () => {
  expect(clampHead({ side: "encoder", layer: 5, head: 9 }, model)).toEqual({
    side: "encoder",
    layer: 1,
    head: 3,
  });
  expect(clampHead({ side: "cross", layer: 2, head: 0 }, model)).toMatchObject({ layer: 2 });
});

test("without a choice the row follows the step, but for the encoder, which has no steps", () => {
  expect(rowInView(null, 2, sentences("cross"))).toBe(2);
  expect(rowInView(null, 99, sentences("decoder"))).toBe(2);
  expect(rowInView(null, 2, sentences("encoder"))).toBe(0);
  expect(rowInView(1, 2, sentences("cross"))).toBe(1);
});

test("extra keys are changed one by one", () => {
  expect(withExtra({ a: "1", b: "2" }, { b: null, c: "3" })).toEqual({ a: "1", c: "3" });
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

const NONE: ReadonlySet<number> = new Set();

test("a row is read best first and always adds up to what the network gave", () => {
  for (let seed = 1; seed <= 30; seed++) {
    for (const side of ["encoder", "decoder", "cross"] as const) {
      const of = sentences(side);
      const weights = weightsFor(of, seed);
      of.queries.forEach((_, row) => {
        const found = readRow(weights, row, of, new Set([1]), 2);
        expect(found.total).toBeCloseTo(1, 5);
        const shown = found.top.reduce((sum, one) => sum + one.weight, 0);
        expect(shown + found.others.weight + found.hidden.weight).toBeCloseTo(1, 5);
        expect(found.top.map((one) => one.weight)).toEqual(
          found.top.map((one) => one.weight).sort((a, b) => b - a),
        );
        expect(found.top.map((one) => one.place)).not.toContain(1);
      });
    }
  }
});

test("hiding a column never changes the numbers of the others", () => {
  const of = sentences("cross");
  const weights = weightsFor(of, 7);
  const before = readRow(weights, 1, of, NONE, 9).top.filter((one) => one.place !== 3);
  expect(readRow(weights, 1, of, new Set([3]), 9).top).toEqual(before);
});

test("masked tokens are counted, not listed", () => {
  const of = sentences("decoder");
  const weights = weightsFor(of, 3);
  expect(readRow(weights, 0, of, NONE, 9)).toMatchObject({ masked: 2, top: [{ place: 0 }] });
  expect(readColumn(weights, 2, of, 9)).toMatchObject({ masked: 2, top: [{ place: 2 }] });
});

test("a column holds what all rows give it", () => {
  const of = sentences("cross");
  const weights = weightsFor(of, 5);
  const total = of.keys.reduce(
    (sum, _, column) => sum + readColumn(weights, column, of, 9).total,
    0,
  );
  expect(total).toBeCloseTo(of.queries.length, 5);
});

test("the share on some columns is the mean over rows", () => {
  const weights = { shape: [2, 2], data: Float32Array.of(0.25, 0.75, 0.5, 0.5) };
  expect(shareOn(weights, new Set([0]))).toBe(0.375);
  expect(shareOn(weights, new Set([0, 1]))).toBe(1);
  expect(largest(weights)).toBe(0.75);
});

test("words that occur twice are told apart by their place", () => {
  expect(told(["a", "b", "a"])).toEqual(["a (1)", "b", "a (3)"]);
});
