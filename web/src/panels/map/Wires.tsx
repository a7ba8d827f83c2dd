/** The lines between the boxes, and the sums where lines meet. */

import type { Box, Plan, Wire } from "./layout.ts";
import { arrowHead, roundedPath } from "./layout.ts";
import { phasesNow, type Scene, stateNow, useNow } from "./scene.ts";

/** All lines, as one picture behind the boxes. */
export function Wires({ scene }: { scene: Scene }) {
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
