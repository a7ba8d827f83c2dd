import { expect, it } from "vitest";
import { piecesOf } from "./view.ts";

const trace = { model_hash: "a1", pieces: { 4: "▁cat" } };

it("names tokens by the trace, then by the vocabulary of its model", () => {
  const pieceOf = piecesOf(trace, { hash: "a1", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1, 9].map(pieceOf)).toEqual(["▁cat", "b", "#9"]);
});

it("never names them by the vocabulary of another model", () => {
  const pieceOf = piecesOf(trace, { hash: "b2", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1].map(pieceOf)).toEqual(["▁cat", "#1"]);
  expect(piecesOf(trace, undefined)(1)).toBe("#1");
});
