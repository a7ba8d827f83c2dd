/**
 * What one translation loses with each head: log P of the *same* translation, all heads on, less
 * log P of it with one head off. A head with a loss below 0 stands in the way of this translation.
 */

import type { HeadId } from "../../api/types.ts";
import { headName } from "./headList.ts";

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
export type AskLogProb = (without: HeadId[]) => Promise<number>;

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
