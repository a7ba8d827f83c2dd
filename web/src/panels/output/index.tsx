/** Panel 5, output: from the decoder's state to the token that is written. */

import { useEffect, useRef, useState } from "preact/hooks";
import { saved } from "../../api/saved.ts";
import { hasTensor, part } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Marked, Num, timesAs } from "../../drawing/Number.tsx";
import { plain, written } from "../../drawing/pieces.ts";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { parseWhole } from "../../state/address.ts";
import { pause, step } from "../../state/player.ts";
import {
  address,
  baseline,
  trace as current,
  go,
  type Loaded,
  setExtra,
} from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { SumOfProducts } from "../sublayer/Where.tsx";
import "../sublayer/sublayer.css";
import { drawToken, Lot } from "./Lot.tsx";
import { Parts } from "./Parts.tsx";
import { logitPicture } from "./pictures.ts";
import { getCuts, Settings } from "./Settings.tsx";
import { Softmax } from "./Softmax.tsx";
import { StepStrip } from "./StepStrip.tsx";
import {
  barsPath,
  embeddedRow,
  isTied,
  type PieceOf,
  type Product,
  prefixWith,
  productOf,
  type StepView,
  usePieces,
  useSpread,
  useStepView,
} from "./view.ts";
import { HowSure, WrittenOut } from "./Written.tsx";
import "./output.css";

const FEW = 12;
const MOST = 600;

/** The panel. */
export default function Output() {
  return (
    <PanelFrame
      title="Output: linear, softmax, token"
      lead={
        <>
          The decoder's state at this step, times the output matrix, gives one logit per token; the
          softmax turns logits into the probabilities of the next token (section 3.4).
        </>
      }
    >
      {(trace) => <OutputBody trace={trace} />}
    </PanelFrame>
  );
}

function OutputBody({ trace }: { trace: Trace }) {
  const at = Math.min(step.value, trace.steps.length - 1);
  const view = useStepView(trace, at);
  const pieceOf = usePieces(trace);
  const [fresh, setFresh] = useState(false);
  const { prefix } = address.value;
  const force = (id: number) => {
    if (view === undefined) return;
    pause();
    setFresh(true);
    go({ prefix: prefixWith(view.trace, view.at, id), step: view.at, query: null });
  };
  return (
    <>
      {prefix.length > 0 && (
        <Forced
          trace={trace}
          loading={current.value.state === "loading"}
          fresh={fresh}
          prefix={prefix}
          pieceOf={pieceOf}
        />
      )}
      <Needs trace={trace} tensor="logits">
        {view && <OneStep view={view} pieceOf={pieceOf} force={force} />}
      </Needs>
      <StepStrip trace={trace} at={at} forced={trace.prefix_length} />
    </>
  );
}

interface StepProps {
  view: StepView;
  pieceOf: PieceOf;
  force: (id: number) => void;
}

function OneStep(props: StepProps) {
  const { view } = props;
  const cuts = getCuts();
  const now = useSpread(view, cuts);
  const draw = drawToken(now, view.at);
  const count = parseWhole(address.value.extra.rows, MOST, FEW);
  const more = () => showRows(count + FEW);
  const all = { ...props, cuts, now };
  return (
    <>
      <Softmax {...all} count={count} more={more} drawn={draw?.place ?? null} />
      <Settings cuts={cuts} now={now} />
      <WrittenOut {...all} />
      <HowSure {...all} />
      <Lot {...all} draw={draw} />
      <Parts trace={view.trace} at={view.at} step={view.step} />
      <LogitSum view={view} />
    </>
  );
}

function showRows(count: number): void {
  setExtra({ rows: String(Math.min(count, MOST)) }, { replace: true });
}

/* What forcing a token changed: the translation before and after, the differences marked. */

interface Props {
  trace: Trace;
  loading: boolean;
  /** Forced just now, by a press on this page: then the keyboard and the eye are led here. */
  fresh: boolean;
  prefix: number[];
  pieceOf: PieceOf;
}

/** The box that stays while a prefix is forced. */
function Forced({ trace, loading, fresh, prefix, pieceOf }: Props) {
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
      <p class="output-hint">{describeEffect(free, after, same)}</p>
    </>
  );
}

function describeEffect(free: Trace, after: Trace, same: boolean): string {
  if (same) return "The same text: the forced token is what the model would have written anyway.";
  const times = timesAs(Math.exp(Math.abs(free.log_prob - after.log_prob)));
  if (after.log_prob > free.log_prob) {
    return `To the model, the forced one is ${times} times as probable: the search had missed it.`;
  }
  return `To the model, the free one is ${times} times as probable.`;
}

/* The sum that makes a logit, drawn: state, output row, products. */

/** The figure; nothing where the trace does not hold the token's row. */
function LogitSum({ view }: { view: StepView }) {
  const { trace, at, step } = view;
  const states = useTensor(trace, "decoder.states" in trace.tensors ? "decoder.states" : null);
  const row = useOutputRow(trace, at);
  const found = states && row && productOf(part(states, at).data, row);
  if (!found) return null;
  const piece = plain(step.token.piece);
  return (
    <Figure
      name="logit"
      title={`Where the logit of “${piece}” comes from`}
      caption={<Caption found={found} piece={piece} tied={isTied(trace.model)} />}
      picture={() => logitPicture(found, piece)}
      table={() => ({
        columns: ["dimension", "h", "w", "h * w"],
        rows: Array.from(found.state, (h, index) => [
          index + 1,
          h,
          found.row[index] as number,
          found.products[index] as number,
        ]),
      })}
    >
      <div class="output-logit">
        {listNumbers(found).map((row) => (
          <BarRow key={row.name} {...row} />
        ))}
      </div>
      <SumOfProducts x={found.state} w={found.row} bias={0} total={found.logit} />
    </Figure>
  );
}

/** The token's row of the output matrix; a saved page has it only as an embedding that was read. */
function useOutputRow(trace: Trace, at: number): ArrayLike<number> | undefined {
  const name = "weights.output_projection.weight";
  const known = hasTensor(trace, name);
  const row = useTensor(trace, known ? name : null, known ? [trace.steps[at]?.token.id ?? 0] : []);
  const tied = !known && isTied(trace.model) && "target.embedding" in trace.tensors;
  const embedding = useTensor(trace, tied ? "target.embedding" : null);
  return row?.data ?? (embedding && embeddedRow(embedding, at));
}

function Caption({ found, piece, tied }: { found: Product; piece: string; tied: boolean }) {
  return (
    <>
      The decoder's state h times the row w of this token in the output matrix, {found.state.length}{" "}
      products. They add up to the logit <Num value={found.logit} digits={2} />.{" "}
      {tied &&
        `This model uses one matrix for embedding and output (section 3.4), so w is the embedding of “${piece}” without its factor √${found.state.length}.`}
    </>
  );
}

function BarRow({ name, numbers }: { name: string; numbers: Float64Array }) {
  return (
    <div class="output-logit-row">
      <span>{name}</span>
      <svg viewBox={`0 0 ${numbers.length} 40`} preserveAspectRatio="none" aria-hidden="true">
        <path class="output-above" d={barsPath(numbers, 20, 19, 1)} />
        <path class="output-below" d={barsPath(numbers, 20, 19, -1)} />
      </svg>
    </div>
  );
}

function listNumbers({ state, row, products }: Product): { name: string; numbers: Float64Array }[] {
  return [
    { name: "h", numbers: state },
    { name: "w", numbers: row },
    { name: "h · w", numbers: products },
  ];
}
