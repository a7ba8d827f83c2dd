/** The account in figures: up to this step, and of the whole search. */

import type { ComponentChildren } from "preact";
import type { Trace } from "../../api/types.ts";
import { Num } from "../../drawing/Number.tsx";
import { accountStep, factor, inBytes, running } from "./account.ts";
import { Whole } from "./Whole.tsx";

/** Large figures above the pictures. */
export function Summary({ trace, step }: { trace: Trace; step: number }) {
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
      {inBytes(value)}
    </span>
  );
}
