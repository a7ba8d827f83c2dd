/** Cache: what each step of decoding computed, what it reused, and what that saved. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import { Num, Whole } from "../../drawing/Number.tsx";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { step } from "../../state/player.ts";
import { address, go } from "../../state/store.ts";
import { accountStep, factor, formatBytes, running } from "./account.ts";
import { RowsFigure } from "./RowsFigure.tsx";
import { TriangleFigure } from "./TriangleFigure.tsx";
import { WorkFigure } from "./WorkFigure.tsx";
import "./cache.css";

/** The panel. */
export default function CachePanel() {
  return (
    <PanelFrame
      title="Memory and cache"
      lead="What was computed for earlier positions never changes, so keys and values are kept: the source’s (the memory) and those of the words written."
    >
      {(trace) => <CacheBody trace={trace} step={step.value} />}
    </PanelFrame>
  );
}

function CacheBody({ trace, step }: { trace: Trace; step: number }) {
  useEffect(() => {
    // Unless a step was chosen, it opens on the last one, where the most was reused.
    if (address.peek().step === 0) go({ step: trace.steps.length - 1 }, { replace: true });
  }, []);
  return (
    <>
      <TriangleFigure trace={trace} step={step} />
      <Summary trace={trace} step={step} />
      <RowsFigure trace={trace} step={step} />
      <WorkFigure trace={trace} step={step} />
    </>
  );
}

/* The account in figures: up to this step, and of the whole search. */

/** Large figures above the pictures. */
function Summary({ trace, step }: { trace: Trace; step: number }) {
  const { cache } = trace;
  const at = accountStep(cache, step);
  const sums = running(cache);
  const [now, all, here] = [sums[at], sums.at(-1), cache.steps[at]];
  if (!now || !all || !here) return null;
  return (
    <dl class="cache-figures">
      <Fact name="work" about={`Multiplications up to step ${at + 1}`}>
        <Whole value={now.multiplications} />
        <small>
          instead of <Whole value={now.withoutCache} /> without the cache
        </small>
      </Fact>
      <Fact name="factor" about="Without the cache">
        <Num value={factor(now)} digits={2} /> times
        <small>
          as many; after all {cache.steps.length} steps of the search{" "}
          <Num value={factor(all)} digits={2} /> times
        </small>
      </Fact>
      <Fact name="positions" about={`Positions through the decoder, step ${at + 1}`}>
        <Whole value={here.computed} />
        <small>
          computed, <Whole value={here.reused} /> reused
          {here.rows > 1 ? `, in ${here.rows} rows` : ""}
        </small>
      </Fact>
      <Fact name="bytes" about="Keys and values kept">
        <Bytes value={here.bytes} />
        <small>
          of the target, room for later steps included; the source's take{" "}
          <Bytes value={cache.source_bytes} />
        </small>
      </Fact>
    </dl>
  );
}

function Fact(props: { name: string; about: string; children: ComponentChildren }) {
  return (
    <div data-account={props.name}>
      <dt>{props.about}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function Bytes({ value }: { value: number }) {
  return (
    <span class="num" data-value={String(value)}>
      {formatBytes(value)}
    </span>
  );
}
