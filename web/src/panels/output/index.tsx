/** Panel 5, output: from the decoder's state to the token that is written. */

import { useState } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { pause, step } from "../../state/player.ts";
import { address, trace as current, go } from "../../state/store.ts";
import { wholeOf, withExtra } from "./extra.ts";
import { Forced } from "./Forced.tsx";
import { prefixWith } from "./forcing.ts";
import { LogitSum } from "./Logit.tsx";
import { drawOf, Lot } from "./Lot.tsx";
import { cutsOf, Settings } from "./Settings.tsx";
import { Softmax } from "./Softmax.tsx";
import { StepStrip } from "./StepStrip.tsx";
import { type PieceOf, type StepView, usePieces, useSpread, useStepView } from "./view.ts";
import { HowSure, WrittenOut } from "./Written.tsx";
import "./output.css";

const FEW = 12;
const MOST = 600;

/** The panel. */
export default function Output() {
  return (
    <PanelFrame
      title="Output"
      lead={
        <>
          The decoder's state at this step, times the output matrix, gives one logit a token; the
          softmax turns logits into the probabilities of the next token (section 3.4).
        </>
      }
    >
      {(trace) => <OutputOf trace={trace} />}
    </PanelFrame>
  );
}

function OutputOf({ trace }: { trace: Trace }) {
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
      <StepStrip trace={trace} at={at} forced={trace.prefix_length} />
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
  const cuts = cutsOf();
  const now = useSpread(view, cuts);
  const draw = drawOf(now, view.at);
  const count = wholeOf(address.value.extra.rows, MOST, FEW);
  const more = () => showRows(count + FEW);
  const all = { ...props, cuts, now };
  return (
    <>
      <Settings cuts={cuts} now={now} />
      <Softmax {...all} count={count} more={more} drawn={draw?.place ?? null} />
      <WrittenOut {...all} />
      <HowSure {...all} />
      <Lot {...all} draw={draw} />
      <LogitSum view={view} />
    </>
  );
}

function showRows(count: number): void {
  const extra = withExtra(address.value.extra, { rows: String(Math.min(count, MOST)) });
  go({ extra }, { replace: true });
}
