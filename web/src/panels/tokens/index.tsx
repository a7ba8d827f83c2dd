/** Tokens and positions: what enters the two stacks. */

import "./tokens.css";
import type { Trace } from "../../api/types.ts";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { address } from "../../state/store.ts";
import { BiasFigure } from "./BiasFigure.tsx";
import { EntryFigure } from "./EntryFigure.tsx";
import { describeMethod, type Stream } from "./positions.ts";
import { SimilarityFigure } from "./SimilarityFigure.tsx";
import { TokensFigure } from "./TokensFigure.tsx";

/** The panel. */
export default function TokensPanel() {
  return (
    <PanelFrame
      title="Tokens, embeddings, positions"
      lead="The sentence is cut into pieces of the vocabulary; each piece becomes a vector of d_model numbers, to which its position is added (sections 3.4 and 3.5)."
    >
      {(trace) => <TokensBody trace={trace} />}
    </PanelFrame>
  );
}

function TokensBody({ trace }: { trace: Trace }) {
  const stream: Stream = address.value.extra.stream === "target" ? "target" : "source";
  const method = describeMethod(trace.model.positions);
  return (
    <>
      <TokensFigure trace={trace} stream="source" />
      <TokensFigure trace={trace} stream="target" />
      <Needs trace={trace} tensor="source.embedding">
        <EntryFigure trace={trace} stream={stream} />
        {method.added && <SimilarityFigure trace={trace} stream={stream} />}
      </Needs>
      {trace.model.positions === "relative" && (
        <Needs trace={trace} tensor="encoder.0.self_attention.mask">
          <BiasFigure trace={trace} />
        </Needs>
      )}
    </>
  );
}
