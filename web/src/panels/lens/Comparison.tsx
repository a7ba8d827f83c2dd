/** The translation with all heads and with some off, side by side. */
import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort } from "../../api/client.ts";
import type { HeadId, Trace, TraceRequest } from "../../api/types.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Marked, Num } from "../../drawing/Number.tsx";
import { tell } from "../../state/notices.ts";
import { retries } from "../../state/store.ts";
import { headName } from "./headList.ts";
import { askWith, sweepKey } from "./headLosses.ts";

export interface ComparisonProps {
  before: Trace;
  after: Trace;
  /** The request of `before`. */
  request: TraceRequest;
  /** Whether another translation is on its way. */
  waiting: boolean;
}

/**
 * What differs is marked; log P of each translation, and of the first one without the heads.
 *
 * All rows are there from the beginning: the switches below must not move under the finger.
 */
export function Comparison({ before, after, request, waiting }: ComparisonProps) {
  const { before: left, after: right } = compareTexts(before.translation, after.translation);
  const off = after.without;
  const again = useGivenLogProb(request, before.translation, off);
  return (
    <dl class="lens-compare" aria-busy={waiting}>
      <div data-row="before">
        <dt>all heads on</dt>
        <dd>
          <Marked parts={left} mark="del" />
        </dd>
        <dd class="lens-number">
          log P <Num value={before.log_prob} />
        </dd>
      </div>
      <div data-row="after">
        <dt>{off.length === 0 ? "no head is off" : `without ${named(off)}`}</dt>
        <dd>
          {off.length === 0 ? (
            <span class="muted">Switch a head off to see what changes.</span>
          ) : (
            <Marked parts={right} mark="ins" />
          )}
        </dd>
        <dd class="lens-number">
          {off.length > 0 && (
            <>
              log P <Num value={after.log_prob} />
            </>
          )}
        </dd>
      </div>
      <div data-row="same">
        <dt>the first one, read without them</dt>
        <dd>
          {off.length > 0 &&
            (right.every(({ same }) => same) && left.every(({ same }) => same)
              ? "The translation is the same."
              : "What the network without these heads gives the translation of the whole one.")}
        </dd>
        <dd class="lens-number">
          {off.length > 0 && <>log P {again === null ? "…" : <Num value={again} />}</>}
        </dd>
      </div>
    </dl>
  );
}

function named(off: HeadId[]): string {
  return off.length <= 2 ? off.map(headName).join(", ") : `${off.length} heads`;
}

/** log P of a given translation with heads off; null until it is here. */
function useGivenLogProb(request: TraceRequest, translation: string, off: HeadId[]): number | null {
  const [found, keep] = useState<{ key: string; value: number } | null>(null);
  const key = `${sweepKey(request, translation)} ${off.map(headName).join()}`;
  useEffect(() => {
    if (off.length === 0 || translation.trim() === "") return;
    const mine = new AbortController();
    askWith(
      request,
      translation,
      mine.signal,
    )(off).then(
      (value) => keep({ key, value }),
      (error) => isAbort(error) || tell(asProblem(error), { again: true }),
    );
    return () => mine.abort();
  }, [key, retries.value]);
  return found?.key === key ? found.value : null;
}
