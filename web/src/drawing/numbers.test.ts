import { expect, it, test } from "vitest";
import { extent, neighbour, powers, share, summary, tickLabel, ticks } from "./Lines.tsx";
import { counted, printed, readOff, timesAs } from "./Number.tsx";
import { isSymbol, joins, plain, spoken, written } from "./pieces.ts";

test("numbers as a book prints them", () => {
  expect(printed(-1.23456)).toBe("−1.235");
  expect(printed(-0.0001)).toBe("0.000");
  expect(printed(Number.NEGATIVE_INFINITY)).toBe("−∞");
  expect(printed(Number.NaN)).toBe("–");
  expect(printed(2, 0)).toBe("2");
  expect(counted(1234567)).toBe("1\u202f234\u202f567");
  expect(counted(0.123456)).toBe("0.1235");
});

test("small numbers keep the digits that count, on the screen and for a screen reader", () => {
  expect([0.0003, 0.00012346, 0.5, 0].map(readOff)).toEqual(["0.0003", "0.0001235", "0.5", "0"]);
  expect([-0.25, 1e-7, 12.3456, Number.NaN].map(readOff)).toEqual(["−0.25", "1e−7", "12.346", "–"]);
  const lines = [{ name: "learning rate", points: [[100, 0.0003] as const] }];
  expect(summary({ lines })).toBe("learning rate: last 0.0003 at 100");
});

test("pieces for people", () => {
  expect(["▁chat", "ort", "</s>", "▁", "<2en>"].map(plain)).toEqual([
    "chat",
    "ort",
    "</s>",
    "␣",
    "<2en>",
  ]);
  expect(["</s>", "<", "<>", "a<b>"].map(isSymbol)).toEqual([true, false, false, false]);
  expect(spoken("ort")).toBe("ort, joined to what is before");
  expect(spoken("</s>")).toBe("symbol end");
  expect(joins(["▁d", "ort", "▁sur", ".", "</s>"])).toEqual([false, true, false, true, false]);
  expect(joins([" black", " cat", "s"])).toEqual([false, false, true]);
  expect(plain(" cat")).toBe("cat");
  expect(written(["▁He", "▁d", "ort", ".", "</s>"])).toBe("He dort. </s>");
  expect(written([" black", " cat", "s"])).toBe("black cats");
});

test("ticks are round, inside the ends, and not too many", () => {
  for (const [low, high] of [
    [0, 1],
    [-3.2, 7.9],
    [1e-6, 3e-4],
    [0, 123456],
  ] as const) {
    for (const most of [2, 4, 8]) {
      const found = ticks(low, high, most);
      expect(found.length).toBeLessThanOrEqual(most + 1);
      expect(Math.min(...found)).toBeGreaterThanOrEqual(low);
      expect(Math.max(...found)).toBeLessThanOrEqual(high);
      for (const tick of found) expect(String(tick).length).toBeLessThan(9);
    }
  }
  expect(ticks(5, 5)).toEqual([5]);
  expect(powers(0.5, 200)).toEqual([1, 10, 100]);
});

test("places on an axis", () => {
  expect(share(5, 0, 10)).toBe(0.5);
  expect(share(10, 1, 100, true)).toBeCloseTo(0.5);
  expect(extent([3, Number.NaN, -1, Number.POSITIVE_INFINITY])).toEqual([-1, 3]);
  expect(extent([])).toEqual([0, 1]);
  expect([0, 20000, 2e6, 0.0001, -5].map(tickLabel)).toEqual(["0", "20k", "2M", "1e−4", "−5"]);
});

test("arrow keys on a chart go from point to point of any line", () => {
  const lines = [
    { name: "a", points: [[1, 0] as const, [5, 0] as const] },
    { name: "b", points: [[3, 0] as const] },
  ];
  expect(neighbour(lines, null, 1)).toBe(1);
  expect(neighbour(lines, 1, 1)).toBe(3);
  expect(neighbour(lines, 5, -1)).toBe(3);
  expect(neighbour(lines, 5, 1)).toBe(5);
});

it("writes a number of times so that it can be read", () => {
  expect([1.5, 7.389, 6512, 123456, 2.5e9].map(timesAs)).toEqual([
    "1.50",
    "7.39",
    "6500",
    "120000",
    "2.5·10⁹",
  ]);
});
