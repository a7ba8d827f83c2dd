/** Map: figure 1 of the paper on the reader's own sentence. */

import "./map.css";
import type { Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { step } from "../../state/player.ts";
import { address } from "../../state/store.ts";
import { Diagram } from "./Diagram.tsx";
import { mapPicture, mapTable } from "./picture.ts";
import { Strip } from "./Strip.tsx";

/** The panel. */
export default function MapPanel() {
  return (
    <PanelFrame
      title="Map"
      lead="Figure 1 of the paper, drawn with this network and this sentence."
    >
      {(trace) => <MapOf trace={trace} step={step.value} layer={address.value.layer} />}
    </PanelFrame>
  );
}

function MapOf({ trace, step, layer }: { trace: Trace; step: number; layer: number }) {
  return (
    <Figure
      name="map"
      title={`${trace.model.encoder_layers} + ${trace.model.decoder_layers} layers`}
      controls={<Now trace={trace} step={step} />}
      caption={<Caption trace={trace} />}
      picture={() => mapPicture(trace, step, layer, palette())}
      table={() => mapTable(trace, step, layer)}
    >
      <Diagram trace={trace} step={step} layer={layer} />
      <Legend />
    </Figure>
  );
}

/** The present step in a sentence. */
function Now({ trace, step }: { trace: Trace; step: number }) {
  const here = trace.steps[step];
  const read = trace.target_tokens[step];
  if (!here || !read) return null;
  return (
    <p class="map-now">
      <strong>
        Step {step + 1} of {trace.steps.length}
      </strong>{" "}
      reads <q>{plain(read.piece)}</q> and writes <q>{plain(here.token.piece)}</q> with probability{" "}
      <Num value={Math.exp(here.log_prob)} digits={3} />.
    </p>
  );
}

function Legend() {
  return (
    <ul class="map-legend" aria-label="Key">
      <li>
        <span class="map-key" data-state="computed" /> computed in this step
      </li>
      <li>
        <span class="map-key" data-state="kept" /> kept from an earlier step
      </li>
      <li>
        <span class="map-key" data-state="waiting" /> not reached yet
      </li>
      <li>
        <KeyStrip /> where the newest token looks, mean of the heads; the line below is dotted where
        keys and values come from the cache
      </li>
    </ul>
  );
}

/** A strip as it stands in the boxes: two cells from the cache, the last one new. */
function KeyStrip() {
  const data = { values: [0.35, 0.7, 1], slots: 3, computed: 2 };
  return (
    <span class="map-key-strip">
      <Strip data={data} width={34} height={11} />
    </span>
  );
}

function Caption({ trace }: { trace: Trace }) {
  const rows = trace.cache.steps[0]?.rows ?? 1;
  const order =
    trace.model.norm === "pre"
      ? "This network normalises before each sublayer, unlike the paper, so each stack ends in one more norm."
      : "As in the paper, the sum is normalised after each sublayer.";
  const beams =
    rows > 1
      ? ` The search computes ${rows} hypotheses side by side; drawn is the one that was returned.`
      : "";
  return (
    <>
      {order}
      {beams}
    </>
  );
}
