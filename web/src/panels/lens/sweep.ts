/** Trying every head, one after another: goes on while another panel is looked at. */
import { signal } from "@preact/signals";
import { asProblem, isAbort, makeTrace } from "../../api/client.ts";
import type { HeadId, ModelConfig, TraceRequest } from "../../api/types.ts";
import { say, tell } from "../../state/notices.ts";
import { oneSentence } from "../../state/requests.ts";
import { address } from "../../state/store.ts";
import { allHeads, headName } from "./headList.ts";
import { type AskLogProb, type Measuring, measure, ranked } from "./headLosses.ts";

/** One sweep over the heads: what was asked, how far it is. */
export interface Sweep {
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
