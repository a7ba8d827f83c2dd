import { expect, test } from "vitest";
import { sentences, weightsFor } from "./madeUp.ts";
import { meanOfHeads, rolloutAcross, rolloutOfStack } from "./whole.ts";

const rowSums = (table: { shape: number[]; data: Float32Array }) => {
  const width = table.shape[1] ?? 1;
  return Array.from({ length: table.shape[0] ?? 0 }, (_, row) =>
    table.data.subarray(row * width, (row + 1) * width).reduce((sum, one) => sum + one, 0),
  );
};

test("the mean of heads is the mean of each cell", () => {
  const two = { shape: [2, 1, 2], data: Float32Array.of(1, 0, 0.5, 0.5) };
  expect([...meanOfHeads(two).data]).toEqual([0.75, 0.25]);
});

test("rollout of one layer keeps half of each position", () => {
  const all = { shape: [2, 2], data: Float32Array.of(0, 1, 0, 1) };
  expect([...rolloutOfStack([all]).data]).toEqual([0.5, 0.5, 0, 1]);
});

test("later layers multiply from the left", () => {
  const swap = { shape: [2, 2], data: Float32Array.of(0, 1, 1, 0) };
  const first = { shape: [2, 2], data: Float32Array.of(1, 0, 1, 0) };
  // mixes: swap → [[.5,.5],[.5,.5]], first → [[1,0],[.5,.5]]
  expect([...rolloutOfStack([first, swap]).data]).toEqual([0.75, 0.25, 0.75, 0.25]);
  expect([...rolloutOfStack([swap, first]).data]).toEqual([0.5, 0.5, 0.5, 0.5]);
});

test("every row of a rollout sums to 1, across too", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const own = (side: "encoder" | "decoder" | "cross") => [
      weightsFor(sentences(side), seed),
      weightsFor(sentences(side), seed + 100),
    ];
    const memory = rolloutOfStack(own("encoder"));
    const across = rolloutAcross(memory, own("decoder"), own("cross"));
    for (const sum of [...rowSums(memory), ...rowSums(across)]) expect(sum).toBeCloseTo(1, 5);
    expect(across.shape).toEqual([3, 4]);
  }
});
