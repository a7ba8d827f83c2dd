/** The map itself: boxes over lines, the token on its way, and what one points at. */

import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import { useWidth } from "../../drawing/Canvas.tsx";
import { plain } from "../../drawing/pieces.ts";
import { playing, speed } from "../../state/player.ts";
import { go } from "../../state/store.ts";
import { reducedMotion } from "../../state/theme.ts";
import { countLayers } from "../lens/headList.ts";
import { Miniature, OutputContent, TokensContent } from "./BoxContents.tsx";
import { about } from "./boxes.ts";
import { duration, isMoving } from "./flow.ts";
import {
  arrowHead,
  type Box,
  type Plan,
  placeStyle,
  planNetwork,
  pointAt,
  roundedPath,
  type Wire,
} from "./layout.ts";
import type { Network } from "./parts.ts";
import { Strip, useAttentionStrip, useInnerStrip } from "./Strip.tsx";
import { getSizes, phasesNow, type Scene, stateNow, useNow } from "./scene.ts";

/** Draws the network of a trace at a step, one layer of each stack open. */
export function Diagram({ trace, step, layer }: { trace: Trace; step: number; layer: number }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const fit = useFit(frame);
  const plan = useMemo(
    () => (width > 0 ? planToFit(trace.model, width, layer, fit) : null),
    [trace.model, width, layer, fit],
  );
  const share = useShare(trace, step);
  return (
    <div class="map-room" ref={frame}>
      {plan && (
        <Drawing scene={{ trace, step, plan, sizes: getSizes(trace, step), share }} room={fit} />
      )}
    </div>
  );
}

/* The map fits the height of the window: its boxes move together first, then it gets smaller. */

/** The smallest spread, and the smallest size at which words can still be read. */
const CLOSEST = 0.45;
const SMALLEST = 0.75;

/** The height that is free for the map: from where it begins to the foot of the window. */
function useFit(frame: { current: HTMLElement | null }): number {
  const [room, setRoom] = useState(Number.POSITIVE_INFINITY);
  useLayoutEffect(() => {
    const measure = (): void => {
      const top = (frame.current?.getBoundingClientRect().top ?? 0) + scrollY;
      const foot = document.querySelector(".explore-foot")?.clientHeight ?? 0;
      setRoom(innerHeight - top - foot - LEGEND);
    };
    measure();
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, [frame]);
  return room;
}

const LEGEND = 30; // px for the key below the map

function planToFit(network: Network, width: number, layer: number, room: number): Plan {
  const plan = planNetwork(network, width, layer);
  if (!plan.wide || plan.height <= room) return plan;
  return planNetwork(network, width, layer, CLOSEST);
}

function zoomToFit(height: number, room: number): number {
  return Math.max(SMALLEST, Math.min(1, room / height));
}

function Drawing({ scene, room }: { scene: Scene; room: number }) {
  const { plan } = scene;
  const [pointed, point] = useState<string | null>(null);
  const [focused, focus] = useState<string | null>(null);
  const shown = plan.boxes.find((box) => box.id === (pointed ?? focused));
  const look = { scene, box: shown ?? usual(plan), pointed: shown !== undefined };
  return (
    <>
      {!plan.inspector && <Inspector {...look} width={plan.width} height={250} />}
      <div
        class="map-drawing"
        style={{
          width: `${plan.width}px`,
          height: `${plan.height}px`,
          zoom: String(plan.wide ? zoomToFit(plan.height, room) : 1),
        }}
      >
        <Wires scene={scene} />
        <FrameNames scene={scene} />
        {plan.boxes.map((box) => (
          <BoxView
            key={box.id}
            box={box}
            scene={scene}
            onPoint={(at) => point(at?.id ?? null)}
            onFocus={(at) => focus(at?.id ?? null)}
          />
        ))}
        <Pulse scene={scene} />
        {plan.inspector && (
          <div class="map-inspector-place" style={placeStyle(plan.inspector)}>
            <Inspector
              {...look}
              width={plan.inspector.width}
              height={Math.min(plan.inspector.height, 320)}
            />
          </div>
        )}
      </div>
    </>
  );
}

/** Which layers are open. */
function FrameNames({ scene }: { scene: Scene }) {
  const { plan, trace } = scene;
  return plan.frames.map((frame) => {
    const encoder = frame.stack === "encoder";
    const left = encoder ? frame.x + frame.width / 2 + 14 : frame.x + 14;
    const top = plan.wide ? frame.y + frame.height - 20 : frame.y + 4;
    return (
      <p key={frame.stack} class="map-frame-name" style={{ left: `${left}px`, top: `${top}px` }}>
        {encoder ? "Encoder" : "Decoder"} layer {frame.layer + 1} of{" "}
        {countLayers(trace.model, frame.stack)}
      </p>
    );
  });
}

/** What the inspector shows while one points at nothing: the cross-attention of the open layer. */
function usual(plan: Plan): Box {
  const cross = plan.boxes.find((box) => box.kind === "cross");
  if (!cross) throw new Error("the map has no open decoder layer");
  return cross;
}

/* One box of the map: a button with a name, what flows through it, and its real numbers. */

interface BoxProps {
  box: Box;
  scene: Scene;
  /** Called with the box when one points at it or goes to it by Tab, with null when one leaves. */
  onPoint: (box: Box | null) => void;
  onFocus: (box: Box | null) => void;
}

const STATES = { computed: "computed now", kept: "kept from step 1", waiting: "not yet" };

/** A box; selecting it goes to its panel, a closed layer opens here. */
function BoxView({ box, scene, onPoint, onFocus }: BoxProps) {
  const told = about(box, scene.sizes);
  const { stack, reached } = box;
  const state = useNow(scene, (now) => stateNow(now, stack, reached));
  const then = box.kind === "layer" ? "open it" : `go to ${told.to}`;
  return (
    <button
      type="button"
      class={`map-box map-${box.kind}`}
      data-box={box.id}
      data-state={state}
      style={placeStyle(box)}
      aria-label={`${told.title}, ${told.place}, ${told.shape}, ${STATES[state]}: ${then}`}
      onPointerEnter={() => onPoint(box)}
      onPointerLeave={() => onPoint(null)}
      onFocus={() => onFocus(box)}
      onBlur={() => onFocus(null)}
      onClick={() => go(told.leads)}
    >
      <Content box={box} scene={scene} title={told.title} shape={told.shape} />
    </button>
  );
}

interface ContentProps {
  box: Box;
  scene: Scene;
  title: string;
  shape: string;
}

function Content(props: ContentProps) {
  const { kind } = props.box;
  if (kind === "sum") return null; // its circle stands among the lines
  if (kind === "tokens") return <TokensContent {...props} />;
  if (kind === "output") return <OutputContent {...props} />;
  if (kind === "layer") return <ClosedContent {...props} />;
  if (kind === "attention" || kind === "cross") return <AttentionContent {...props} />;
  if (kind === "feed") return <FeedContent {...props} />;
  return <Line {...props} />;
}

function Line({ title, shape, children }: ContentProps & { children?: ComponentChildren }) {
  return (
    <>
      <span class="map-line">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      {children}
    </>
  );
}

function AttentionContent(props: ContentProps) {
  const { box, scene } = props;
  const data = useAttentionStrip(scene.trace, `${box.id}.weights`, scene.step);
  return <Line {...props}>{data && <Strip data={data} width={box.width - 22} height={11} />}</Line>;
}

function FeedContent(props: ContentProps) {
  const { box, scene } = props;
  const data = useInnerStrip(scene.trace, `${box.id}.inner`, scene.step);
  return <Line {...props}>{data && <Strip data={data} width={box.width - 22} height={11} />}</Line>;
}

/** A closed layer shows its attentions as strips, in the order of the data. */
function ClosedContent({ box, scene, title, shape }: ContentProps) {
  const stem = `${box.stack}.${box.layer}`;
  const own = useAttentionStrip(scene.trace, `${stem}.self_attention.weights`, scene.step);
  const cross = useAttentionStrip(scene.trace, `${stem}.cross_attention.weights`, scene.step);
  const strips = [own, cross].filter((data) => data !== null);
  const inOrder = scene.plan.wide ? strips.reverse() : strips;
  return (
    <>
      <span class="map-layer-name">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      <span class="map-strips">
        {inOrder.map((data, order) => (
          <Strip key={order} data={data} width={box.width - 92} height={11} />
        ))}
      </span>
    </>
  );
}

/* What is in the box that one points at. */

interface Props {
  scene: Scene;
  box: Box;
  /** Whether one points at it; else it is what is shown by itself. */
  pointed: boolean;
  width: number;
  height: number;
}

const WORDS = 96; // px for the words above the miniature

/** Title, one sentence, the real tensor small, and where the box leads. */
function Inspector({ scene, box, pointed, width, height }: Props) {
  const told = about(box, scene.sizes);
  const room = Math.max(60, Math.min(170, height - WORDS));
  return (
    <div class="map-inspector" data-shows={box.id}>
      <p class="map-inspector-title">
        <strong>{told.title}</strong>
        <span>
          {told.shape} · {told.place}
        </span>
      </p>
      <p class="map-inspector-says">{told.says}</p>
      {told.miniature && (
        <Miniature
          trace={scene.trace}
          wanted={told.miniature}
          step={scene.step}
          width={width - 26}
          height={room}
        />
      )}
      <p class="map-inspector-hint">
        {pointed ? hint(box, told.to) : "Point at a box to see what is in it."}
      </p>
    </div>
  );
}

function hint(box: Box, to: string): string {
  return box.kind === "layer" ? "Select to open this layer." : `Select to go to ${to}.`;
}

/* The token on its way: up through the decoder, and from the output back to the input. */

/** A chip where the newest data is; nothing once the step is drawn. */
function Pulse({ scene }: { scene: Scene }) {
  if (scene.share.value >= 1) return null;
  const { encoder, feedback, decoder } = phasesNow(scene);
  const { ways } = scene.plan;
  if (encoder < 1) return <Chip at={pointAt(ways.encoder, encoder)} words="source" />;
  const before = scene.trace.steps[scene.step - 1]?.token.piece;
  if (feedback < 1 && before) {
    return <Chip at={pointAt(ways.feedback, feedback)} words={plain(before)} />;
  }
  const read = scene.trace.target_tokens[scene.step]?.piece ?? "";
  return <Chip at={pointAt(ways.decoder, decoder)} words={plain(read)} />;
}

function Chip({ at, words }: { at: { x: number; y: number }; words: string }) {
  return (
    <span
      class="map-pulse"
      aria-hidden="true"
      style={{ transform: `translate(${at.x}px, ${at.y}px) translate(-50%, -50%)` }}
    >
      {words}
    </span>
  );
}

/* Movement: how much of the present step has been drawn. */

/** A share, 0 to 1, that moves by itself when decoding goes one step on; else it is 1. */
function useShare(trace: Trace, step: number): ReadonlySignal<number> {
  const share = useSignal(1);
  const before = useRef<{ trace: Trace; step: number } | null>(null);
  useLayoutEffect(() => {
    const was = before.current?.trace === trace ? before.current.step : null;
    before.current = { trace, step };
    share.value = 1;
    if (reducedMotion.peek() || !isMoving(was, step, playing.peek())) return;
    const length = duration(step, playing.peek() ? 1000 / speed.peek() : Number.POSITIVE_INFINITY);
    const start = performance.now();
    share.value = 0;
    const tick = (now: number): void => {
      share.value = Math.max(0, Math.min(1, (now - start) / length));
      if (share.peek() < 1) frame = requestAnimationFrame(tick);
    };
    let frame = requestAnimationFrame(tick);
    return () => {
      cancelAnimationFrame(frame);
    };
  }, [trace, step, share]);
  return share;
}

/* The lines between the boxes, and the sums where lines meet. */

/** All lines, as one picture behind the boxes. */
function Wires({ scene }: { scene: Scene }) {
  const { plan } = scene;
  const sums = plan.boxes.filter((box) => box.kind === "sum");
  return (
    <svg
      class="map-wires"
      width={plan.width}
      height={plan.height}
      viewBox={`0 0 ${plan.width} ${plan.height}`}
      aria-hidden="true"
    >
      {plan.frames.map((frame) => (
        <rect
          key={`${frame.stack}.${frame.layer}`}
          class="map-frame"
          x={frame.x + 0.5}
          y={frame.y + 0.5}
          width={frame.width - 1}
          height={frame.height - 1}
          rx={8}
        />
      ))}
      {plan.wires.map((wire) => (
        <WireView key={wire.id} wire={wire} scene={scene} />
      ))}
      <Labels plan={plan} />
      {sums.map((sum) => (
        <SumView key={sum.id} sum={sum} scene={scene} />
      ))}
    </svg>
  );
}

/** What travels on the two lines that leave a stack. */
function Labels({ plan }: { plan: Plan }) {
  const cross = plan.boxes.find((box) => box.kind === "cross");
  const output = plan.boxes.find((box) => box.kind === "output");
  const tokens = plan.boxes.find((box) => box.id === "decoder.tokens");
  if (!cross || !output || !tokens) return null;
  const [x, y] = [output.x + output.width + 34, (output.y + tokens.y + tokens.height) / 2];
  return (
    <>
      <text class="map-label" x={cross.x - 12} y={cross.y + cross.height / 2 - 7} text-anchor="end">
        K, V
      </text>
      <text
        class="map-label"
        x={x}
        y={y}
        text-anchor="middle"
        transform={`rotate(${plan.wide ? 90 : -90} ${x} ${y})`}
      >
        fed back
      </text>
    </>
  );
}

function WireView({ wire, scene }: { wire: Wire; scene: Scene }) {
  const state = useNow(scene, (now) => {
    if (wire.kind !== "feedback") return stateNow(now, wire.stack, wire.reached);
    return now.step > 0 && phasesNow(now).feedback > 0 ? "computed" : "waiting";
  });
  return (
    <g class={`map-wire map-wire-${wire.kind}`} data-wire={wire.id} data-state={state}>
      <path d={roundedPath(wire.points, 10)} />
      {wire.arrow && <path class="map-arrow" d={arrowHead(wire.points, 7)} />}
    </g>
  );
}

function SumView({ sum, scene }: { sum: Box; scene: Scene }) {
  const state = useNow(scene, (now) => stateNow(now, sum.stack, sum.reached));
  const [x, y, half] = [sum.x + sum.width / 2, sum.y + sum.height / 2, sum.width / 2];
  return (
    <g class="map-sum" data-state={state}>
      <circle cx={x} cy={y} r={half - 0.75} />
      <path d={`M${x - half + 4} ${y}H${x + half - 4}M${x} ${y - half + 4}V${y + half - 4}`} />
    </g>
  );
}
