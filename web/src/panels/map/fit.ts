/** Which tokens fit into a box. */

import { widthOf } from "../../drawing/svg.ts";

/** Tokens that are shown, and how many are left out before or after them. */
export interface Fitted {
  from: number;
  to: number;
}

const SIDES = 16; // px of a chip beside its text
const COUNT = 44; // px for the words that tell how many are left out

/**
 * Returns which of the tokens fit into so many lines; from the first on, or up to the last. At
 * least one is shown.
 */
export function fitting(
  names: readonly string[],
  width: number,
  lines: number,
  keep: "first" | "last",
): Fitted {
  const order = names.map((_, at) => (keep === "first" ? at : names.length - 1 - at));
  let [line, x, shown] = [1, 0, 0];
  for (const at of order) {
    const wide = Math.min(width, widthOf(names[at] ?? "", 13) + SIDES);
    const room = line === lines && shown < names.length - 1 ? width - COUNT : width;
    if (x > 0 && x + wide > room) {
      if (line === lines) break;
      line++;
      x = 0;
    }
    x += wide;
    shown++;
  }
  const count = Math.max(1, shown);
  return keep === "first"
    ? { from: 0, to: Math.min(names.length, count) }
    : { from: Math.max(0, names.length - count), to: names.length };
}
