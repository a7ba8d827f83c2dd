import { expect, test } from "vitest";
import { moveCell } from "./cursor.ts";
import { PAGES } from "./Matrix.tsx";
import { cellAt, layout, readCells } from "./matrixPaint.ts";

const SIZES = [1, 2, 7, 60, 200];

test("every cell is found where it lies, at any size and any screen", () => {
  for (const rows of SIZES) {
    for (const columns of SIZES) {
      for (const ratio of [1, 1.25, 2, 3]) {
        const at = layout({
          rows,
          columns,
          rowLabels: 40,
          columnLabels: 60,
          available: 600,
          size: "large",
          ratio,
        });
        expect(Number.isInteger(Math.round(at.cell * ratio * 1e6) / 1e6)).toBe(true);
        for (const [row, column] of [
          [0, 0],
          [rows - 1, columns - 1],
        ] as const) {
          const x = at.left + (column + 0.5) * at.cell;
          const y = at.top + (row + 0.5) * at.cell;
          expect(cellAt(at, x, y)).toEqual({ row, column });
        }
        expect(cellAt(at, at.left - 1, at.top + 1)).toBeNull();
        expect(cellAt(at, at.left + columns * at.cell + 0.1, at.top + 1)).toBeNull();
      }
    }
  }
});

test("it fits where it can, and scrolls where cells would be too small to point at", () => {
  const input = { rows: 5, rowLabels: 40, columnLabels: 40, size: "large" as const, ratio: 1 };
  const fits = layout({ ...input, columns: 10, available: 500 });
  expect(fits.width).toBeLessThanOrEqual(500);
  const wide = layout({ ...input, columns: 100, available: 300 });
  expect(wide.cell).toBe(15);
  expect(wide.width).toBeGreaterThan(300);
});

test("the cursor stays inside", () => {
  const from = { row: 0, column: 2 };
  expect(moveCell("ArrowUp", from, 4, 3)).toEqual(from);
  expect(moveCell("ArrowRight", from, 4, 3)).toEqual(from);
  expect(moveCell("ArrowDown", from, 4, 3)).toEqual({ row: 1, column: 2 });
  expect(moveCell("Home", from, 4, 3)).toEqual({ row: 0, column: 0 });
  expect(moveCell("PageDown", from, 4, 3, PAGES)).toEqual({ row: 3, column: 2 });
  expect(moveCell("x", from, 4, 3)).toBeNull();
});

test("cells: masked ones, −∞ and NaN have no shade", () => {
  const values = [0, 0.5, 1, Number.NEGATIVE_INFINITY, Number.NaN, 0.25];
  const cells = readCells(
    {
      value: (row, column) => values[row * 3 + column] ?? 0,
      masked: (row, column) => row === 0 && column === 2,
      print: (row, column) => `${row}${column}`,
      range: [0, 1],
    },
    2,
    3,
  );
  expect([...cells.levels]).toEqual([0, 24, 255, 255, 255, 12]);
  expect(cells.words).toEqual(["00", "01", "", "", "", "12"]);
});
