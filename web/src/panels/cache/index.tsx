/** Cache: what each step of decoding computed, what it reused, and what that saved. */

import "./cache.css";
import type { Trace } from "../../api/types.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { step } from "../../state/player.ts";
import { RowsFigure } from "./RowsFigure.tsx";
import { Summary } from "./Summary.tsx";
import { TriangleFigure } from "./TriangleFigure.tsx";
import { WorkFigure } from "./WorkFigure.tsx";

/** The panel. */
export default function CachePanel() {
  return (
    <PanelFrame
      title="Cache"
      lead="The decoder is auto-regressive (section 3.1): what it computed for earlier positions never changes. So their keys and values are kept, and each step computes the newest position only."
    >
      {(trace) => <CacheOf trace={trace} step={step.value} />}
    </PanelFrame>
  );
}

function CacheOf({ trace, step }: { trace: Trace; step: number }) {
  return (
    <>
      <Summary trace={trace} step={step} />
      <TriangleFigure trace={trace} step={step} />
      <RowsFigure trace={trace} step={step} />
      <WorkFigure trace={trace} step={step} />
    </>
  );
}
