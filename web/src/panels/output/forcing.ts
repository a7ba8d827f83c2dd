/** Forcing a token: the prefix that does it. */

import type { Trace } from "../../api/types.ts";

/** Return the ids that make a search write what it wrote before a step, and then this token. */
export function prefixWith(trace: Pick<Trace, "steps">, step: number, id: number): number[] {
  return [...trace.steps.slice(0, step).map((one) => one.token.id), id];
}
