/** What comes after the six steps: the heads side by side, times W^O (section 3.2.2). */
import { attentionName, part } from "../../api/tensors.ts";
import type { HeadId, Trace } from "../../api/types.ts";
import { useTensor } from "../../state/useTensor.ts";
import { sameHead } from "../lens/headList.ts";
import { reach } from "./numbers.ts";
import { Strip } from "./Strip.tsx";

export interface FollowsProps {
  trace: Trace;
  id: HeadId;
  row: number;
  query: string;
}

/** The concatenation, with this head's place in it, and the output of the whole attention. */
export function Follows({ trace, id, row, query }: FollowsProps) {
  const stem = attentionName(id.side, id.layer);
  const heads = useTensor(trace, `${stem}.heads`);
  const output = useTensor(trace, `${stem}.output` in trace.tensors ? `${stem}.output` : null);
  if (!heads || !output) return null;
  const all = Array.from({ length: trace.model.heads }, (_, head) => part(heads, head, row).data);
  const whole = part(output, row).data;
  const off = trace.without.some((head) => sameHead(head, id));
  return (
    <section class="steps-follows" aria-label="What follows">
      <h4>What follows: concatenate, then W^O</h4>
      <p>
        All {all.length} heads of this layer do the same with matrices of their own. Their outputs
        are laid side by side, {all.length} × {trace.model.d_v} = {all.length * trace.model.d_v}{" "}
        numbers, and multiplied by W<sup>O</sup>: MultiHead(Q, K, V) = Concat(head<sub>1</sub>, …,
        head<sub>h</sub>) W<sup>O</sup> (section 3.2.2). The result is added to the word's vector
        (Add &amp; Norm, section 3.1).
        {off && " This head is switched off: zeros stand in its place."}
      </p>
      <div class="steps-concat">
        {all.map((vector, head) => (
          <figure key={head} data-own={head === id.head}>
            <Strip vector={vector} reach={reach(all)} name={`output of head ${head}`} />
            <figcaption>head {head}</figcaption>
          </figure>
        ))}
      </div>
      <p class="steps-arrow">
        × W<sup>O</sup> ↓
      </p>
      <Strip vector={whole} reach={reach([whole])} name={`output of the attention for ${query}`} />
      <p class="muted">
        {whole.length} numbers: what the whole attention says to “{query}”.
      </p>
    </section>
  );
}
