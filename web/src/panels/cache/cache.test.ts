import { describe, expect, test } from "vitest";
import type { CacheUsage, SearchTree } from "../../api/types.ts";
import { accountStep, accountTable, factor, formatBytes, running } from "./account.ts";
import { rowsAt, singleRow } from "./RowsFigure.tsx";
import { runs, triangle } from "./TriangleFigure.tsx";

/** An account of this many steps with this many rows; numbers are made up but consistent. */
function account(steps: number, rows: number): CacheUsage {
  return {
    source_positions: 5,
    source_bytes: 100,
    steps: Array.from({ length: steps }, (_, at) => ({
      rows,
      length: at + 1,
      computed: rows,
      reused: rows * at,
      bytes: 1000 * rows,
      multiplications: 10 * rows,
      without_cache: 10 * rows * (at + 1),
    })),
  };
}

describe("the account", () => {
  test("sums go up to each step, and the last one is all", () => {
    const sums = running(account(4, 3));
    expect(sums.map((one) => one.computed)).toEqual([3, 6, 9, 12]);
    expect(sums.map((one) => one.reused)).toEqual([0, 3, 9, 18]);
    expect(sums.at(-1)?.multiplications).toBe(120);
    expect(sums.at(-1)?.withoutCache).toBe(300);
    expect(sums.at(-1)?.bytes).toBe(3100);
  });

  test("the factor is how many times the work would be", () => {
    expect(factor(running(account(4, 3)).at(-1))).toBe(2.5);
    expect(factor(running(account(1, 1))[0])).toBe(1);
    expect(factor(undefined)).toBe(1);
  });

  test("the player's step is never beyond the search's", () => {
    expect(accountStep(account(3, 1), 9)).toBe(2);
    expect(accountStep(account(3, 1), -1)).toBe(0);
  });

  test("the table has the trace's own numbers in one row per step", () => {
    const { columns, rows } = accountTable(account(3, 2));
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toHaveLength(columns.length);
    expect(rows.map((row) => row[columns.indexOf("step")])).toEqual([1, 2, 3]);
    expect(rows[2]?.[columns.indexOf("reused")]).toBe(4);
    expect(rows[2]?.[columns.indexOf("without cache so far")]).toBe(120);
  });

  test("bytes in the unit that fits", () => {
    expect(formatBytes(640)).toBe("640 bytes");
    expect(formatBytes(40_960)).toBe("41.0 kB");
    expect(formatBytes(262_144_000)).toBe("262.1 MB");
  });
});

describe("the triangle", () => {
  test.each([
    [1, 1, 320],
    [9, 4, 900],
    [60, 4, 900],
    [60, 16, 320],
  ])("%i steps of %i rows in %i px: everything inside, nothing over another", (steps, rows, px) => {
    const place = triangle(steps, px);
    const all = runs(account(steps, rows), place);
    const drawn = all.filter((run) => run.kind === "computed" && run.step === 0).length;
    expect([1, rows]).toContain(drawn);
    expect(all).toHaveLength(steps * (1 + drawn) + (steps - 1) * drawn);
    expect(place.height).toBeLessThan(620);
    const outside = all.filter(
      (run) =>
        run.x + run.width > place.width ||
        run.y + run.height > place.height ||
        run.width <= 0 ||
        run.height <= 0,
    );
    expect(outside).toEqual([]);
    for (const one of all.filter((run) => run.kind === "computed")) {
      const pale = all.find(
        (run) => run.kind === "reused" && run.step === one.step && run.row === one.row,
      );
      expect(pale === undefined).toBe(one.step === 0);
      if (pale) expect(pale.x + pale.width).toBeLessThanOrEqual(one.x);
    }
  });
});

/**
 *     0 <s> ─┬─ 1 (10) ─┬─ 3 (30) ─── 6 </s>
 *            │          └─ 4 (40)
 *            └─ 2 (20) ─── 5 dropped
 */
const TREE: SearchTree = {
  nodes: [
    { step: 0, parent: null, token: 2, log_prob: 0, score: 0, status: "kept" },
    { step: 1, parent: 0, token: 10, log_prob: 0, score: 0, status: "kept" },
    { step: 1, parent: 0, token: 20, log_prob: 0, score: 0, status: "kept" },
    { step: 2, parent: 1, token: 30, log_prob: 0, score: 0, status: "kept" },
    { step: 2, parent: 1, token: 40, log_prob: 0, score: 0, status: "kept" },
    { step: 2, parent: 2, token: 50, log_prob: 0, score: 0, status: "dropped" },
    { step: 3, parent: 3, token: 3, log_prob: 0, score: 0, status: "finished" },
  ],
  results: [6],
  stopped: "end",
};

describe("the rows of a step", () => {
  test("the first step has one hypothesis; the other rows are empty", () => {
    const rows = rowsAt(TREE, 0, 2);
    expect(rows.map((row) => row.entries.map((entry) => entry.token))).toEqual([[2], []]);
  });

  test("each row has its own past, and only its newest position is computed", () => {
    const rows = rowsAt(TREE, 2, 2);
    expect(rows.map((row) => row.entries.map((entry) => entry.token))).toEqual([
      [2, 10, 30],
      [2, 10, 40],
    ]);
    for (const row of rows) {
      expect(row.entries.map((entry) => entry.computed)).toEqual([false, false, true]);
    }
  });

  test("a common past is one entry of the cache, read by both", () => {
    const [first, second] = rowsAt(TREE, 2, 2);
    expect(first?.entries.map((entry) => entry.readers)).toEqual([2, 2, 1]);
    expect(first?.entries.map((entry) => entry.seenAbove)).toEqual([false, false, false]);
    expect(second?.entries.map((entry) => entry.seenAbove)).toEqual([true, true, false]);
  });

  test("the row that was returned is marked", () => {
    expect(rowsAt(TREE, 1, 2).map((row) => row.chosen)).toEqual([true, false]);
    expect(rowsAt(TREE, 2, 2).map((row) => row.chosen)).toEqual([true, false]);
  });

  test("a translation without a tree is one row", () => {
    const { entries } = singleRow([2, 7, 8, 9], 2);
    expect(entries.map((entry) => entry.token)).toEqual([2, 7, 8]);
    expect(entries.map((entry) => entry.computed)).toEqual([false, false, true]);
  });
});
