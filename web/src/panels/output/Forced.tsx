/** What forcing a token changed: the translation before and after, the differences marked. */

import { useEffect, useRef } from "preact/hooks";
import { saved } from "../../api/saved.ts";
import type { Trace } from "../../api/types.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Marked } from "../../drawing/Marked.tsx";
import { Num } from "../../drawing/Number.tsx";
import { plain, written } from "../../drawing/pieces.ts";
import { timesAs } from "../../drawing/ratio.ts";
import { baseline, go, type Loaded } from "../../state/store.ts";
import type { PieceOf } from "./view.ts";
import "./forced.css";

interface Props {
  trace: Trace;
  loading: boolean;
  /** Forced just now, by a press on this page: then the keyboard and the eye are led here. */
  fresh: boolean;
  prefix: number[];
  pieceOf: PieceOf;
}

/** The box that stays while a prefix is forced. */
export function Forced({ trace, loading, fresh, prefix, pieceOf }: Props) {
  const box = useRef<HTMLElement>(null);
  const key = prefix.join(".");
  useEffect(() => {
    if (fresh) box.current?.focus();
  }, [fresh, key]);
  const last = prefix.at(-1) as number;
  const before = prefix.slice(0, -1).map(pieceOf);
  return (
    <section class="output-forced" aria-label="Forced token" ref={box} tabIndex={-1}>
      <p>
        Forced{before.length > 0 && <> after “{written(before)}”</>}:{" "}
        <b class="output-forced-token">{plain(pieceOf(last))}</b>. All after it is the model's own.
        {!saved && (
          <button type="button" class="button output-release" onClick={release}>
            Release
          </button>
        )}
      </p>
      {!saved && <Comparison before={baseline.value} after={trace} loading={loading} />}
    </section>
  );
}

/** Let the search go free again; the keyboard goes on from the present step. */
function release(): void {
  go({ prefix: [], query: null });
  document.querySelector<HTMLElement>(".output-strip [aria-current]")?.focus();
}

interface ComparisonProps {
  before: Loaded<Trace>;
  after: Trace;
  loading: boolean;
}

function Comparison({ before, after, loading }: ComparisonProps) {
  const free = before.value;
  if (free === undefined || loading) return <p class="output-hint">Translating…</p>;
  const found = compareTexts(free.translation, after.translation);
  const same = [...found.before, ...found.after].every((part) => part.same);
  return (
    <>
      <dl class="output-versions" aria-live="polite">
        <div>
          <dt>free</dt>
          <dd data-version="before">
            <Marked parts={found.before} mark="del" />
          </dd>
          <dd class="output-log-prob">
            log P <Num value={free.log_prob} digits={3} />
          </dd>
        </div>
        <div>
          <dt>forced</dt>
          <dd data-version="after">
            <Marked parts={found.after} mark="ins" />
          </dd>
          <dd class="output-log-prob">
            log P <Num value={after.log_prob} digits={3} />
          </dd>
        </div>
      </dl>
      <p class="output-hint">{inWords(free, after, same)}</p>
    </>
  );
}

function inWords(free: Trace, after: Trace, same: boolean): string {
  if (same) return "The same text: the forced token is what the model would have written anyway.";
  const times = timesAs(Math.exp(Math.abs(free.log_prob - after.log_prob)));
  if (after.log_prob > free.log_prob) {
    return `To the model, the forced one is ${times} times as probable: the search had missed it.`;
  }
  return `To the model, the free one is ${times} times as probable.`;
}
