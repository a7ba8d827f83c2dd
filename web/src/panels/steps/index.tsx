/** One head, six steps: equation 1 with the real numbers of one query (section 3.2.1). */

import { useEffect, useMemo, useState } from "preact/hooks";
import { attentionName, part } from "../../api/tensors.ts";
import type { HeadId, Side, Trace } from "../../api/types.ts";
import { Segmented } from "../../drawing/Segmented.tsx";
import { TokenRow } from "../../drawing/Tokens.tsx";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { parsePlace } from "../../state/address.ts";
import { step } from "../../state/player.ts";
import { address, go, highlight, link, setExtra } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { alignsWords, head, layer, query, rowInView, side } from "../attention/inView.ts";
import { ATTENTIONS, getSentences, labels } from "../attention/tokens.ts";
import { headName, WHY_HIDDEN } from "../attention/words.ts";
import { clampHead, countLayers, sameHead } from "../lens/headList.ts";
import { Cards } from "./Cards.tsx";
import { computeNumbers, type HeadTensors, type Numbers, reach, strongest } from "./numbers.ts";
import { SheetFigure } from "./Sheet.tsx";
import { Strip } from "./Strip.tsx";
import { nextStage, parseStage, STAGES, type Stage } from "./stages.ts";
import "./steps.css";

/** The panel. */
export default function StepsPanel() {
  return (
    <PanelFrame
      title="One head, six steps"
      lead={
        <>
          Attention(Q, K, V) = softmax(QKᵀ/√d<sub>k</sub>) V, equation 1, for one word that looks:
          every number is the network's own, and small enough to check with a pocket calculator.
        </>
      }
    >
      {(trace) => <Steps trace={trace} />}
    </PanelFrame>
  );
}

function Steps({ trace }: { trace: Trace }) {
  const id = clampHead({ side: side.value, layer: layer.value, head: head.value }, trace.model);
  const sentences = useMemo(() => getSentences(trace, id.side), [trace, id.side]);
  const row = rowInView(query.value, step.value, sentences);
  const waiting = id.side === "encoder" ? undefined : step.value + 1;
  return (
    <>
      <HeadPicker trace={trace} id={id} />
      <div class="steps-asking">
        <span>The word that looks:</span>
        <TokenRow
          tokens={sentences.queries}
          stream={sentences.queryStream}
          label="The word that looks"
          current={row}
          pale={waiting}
          onPick={(index) => go({ query: index })}
        />
      </div>
      <Needs trace={trace} tensor={`${attentionName(id.side, id.layer)}.q`}>
        <Worked trace={trace} id={id} row={row} sentences={sentences} />
      </Needs>
    </>
  );
}

interface WorkedProps {
  trace: Trace;
  id: HeadId;
  row: number;
  sentences: ReturnType<typeof getSentences>;
}

/** The sheet and the cards for the word in view, once the numbers are here. */
function Worked({ trace, id, row, sentences }: WorkedProps) {
  const tensors = useHeadTensors(trace, id);
  const keys = useMemo(() => labels(sentences.keys), [sentences]);
  if (!tensors || tensors.raw.shape[1] !== keys.length) {
    return <p class="muted">Fetching the numbers …</p>;
  }
  const numbers = computeNumbers(tensors, row);
  const { extra } = address.value;
  const chosen = parsePlace(extra.key, keys.length, strongest(numbers));
  const dimension = parsePlace(extra.dim, numbers.output.length, largestPlace(numbers));
  const asking = labels(sentences.queries)[row] ?? "";
  const shared = {
    numbers,
    keys,
    chosen,
    dimension,
    query: asking,
    stage: parseStage(extra.stage),
    onKey: (key: number) => setExtra({ key: String(key + 1) }, { replace: true }),
    onPoint: (key: number | null) => {
      highlight.value = key === null ? null : { stream: sentences.keyStream, index: key };
    },
    onDimension: (at: number) => setExtra({ dim: String(at + 1) }, { replace: true }),
  };
  const alone = shared.stage !== null;
  return (
    <>
      <Player stage={shared.stage} />
      {alone && <Cards {...shared} hidden={WHY_HIDDEN} />}
      <SheetFigure {...shared} title={`${headName(id)}: what “${asking}” looks at`} />
      {trace.without.some((off) => sameHead(off, id)) && (
        <p class="steps-note">
          This head is switched off: its weights are computed all the same, but zeros are passed on.
        </p>
      )}
      {!alone && (
        <section class="steps-worked" aria-labelledby="steps-worked">
          <h3 id="steps-worked">
            Worked out for “{asking}” looking at “{keys[chosen]}”
          </h3>
          <Cards {...shared} hidden={WHY_HIDDEN} />
        </section>
      )}
      <p class="steps-note">
        Vectors and scores are printed with three decimals, weights with four, exponentials with
        four significant digits. The network computes with about seven digits (float32), so sums of
        printed numbers may differ in the last one. Point at a number's strip, or save the table as
        CSV, for all digits.
      </p>
      <Follows trace={trace} id={id} row={row} query={asking} />
      <p>
        <a href={link({ panel: "attention" })}>See all rows of this head, and all other heads</a>
      </p>
    </>
  );
}

function largestPlace({ output }: Numbers): number {
  const size = (at: number) => Math.abs(output[at] ?? 0);
  return output.reduce((best, _, at) => (size(at) > size(best) ? at : best), 0);
}

/* What comes after the six steps: the heads side by side, times W^O (section 3.2.2). */

interface FollowsProps {
  trace: Trace;
  id: HeadId;
  row: number;
  query: string;
}

/** The concatenation, with this head's place in it, and the output of the whole attention. */
function Follows({ trace, id, row, query }: FollowsProps) {
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
            <Strip vector={vector} reach={reach(all)} name={`output of head ${head + 1}`} />
            <figcaption>head {head + 1}</figcaption>
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

/* Which head: side, layer, number. */

const SIDES: readonly Side[] = ["encoder", "decoder", "cross"];

/** Three choices side by side. */
function HeadPicker({ trace, id }: { trace: Trace; id: HeadId }) {
  const heads = Array.from({ length: trace.model.heads }, (_, head) => ({
    value: head,
    name: alignsWords(trace, { ...id, head }) ? `${head + 1} ★` : String(head + 1),
  }));
  const layers = Array.from({ length: countLayers(trace.model, id.side) }, (_, value) => ({
    value,
    name: String(value + 1),
  }));
  return (
    <div class="steps-picker">
      <Segmented
        label="Which of the three attentions"
        choices={SIDES.map((value) => ({
          value,
          name: ATTENTIONS[value].short,
          hint: ATTENTIONS[value].name,
        }))}
        value={id.side}
        onChoose={(side) => go({ side, query: null })}
      />
      <Choice name="Layer" choices={layers} value={id.layer} onChoose={(layer) => go({ layer })} />
      <Choice name="Head" choices={heads} value={id.head} onChoose={(head) => go({ head })} />
    </div>
  );
}

interface ChoiceProps {
  name: string;
  choices: { value: number; name: string }[];
  value: number;
  onChoose: (value: number) => void;
}

function Choice({ name, choices, value, onChoose }: ChoiceProps) {
  return (
    <label class="steps-choice">
      {name}{" "}
      <select value={value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.name}
          </option>
        ))}
      </select>
    </label>
  );
}

/* Which of the six steps is shown, and a button that plays them one after the other. */

/** Time to read a step, in milliseconds. */
const PACE = 3000;

function show(stage: Stage | null): void {
  setExtra({ stage: stage === null ? null : String(stage) }, { replace: true });
}

/** Six buttons, one for all, and Play. */
function Player({ stage }: { stage: Stage | null }) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      const next = nextStage(stage);
      if (next === null) setPlaying(false);
      else show(next);
    }, PACE);
    return () => clearTimeout(timer);
  }, [playing, stage]);
  const toggle = (): void => {
    if (!playing) show(stage === null || stage === 6 ? 1 : stage);
    setPlaying(!playing);
  };
  return (
    <div class="steps-player">
      <button type="button" class="button" onClick={toggle}>
        {playing ? "❚❚ Pause" : "▶ Play the six steps"}
      </button>
      <Segmented
        label="Which step"
        choices={[
          { value: "all", name: "All" },
          ...STAGES.map(({ stage: at, short }) => ({ value: String(at), name: `${at} ${short}` })),
        ]}
        value={stage === null ? "all" : String(stage)}
        onChoose={(word) => {
          setPlaying(false);
          setExtra({ stage: word === "all" ? null : word }, { replace: true });
        }}
      />
    </div>
  );
}

/** Return all tensors of one head; undefined until they are all here. */
function useHeadTensors(trace: Trace, id: HeadId): HeadTensors | undefined {
  const stem = attentionName(id.side, id.layer);
  // Relative positions bias each head in its own way; a plain mask is one for all heads.
  const biased = trace.tensors[`${stem}.mask`]?.length === 3;
  const q = useTensor(trace, `${stem}.q`, [id.head]);
  const k = useTensor(trace, `${stem}.k`, [id.head]);
  const v = useTensor(trace, `${stem}.v`, [id.head]);
  const raw = useTensor(trace, `${stem}.raw_scores`, [id.head]);
  const scaled = useTensor(trace, `${stem}.scaled_scores`, [id.head]);
  const mask = useTensor(trace, `${stem}.mask`, biased ? [id.head] : []);
  const weights = useTensor(trace, `${stem}.weights`, [id.head]);
  const heads = useTensor(trace, `${stem}.heads`, [id.head]);
  if (!q || !k || !v || !raw || !scaled || !mask || !weights || !heads) return undefined;
  return { q, k, v, raw, scaled, mask, weights, heads };
}
