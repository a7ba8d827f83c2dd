import { expect, it } from "vitest";
import { piecesOf } from "./view.ts";

const trace = { model_name: "fr-en", pieces: { 4: "▁cat" } };

it("names tokens by the trace, then by the vocabulary of its model", () => {
  const pieceOf = piecesOf(trace, { model: "fr-en", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1, 9].map(pieceOf)).toEqual(["▁cat", "b", "#9"]);
});

it("never names them by the vocabulary of another model", () => {
  const pieceOf = piecesOf(trace, { model: "de-en", pieces: ["a", "b", "c", "d", "e"] });
  expect([4, 1].map(pieceOf)).toEqual(["▁cat", "#1"]);
  expect(piecesOf(trace, undefined)(1)).toBe("#1");
});
