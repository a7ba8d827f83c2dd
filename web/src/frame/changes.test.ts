import { expect, test } from "vitest";
import type { Step } from "../api/types.ts";
import { forcedPieces } from "./Changes.tsx";

const steps = [4, 5].map((id) => ({ token: { id, piece: `▁${id}` } })) as Step[];

test("forced tokens have their own names while the trace is still of another beginning", () => {
  expect(forcedPieces([4, 5], { steps, pieces: {} })).toEqual(["▁4", "▁5"]);
  expect(forcedPieces([4, 9], { steps, pieces: { 9: "▁nine" } })).toEqual(["▁4", "▁nine"]);
  expect(forcedPieces([4, 9], { steps, pieces: {} })).toEqual(["▁4", " 9"]);
  expect(forcedPieces([4], undefined)).toEqual([" 4"]);
});
