/** Map: figure 1 of the paper on the reader's own sentence. */

import { tensorNow } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { heat, type Palette, palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import type { Table } from "../../drawing/files.ts";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  el,
  estimateWidth,
  group,
  heading,
  type Picture,
  path,
  picture,
  rect,
  text,
} from "../../drawing/svg.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { step } from "../../state/player.ts";
import { address } from "../../state/store.ts";
import { countLayers } from "../lens/headList.ts";
import { about } from "./boxes.ts";
import { Diagram } from "./Diagram.tsx";
import { attentionStrip, findState, phases, type State, type StripData } from "./flow.ts";
import { arrowHead, type Box, type Frame, planNetwork, roundedPath, type Wire } from "./layout.ts";
import type { Kind } from "./parts.ts";
import { Strip } from "./Strip.tsx";
import { getSizes } from "./scene.ts";
import "./map.css";

/** The panel. */
export default function MapPanel() {
  return (
    <PanelFrame
      title="Map"
      lead="Figure 1 of the paper, drawn with this network and this sentence."
    >
      {(trace) => <MapBody trace={trace} step={step.value} layer={address.value.layer} />}
    </PanelFrame>
  );
}

function MapBody({ trace, step, layer }: { trace: Trace; step: number; layer: number }) {
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

/* The map as a picture and as a table to save. */

const WIDTH = 900;
const EDGE = 20;
const HEAD = 56;

/** What becomes of each box at a step that has been drawn to its end. */
function finalState(box: { stack: Box["stack"]; reached: number }, step: number): State {
  return findState(box.stack, box.reached, step, phases(step, 1));
}

/** One row per box: name, layer, shape, what became of it. */
function mapTable(trace: Trace, step: number, layer: number): Table {
  const sizes = getSizes(trace, step);
  const { boxes } = planNetwork(trace.model, WIDTH, layer);
  return {
    columns: ["box", "name", "stack", "layer", "shape", "state"],
    rows: boxes.map((box) => {
      const told = about(box, sizes);
      const number = box.layer === null ? "" : box.layer + 1;
      return [box.id, told.title, box.stack, number, told.shape, finalState(box, step)];
    }),
  };
}

/** The whole map at a step, colours inlined. */
function mapPicture(trace: Trace, step: number, layer: number, colours: Palette): Picture {
  const plan = planNetwork(trace.model, WIDTH, layer);
  const width = plan.width + 2 * EDGE;
  const height = plan.height + HEAD + EDGE;
  const frames = plan.frames.map((frame) => framePart(frame, trace, colours));
  const wires = plan.wires.map((wire) => wirePart(wire, finalState(wire, step), colours));
  const boxes = plan.boxes.map((box) => boxPart(box, trace, step, colours));
  return picture(
    width,
    height,
    colours,
    heading(EDGE, 24, sentence(trace)),
    text(EDGE, 42, `Step ${step + 1} of ${trace.steps.length}`, { fill: colours.muted }),
    group({ transform: `translate(${EDGE} ${HEAD})` }, ...frames, ...wires, ...boxes),
  );
}

function framePart(frame: Frame, trace: Trace, colours: Palette): string {
  const { x, y, width, height, stack, layer } = frame;
  const count = countLayers(trace.model, stack);
  const left = stack === "encoder" ? x + width / 2 + 12 : x + 12;
  return (
    rect(x, y, width, height, { rx: 8, fill: colours.panel, stroke: colours.line }) +
    text(left, y + height - 9, `${stack} layer ${layer + 1} of ${count}`, {
      "font-size": 11,
      fill: colours.muted,
    })
  );
}

function sentence(trace: Trace): string {
  const whole = `${trace.source} → ${trace.translation}`;
  const letters = [...whole];
  const fitting = Math.floor(WIDTH / estimateWidth("n", 15));
  return letters.length <= fitting ? whole : `${letters.slice(0, fitting - 1).join("")}…`;
}

function wirePart(wire: Wire, state: State, colours: Palette): string {
  const stroke = state === "computed" ? colours.accent : colours.muted;
  const dashes = wire.kind === "feedback" ? "5 4" : null;
  const line = path(roundedPath(wire.points, 10), { stroke, "stroke-dasharray": dashes });
  return wire.arrow ? line + path(arrowHead(wire.points, 7), { fill: stroke }) : line;
}

/** The series colour that tints each kind of box, as on the page. */
const TINTS: Partial<Record<Kind, number>> = {
  embedding: 3,
  positions: 3,
  attention: 1,
  cross: 1,
  feed: 0,
  norm: 4,
  memory: 2,
  linear: 5,
  softmax: 5,
};

function boxPart(box: Box, trace: Trace, step: number, colours: Palette): string {
  const computed = finalState(box, step) === "computed";
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  if (box.kind === "sum") return sumPart(x, y, box.width / 2, computed, colours);
  const tint = colours.series[TINTS[box.kind] ?? -1] ?? colours.muted;
  const shape = { rx: box.kind === "norm" ? 12 : 6 };
  const ground = rect(box.x, box.y, box.width, box.height, { ...shape, fill: colours.ground });
  const frame = rect(box.x, box.y, box.width, box.height, {
    ...shape,
    fill: tint,
    "fill-opacity": computed && box.kind in TINTS ? 0.09 : 0,
    stroke: tint,
    "stroke-dasharray": computed ? null : "4 3",
  });
  return ground + frame + inside(box, trace, step, colours);
}

function sumPart(x: number, y: number, half: number, computed: boolean, colours: Palette): string {
  const stroke = computed ? colours.accent : colours.muted;
  const plus = `M${x - half + 4} ${y}H${x + half - 4}M${x} ${y - half + 4}V${y + half - 4}`;
  return (
    el("circle", { cx: x, cy: y, r: half - 0.75, fill: colours.ground, stroke }) +
    path(plus, { stroke })
  );
}

/** Title and shape of a box; below them its strip or its tokens. */
function inside(box: Box, trace: Trace, step: number, colours: Palette): string {
  const told = about(box, getSizes(trace, step));
  const words = wordsIn(box, trace, step);
  const strip = buildStrip(box, trace, step);
  const middle = box.y + box.height / 2;
  const line = words || strip ? middle - 4 : middle + 4;
  const right = { "text-anchor": "end", "font-size": 11, fill: colours.muted };
  return [
    text(box.x + 10, line, told.title, { "font-weight": 600 }),
    text(box.x + box.width - 10, line, told.shape, right),
    words ? text(box.x + 10, middle + 14, words) : "",
    strip ? stripPart(strip, [box.x + 10, middle + 3, box.width - 20, 9], colours) : "",
  ].join("");
}

/** The weights of an attention, if they are on the page already; of a layer its last attention. */
function buildStrip(box: Box, trace: Trace, step: number): StripData | null {
  const last = box.stack === "encoder" ? "self_attention" : "cross_attention";
  const stem = box.kind === "layer" ? `${box.id}.${last}` : box.id;
  const weights = tensorNow(trace, `${stem}.weights`);
  return weights ? attentionStrip(trace, stem, step, weights) : null;
}

function stripPart(
  strip: StripData,
  [x, y, width, height]: readonly [number, number, number, number],
  colours: Palette,
): string {
  const across = width / strip.slots;
  const space = across >= 5 ? 1 : 0;
  return Array.from({ length: strip.slots }, (_, at) => {
    const value = strip.values[at];
    const fill = value === undefined ? colours.masked : heat(value, colours);
    return rect(x + at * across, y, across - space, height, { fill });
  }).join("");
}

/** The tokens of a box, as many as fit. */
function wordsIn(box: Box, trace: Trace, step: number): string {
  if (box.kind === "output") {
    const here = trace.steps[step];
    return here ? `${plain(here.token.piece)}   ${Math.exp(here.log_prob).toFixed(3)}` : "";
  }
  if (box.kind !== "tokens") return "";
  const source = box.stack === "encoder";
  const tokens = source ? trace.source_tokens : trace.target_tokens.slice(0, step + 1);
  const names = tokens.map((token) => plain(token.piece));
  const fits = () => estimateWidth(`… ${names.join(" · ")}`) < box.width - 20;
  let cut = false;
  while (names.length > 1 && !fits()) {
    if (source) names.pop();
    else names.shift();
    cut = true;
  }
  const joined = names.join(" · ");
  if (!cut) return joined;
  return source ? `${joined} …` : `… ${joined}`;
}
