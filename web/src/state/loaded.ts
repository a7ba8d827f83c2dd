import type { Problem } from "../api/client.ts";

/** Something that comes from the server. The last good value stays while the next one loads. */
export interface Loaded<T> {
  state: "idle" | "loading" | "ready" | "failed";
  value?: T;
  problem?: Problem;
}

/** Nothing was asked for. */
export const IDLE = { state: "idle" } as const;

/** The same value, while another is on its way. */
export function loading<T>(before: Loaded<T>): Loaded<T> {
  return before.value === undefined
    ? { state: "loading" }
    : { state: "loading", value: before.value };
}

/** The last good value, and why there is no newer one. */
export function failed<T>(before: Loaded<T>, problem: Problem): Loaded<T> {
  return before.value === undefined
    ? { state: "failed", problem }
    : { state: "failed", value: before.value, problem };
}
