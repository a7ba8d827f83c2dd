import { expect, test } from "vitest";
import type { HeadId } from "../../api/types.ts";
import { byName, largest, type Measuring, measure, ranked } from "./headLosses.ts";

const heads: HeadId[] = [
  { side: "encoder", layer: 0, head: 0 },
  { side: "cross", layer: 1, head: 1 },
  { side: "cross", layer: 1, head: 2 },
];
const logProbs: Record<string, number> = { encoder0: -3, cross1: -9, cross2: -1.5 };
const ask = async ([head]: HeadId[]) =>
  head ? (logProbs[`${head.side}${head.head}`] as number) : -2;

async function all(): Promise<Measuring[]> {
  const seen: Measuring[] = [];
  for await (const now of measure("It sleeps.", heads, ask)) {
    seen.push(now);
  }
  return seen;
}

test("every head is compared with the whole network on the same translation", async () => {
  const seen = await all();
  expect(seen.map(({ losses }) => losses.length)).toEqual([0, 1, 2, 3]);
  expect(seen.every(({ whole, total }) => whole === -2 && total === 3)).toBe(true);
  expect(seen.at(-1)?.losses.map(({ loss }) => loss)).toEqual([1, 7, -0.5]);
});

test("what was told before is not changed by what comes later", async () => {
  const [first] = await all();
  expect(first?.losses).toEqual([]);
});

test("the head that matters most comes first, one that stands in the way last", async () => {
  const losses = (await all()).at(-1)?.losses ?? [];
  expect(ranked(losses).map(({ head }) => head.head)).toEqual([1, 0, 2]);
  expect(largest(losses)).toBe(7);
  expect(byName(losses).get("cross 1.2")?.logProb).toBe(-1.5);
});

test("a failed request ends the measuring with its error", async () => {
  const failing = async (without: HeadId[]) => {
    if (without.length > 0) {
      throw new Error("429");
    }
    return -2;
  };
  const measuring = measure("It sleeps.", heads, failing);
  await measuring.next();
  await expect(measuring.next()).rejects.toThrow("429");
});
