import { expect, test } from "vitest";
import { isInView } from "./arcsPaint.ts";

const curve = (from: number, to: number) => ({
  row: 0,
  column: 1,
  weight: 0.5,
  points: [from, 0, from, 9, to, 9, to, 0] as const,
});

test("lines that begin, end or pass over what is on the screen are drawn, others are not", () => {
  const view = { left: 1000, width: 500 };
  for (const [from, to] of [
    [1200, 1300],
    [200, 1100],
    [1400, 3000],
    [3000, 100],
  ] as const) {
    expect(isInView(curve(from, to), view)).toBe(true);
  }
  expect(isInView(curve(100, 900), view)).toBe(false);
  expect(isInView(curve(2000, 1600), view)).toBe(false);
});
