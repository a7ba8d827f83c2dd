/**
 * What one translation loses with each head: log P of the *same* translation, all heads on, less
 * log P of it with one head off. A head with a loss below 0 stands in the way of this translation.
 */

import { signal } from "@preact/signals";
import { asProblem, isAbort, makeTrace } from "../../api/client.ts";
import type { HeadId, ModelConfig, TraceRequest } from "../../api/types.ts";
import { say, tell } from "../../state/notices.ts";
import { oneSentence } from "../../state/requests.ts";
import { address } from "../../state/store.ts";
import { allHeads, headName } from "./headList.ts";

/** What was measured of one head. */
export interface HeadLoss {
  head: HeadId;
  /** log P of the translation without this head. */
  logProb: number;
  /** log P with all heads, less that. */
  loss: number;
}

/** How far the measuring has come. */
export interface Measuring {
  translation: string;
  /** log P of the translation with all heads on, read in the same way. */
  whole: number | null;
  total: number;
  losses: HeadLoss[];
}

/** Asks the network for log P of the given translation without some heads. */
type AskLogProb = (without: HeadId[]) => Promise<number>;

/**
 * Try the heads one after another; yield after each one.
 *
 * The whole network is asked in the same way first: the translation's tokens are then those of the
 * tokenizer in every case, and not now and then those that the search happened to write.
 */
export async function* measure(
  translation: string,
  heads: HeadId[],
  ask: AskLogProb,
): AsyncGenerator<Measuring> {
  const total = heads.length;
  const whole = await ask([]);
  let losses: HeadLoss[] = [];
  yield { translation, whole, total, losses };
  for (const head of heads) {
    const logProb = await ask([head]);
    losses = [...losses, { head, logProb, loss: whole - logProb }];
    yield { translation, whole, total, losses };
  }
}

/** Return the losses from the largest to the smallest. */
export function ranked(losses: HeadLoss[]): HeadLoss[] {
  return [...losses].sort((one, other) => other.loss - one.loss);
}

/** Return the largest size of a loss, at least a hundredth of a nat, to shade by. */
export function largest(losses: HeadLoss[]): number {
  return Math.max(0.01, ...losses.map(({ loss }) => Math.abs(loss)));
}

/** Return the loss of each head by its name. */
export function byName(losses: HeadLoss[]): Map<string, HeadLoss> {
  return new Map(losses.map((one) => [headName(one.head), one]));
}

/* Trying every head, one after another: goes on while another panel is looked at. */

/** One sweep over the heads: what was asked, how far it is. */
interface Sweep {
  /** What tells one sentence, model and search from another. */
  key: string;
  running: boolean;
  measured: Measuring;
}

/** The latest sweep. */
export const sweep = signal<Sweep | null>(null);

let underWay: AbortController | null = null;

/** Ask for log P of a given translation, reading it with some heads off; nothing is kept. */
export function askWith(
  request: TraceRequest,
  translation: string,
  abort: AbortSignal,
): AskLogProb {
  return async (without: HeadId[]) => {
    const { search: _search, prefix: _prefix, ...plain } = request;
    const asked = { ...plain, level: "light" as const, given: translation, without, keep: false };
    return (await makeTrace(asked, abort)).log_prob;
  };
}

/** Begin a sweep over all heads; one that runs is ended. It also ends with its sentence. */
export async function start(
  request: TraceRequest,
  translation: string,
  config: ModelConfig,
): Promise<void> {
  stop();
  const mine = new AbortController();
  underWay = mine;
  const key = sweepKey(request, translation);
  const heads = allHeads(config);
  const show = (measured: Measuring, running: boolean): void => {
    sweep.value = { key, running, measured };
  };
  show({ translation, whole: null, total: heads.length, losses: [] }, true);
  try {
    for await (const now of measure(
      translation,
      heads,
      askWith(request, translation, mine.signal),
    )) {
      if (underWay !== mine) return;
      if (oneSentence(address.peek().text) !== request.text) return stop();
      show(now, now.losses.length < now.total);
    }
    const [first] = ranked(sweep.peek()?.measured.losses ?? []);
    if (first) say(`The head that matters most is ${headName(first.head)}.`);
  } catch (error) {
    if (isAbort(error) || underWay !== mine) return;
    stop();
    tell(asProblem(error));
  }
}

/** End the sweep; what was measured stays. */
export function stop(): void {
  underWay?.abort();
  underWay = null;
  const last = sweep.peek();
  if (last?.running) sweep.value = { ...last, running: false };
}

/** What tells one sweep from another: all that log P depends on. */
export function sweepKey(request: TraceRequest, translation: string): string {
  return JSON.stringify([request.model, request.target, request.text, translation]);
}
