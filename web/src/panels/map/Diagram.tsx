/** The map itself: boxes over lines, the token on its way, and what one points at. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { Trace } from "../../api/types.ts";
import { useWidth } from "../../drawing/useWidth.ts";
import { BoxView } from "./BoxView.tsx";
import { Inspector } from "./Inspector.tsx";
import { type Box, type Plan, placeStyle, planOf } from "./layout.ts";
import { Pulse } from "./Pulse.tsx";
import { layersOf } from "./parts.ts";
import { type Scene, sizesOf } from "./scene.ts";
import { useShare } from "./useShare.ts";
import { Wires } from "./Wires.tsx";

/** Draws the network of a trace at a step, one layer of each stack open. */
export function Diagram({ trace, step, layer }: { trace: Trace; step: number; layer: number }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const plan = useMemo(
    () => (width > 0 ? planOf(trace.model, width, layer) : null),
    [trace.model, width, layer],
  );
  const share = useShare(trace, step);
  return (
    <div class="map-room" ref={frame}>
      {plan && <Drawing scene={{ trace, step, plan, sizes: sizesOf(trace, step), share }} />}
    </div>
  );
}

function Drawing({ scene }: { scene: Scene }) {
  const { plan } = scene;
  const [pointed, point] = useState<string | null>(null);
  const [focused, focus] = useState<string | null>(null);
  const shown = plan.boxes.find((box) => box.id === (pointed ?? focused));
  const look = { scene, box: shown ?? usual(plan), pointed: shown !== undefined };
  return (
    <>
      {!plan.inspector && <Inspector {...look} width={plan.width} height={250} />}
      <div class="map-drawing" style={{ width: `${plan.width}px`, height: `${plan.height}px` }}>
        <Wires scene={scene} />
        <FrameNames scene={scene} />
        {plan.boxes.map(
          (box) =>
            box.kind !== "sum" && (
              <BoxView
                key={box.id}
                box={box}
                scene={scene}
                onPoint={(at) => point(at?.id ?? null)}
                onFocus={(at) => focus(at?.id ?? null)}
              />
            ),
        )}
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
        {encoder ? "Encoder" : "Decoder"} layer {frame.layer} of 0 to{" "}
        {layersOf(trace.model, frame.stack) - 1}
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
