import { expect, test } from "vitest";
import { sentences } from "./madeUp.ts";
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
