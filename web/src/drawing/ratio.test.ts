import { expect, it } from "vitest";
import { timesAs } from "./ratio.ts";

it("writes a number of times so that it can be read", () => {
  expect([1.5, 7.389, 6512, 123456, 2.5e9].map(timesAs)).toEqual([
    "1.50",
    "7.39",
    "6500",
    "120000",
    "2.5·10⁹",
  ]);
});
