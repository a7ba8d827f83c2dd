/**
 * What one decision loses with each head: the margin of two tokens' logits at one step, all heads on,
 * less the same margin with one head off. A head with a loss below 0 stands in the way.
 */

import { signal } from "@preact/signals";
import { asProblem, isAbort, makeTrace, tryHeads } from "../../api/client.ts";
import type { HeadId, HeadMargins, TraceRequest } from "../../api/types.ts";
import { say, tell } from "../../state/notices.ts";
import { headName } from "./headList.ts";

/** What was measured of one head. */
export interface HeadLoss {
  head: HeadId;
  /** The margin without this head. */
  margin: number;
  /** The margin with all heads, less that. */
  loss: number;
  /** Without this head, the other token is ahead. */
  flips: boolean;
}

/** The decision that heads are tried on: a step, and the two tokens that compete there. */
export interface Decision {
  step: number;
  tokens: [number, number];
}

/** Return the loss of every head. */
export function lossesOf({ margin, heads }: HeadMargins): HeadLoss[] {
  return heads.map(({ side, layer, head, margin: without, flips }) => ({
    head: { side, layer, head },
    margin: without,
    loss: margin - without,
    flips,
  }));
}

/** Return the losses from the largest to the smallest. */
export function ranked(losses: HeadLoss[]): HeadLoss[] {
  return [...losses].sort((one, other) => other.loss - one.loss);
}

/** Return the largest size of a loss, at least a hundredth, to shade by. */
export function largest(losses: HeadLoss[]): number {
  return Math.max(0.01, ...losses.map(({ loss }) => Math.abs(loss)));
}

/** Return the loss of each head by its name. */
export function byName(losses: HeadLoss[]): Map<string, HeadLoss> {
  return new Map(losses.map((one) => [headName(one.head), one]));
}

/** One sweep over the heads: what was asked, and what was found. */
interface Sweep {
  /** What tells one sentence, model, search and decision from another. */
  key: string;
  found: HeadMargins | null;
}

/** The latest sweep; it goes on while another panel is looked at. */
export const sweep = signal<Sweep | null>(null);

let underWay: AbortController | null = null;

/** Try every head on a decision; a sweep under way is ended. */
export async function start(request: TraceRequest, decision: Decision): Promise<void> {
  underWay?.abort();
  const mine = new AbortController();
  underWay = mine;
  const key = sweepKey(request, decision);
  sweep.value = { key, found: null };
  const { text, model, target, search } = request;
  const asked = { text, ...decision, ...(model ? { model } : {}), ...(target ? { target } : {}) };
  try {
    const found = await tryHeads({ ...asked, ...(search ? { search } : {}) }, mine.signal);
    if (underWay !== mine) return;
    sweep.value = { key, found };
    const [first] = ranked(lossesOf(found));
    if (first) say(`The head that matters most is ${headName(first.head)}.`);
  } catch (error) {
    if (isAbort(error) || underWay !== mine) return;
    sweep.value = null;
    tell(asProblem(error));
  }
}

/** What tells one sweep from another: all that the margins depend on. */
export function sweepKey(request: TraceRequest, decision: Decision): string {
  const { model, target, text, search } = request;
  return JSON.stringify([model, target, text, search, decision]);
}

/** Ask for log P of a given translation, reading it with some heads off; nothing is kept. */
export async function askLogProb(
  request: TraceRequest,
  translation: string,
  without: HeadId[],
  abort: AbortSignal,
): Promise<number> {
  const { search: _search, prefix: _prefix, ...plain } = request;
  const asked = { ...plain, level: "light" as const, given: translation, without, keep: false };
  return (await makeTrace(asked, abort)).log_prob;
}
