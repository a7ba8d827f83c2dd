/** One head, six steps: equation 1 with the real numbers of one query (section 3.2.1). */
import { useMemo } from "preact/hooks";
import { attentionName } from "../../api/tensors.ts";
import type { HeadId, Trace } from "../../api/types.ts";
import { TokenRow } from "../../drawing/Tokens.tsx";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { step } from "../../state/player.ts";
import { address, go, highlight, link } from "../../state/store.ts";
import { head, layer, query, setExtra, side } from "../attention/inView.ts";
import { labels, sentencesOf } from "../attention/tokens.ts";
import { headInView, rowInView, within } from "../attention/view.ts";
import { headName, WHY_HIDDEN } from "../attention/words.ts";
import { sameHead } from "../lens/headList.ts";
import { Cards } from "./Cards.tsx";
import { Follows } from "./Follows.tsx";
import { HeadPicker } from "./HeadPicker.tsx";
import { type Numbers, numbersOf, strongest } from "./numbers.ts";
import { Player } from "./Player.tsx";
import { SheetFigure } from "./SheetFigure.tsx";
import { stageOf } from "./stages.ts";
import { useHeadTensors } from "./useHeadTensors.ts";
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
  const id = headInView({ side: side.value, layer: layer.value, head: head.value }, trace);
  const sentences = useMemo(() => sentencesOf(trace, id.side), [trace, id.side]);
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
  sentences: ReturnType<typeof sentencesOf>;
}

/** The sheet and the cards for the word in view, once the numbers are here. */
function Worked({ trace, id, row, sentences }: WorkedProps) {
  const tensors = useHeadTensors(trace, id);
  const keys = useMemo(() => labels(sentences.keys), [sentences]);
  if (!tensors || tensors.raw.shape[1] !== keys.length) {
    return <p class="muted">Fetching the numbers …</p>;
  }
  const numbers = numbersOf(tensors, row);
  const { extra } = address.value;
  const chosen = numberOr(extra.key, strongest(numbers), keys.length);
  const dimension = numberOr(extra.dim, largestPlace(numbers), numbers.output.length);
  const asking = labels(sentences.queries)[row] ?? "";
  const shared = {
    numbers,
    keys,
    chosen,
    dimension,
    query: asking,
    stage: stageOf(extra.stage),
    onKey: (key: number) => setExtra({ key: String(key) }, true),
    onPoint: (key: number | null) => {
      highlight.value = key === null ? null : { stream: sentences.keyStream, index: key };
    },
    onDimension: (at: number) => setExtra({ dim: String(at) }, true),
  };
  const alone = shared.stage !== null;
  return (
    <>
      <Player stage={shared.stage} />
      {alone && <Cards {...shared} hidden={WHY_HIDDEN} />}
      <SheetFigure {...shared} title={`${headName(id)}: what “${asking}” looks at`} />
      {trace.without.some((off) => sameHead(off, id)) && (
        <p class="steps-note">
          This head is switched off: its weights are computed all the same, but zeros go on.
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
        four digits that count. The network computes with about seven digits (float32), so sums of
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

function numberOr(word: string | undefined, otherwise: number, count: number): number {
  return word !== undefined && /^\d+$/.test(word) ? within(Number(word), count) : otherwise;
}

function largestPlace({ output }: Numbers): number {
  const size = (at: number) => Math.abs(output[at] ?? 0);
  return output.reduce((best, _, at) => (size(at) > size(best) ? at : best), 0);
}
