/** Sums and comparisons over what the cache did, from the numbers of the trace. */

import type { CacheUsage } from "../../api/types.ts";
import { counted } from "../../drawing/Number.tsx";
import { clampIndex } from "../../state/address.ts";

/** Everything up to and including one step. */
interface SoFar {
  computed: number;
  reused: number;
  multiplications: number;
  withoutCache: number;
  /** Bytes of keys and values at this step, the source's included. */
  bytes: number;
}

/** Returns the sums of each step and all before it. */
export function running(account: CacheUsage): SoFar[] {
  let [computed, reused, multiplications, withoutCache] = [0, 0, 0, 0];
  return account.steps.map((step) => {
    computed += step.computed;
    reused += step.reused;
    multiplications += step.multiplications;
    withoutCache += step.without_cache;
    const bytes = account.source_bytes + step.bytes;
    return { computed, reused, multiplications, withoutCache, bytes };
  });
}

/** Returns how many times the work would be without the cache; 1 where there is none. */
export function factor(sums: SoFar | undefined): number {
  return sums && sums.multiplications > 0 ? sums.withoutCache / sums.multiplications : 1;
}

/** The step of the search that belongs to a step of the player; the search may go on longer. */
export function accountStep(account: CacheUsage, step: number): number {
  return clampIndex(step, account.steps.length);
}

/** Writes a number of bytes in the unit that fits: 40.0 kB. */
export function formatBytes(value: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  let [amount, unit] = [value, 0];
  while (amount >= 1000 && unit < units.length - 1) {
    amount /= 1000;
    unit++;
  }
  return unit === 0 ? `${counted(value)} bytes` : `${amount.toFixed(1)} ${units[unit]}`;
}

/** The account as a table: one row per step, then sums. */
export function accountTable(account: CacheUsage): {
  columns: string[];
  rows: (string | number)[][];
} {
  const sums = running(account);
  return {
    columns: [
      "step",
      "rows",
      "positions",
      "computed",
      "reused",
      "bytes",
      "multiplications",
      "without cache",
      "multiplications so far",
      "without cache so far",
    ],
    rows: account.steps.map((step, at) => [
      at + 1,
      step.rows,
      step.length,
      step.computed,
      step.reused,
      step.bytes,
      step.multiplications,
      step.without_cache,
      sums[at]?.multiplications ?? 0,
      sums[at]?.withoutCache ?? 0,
    ]),
  };
}
