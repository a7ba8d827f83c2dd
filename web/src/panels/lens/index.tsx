/** Lens and heads: what layers would say by themselves, and what heads are good for. */
import { saved } from "../../api/saved.ts";
import type { Trace } from "../../api/types.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { NeedsServer } from "../../frame/Saved.tsx";
import { useLens } from "../../state/useTensor.ts";
import { HeadSwitches } from "./HeadSwitches.tsx";
import "./lens.css";
import { DecoderLens, LogitLens } from "./Lenses.tsx";

export default function LensPanel() {
  return (
    <PanelFrame
      title="Lens and heads"
      lead="Read a layer as if it were the last, or switch a head off and translate again. Both are readings, not truths: no layer was trained to be read early, nor any to do without a head."
    >
      {(trace) => (
        <>
          {saved ? (
            <NeedsServer what="switch heads off and translate again" />
          ) : (
            <HeadSwitches trace={trace} />
          )}
          {saved && !saved.lens ? (
            <NeedsServer what="read layers early, because it was saved without the network" />
          ) : (
            <Readings trace={trace} />
          )}
        </>
      )}
    </PanelFrame>
  );
}

function Readings({ trace }: { trace: Trace }) {
  const lens = useLens(trace);
  if (!lens) return <p aria-busy="true">Reading every layer …</p>;
  return (
    <>
      <LogitLens trace={trace} lens={lens} />
      <DecoderLens trace={trace} lens={lens} />
    </>
  );
}
