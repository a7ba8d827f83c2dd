/** The three attentions: all heads as small pictures, one head large (sections 3.2.1 to 3.2.3). */

import { useEffect, useMemo } from "preact/hooks";
import type { Tensor } from "../../api/tensors.ts";
import type { HeadId, Side, Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Segmented } from "../../drawing/Segmented.tsx";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { go } from "../../state/store.ts";
import { clampHead } from "../lens/headList.ts";
import { HeadGrid } from "./HeadGrid.tsx";
import { head, layer, pointed, side, stretched, useLayers } from "./inView.ts";
import { OneHead } from "./OneHead.tsx";
import { OneWord } from "./OneWord.tsx";
import { headsPicture, headsTable } from "./pictures.ts";
import { ATTENTIONS, getSentences, type Sentences } from "./tokens.ts";
import { describeRole, EXPLAINED, listMarks } from "./words.ts";
import "./attention.css";

/** Up to this many heads per layer stand beside the large one, where there is room. */
const MOST_BESIDE = 8;
/** With more than these they are small, and their roles are told by their titles alone. */
const FEW = 4;

/** The panel. */
export default function AttentionPanel() {
  return (
    <PanelFrame
      title="Attention"
      lead={
        <>
          How much every word takes in of every other one, head by head: softmax(QKᵀ/√d<sub>k</sub>
          ), equation 1.
        </>
      }
    >
      {(trace) => <Attention trace={trace} />}
    </PanelFrame>
  );
}

function Attention({ trace }: { trace: Trace }) {
  const layers = useLayers(trace, side.value);
  const sentences = useMemo(() => getSentences(trace, side.value), [trace, side.value]);
  const chosen = clampHead({ side: side.value, layer: layer.value, head: head.value }, trace.model);
  useEffect(
    () => () => {
      pointed.value = null;
    },
    [],
  );
  return (
    <>
      <Which />
      {layers && layers[0]?.shape[1] === sentences.queries.length ? (
        <div class="attention-room">
          <div
            class="attention-two"
            data-beside={trace.model.heads <= MOST_BESIDE}
            data-small={trace.model.heads > FEW}
          >
            <div class="attention-overview">
              <AllHeads trace={trace} sentences={sentences} layers={layers} chosen={chosen} />
              <OneWord trace={trace} sentences={sentences} layers={layers} chosen={chosen} />
            </div>
            <OneHead trace={trace} sentences={sentences} layers={layers} chosen={chosen} />
          </div>
          <p class="attention-explained">{EXPLAINED[side.value]}</p>
        </div>
      ) : (
        <p class="muted">Fetching the weights …</p>
      )}
    </>
  );
}

function Which() {
  const sides: Side[] = ["encoder", "decoder", "cross"];
  return (
    <Segmented
      label="Which of the three attentions"
      choices={sides.map((value) => ({
        value,
        name: ATTENTIONS[value].short,
        hint: ATTENTIONS[value].name,
      }))}
      value={side.value}
      onChoose={(value) => {
        pointed.value = null;
        go({ side: value, query: null });
      }}
    />
  );
}

export interface AllHeadsProps {
  trace: Trace;
  sentences: Sentences;
  layers: Tensor[];
  chosen: HeadId;
}

function AllHeads({ trace, sentences, layers, chosen }: AllHeadsProps) {
  const aligning = chosen.side === "cross" && trace.alignment_heads.length > 0;
  const title = `${ATTENTIONS[chosen.side].name}: all heads`;
  return (
    <Figure
      name={`${chosen.side}-all-heads`}
      title="All heads"
      caption={
        <>
          One row per layer, one column per head; the words under each say what gets most of its
          attention on this sentence. {aligning && "★ word alignment is read from this head. "}
          {stretched.value && "The darkest colour is each head's own largest weight. "}Click a head
          to enlarge it.
        </>
      }
      picture={() => headsPicture(title, captured(trace, chosen.side), size(layers), palette())}
      table={() => headsTable(listHeads(trace, chosen.side))}
    >
      <HeadGrid trace={trace} sentences={sentences} layers={layers} chosen={chosen} />
    </Figure>
  );
}

function size(layers: readonly Tensor[]): [number, number] {
  return [layers[0]?.shape[1] ?? 1, layers[0]?.shape[2] ?? 1];
}

function listHeads(trace: Trace, of: Side) {
  return trace.heads.filter((one) => one.side === of);
}

/** Return the small pictures as they stand on the page. */
function captured(trace: Trace, of: Side) {
  return listHeads(trace, of).map((found) => {
    const { layer: at, head: number } = found;
    const shown = document.querySelector<HTMLImageElement>(
      `.attention-small[data-layer="${at}"][data-head="${number}"] img`,
    );
    const caption = [
      `head ${number + 1}`,
      describeRole(found.role, of),
      ...listMarks(trace, found),
    ];
    return { layer: at, head: number, image: shown?.src ?? "", caption: caption.join(", ") };
  });
}
