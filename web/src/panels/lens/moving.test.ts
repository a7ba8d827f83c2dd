import { expect, test } from "vitest";
import { moved } from "./moving.ts";

test("arrow keys move by one and stop at the edges", () => {
  expect(moved({ row: 1, column: 1 }, "ArrowUp", 3, 4)).toEqual({ row: 0, column: 1 });
  expect(moved({ row: 0, column: 1 }, "ArrowUp", 3, 4)).toEqual({ row: 0, column: 1 });
  expect(moved({ row: 2, column: 3 }, "ArrowDown", 3, 4)).toEqual({ row: 2, column: 3 });
  expect(moved({ row: 2, column: 3 }, "ArrowLeft", 3, 4)).toEqual({ row: 2, column: 2 });
  expect(moved({ row: 2, column: 1 }, "ArrowRight", 3, 4)).toEqual({ row: 2, column: 2 });
});

test("Home and End stay in the row, other keys mean nothing", () => {
  expect(moved({ row: 2, column: 1 }, "End", 3, 4)).toEqual({ row: 2, column: 3 });
  expect(moved({ row: 2, column: 1 }, "Home", 3, 4)).toEqual({ row: 2, column: 0 });
  expect(moved({ row: 2, column: 1 }, "x", 3, 4)).toBe(null);
});
