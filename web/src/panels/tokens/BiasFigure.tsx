/** Relative positions: the trained bias that each head adds to a score, by distance. */

import { type Tensor, value } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { type Line, Lines, linesPicture } from "../../drawing/Lines.tsx";
import { useTensor } from "../../state/useTensor.ts";

/** The bias of each head for every distance from query to key, (H, S, S) read along diagonals. */
export function biasByDistance(mask: Tensor): Line[] {
  const [heads = 0, length = 0] = mask.shape;
  return Array.from({ length: heads }, (_, head) => ({
    name: `head ${head + 1}`,
    points: Array.from({ length: 2 * length - 1 }, (__, at) => {
      const distance = at - (length - 1);
      const query = Math.max(0, -distance);
      return [distance, value(mask, head, query, query + distance)] as const;
    }),
  }));
}

/** A curve a head. */
export function BiasFigure({ trace }: { trace: Trace }) {
  const mask = useTensor(trace, "encoder.0.self_attention.mask");
  if (!mask) return null;
  const lines = biasByDistance(mask);
  const chart = { lines, label: "Bias by distance", x: "distance from query to key", y: "bias" };
  return (
    <Figure
      name="position-bias"
      title="Bias by distance"
      caption="What the encoder's heads add to a score for the distance of the two tokens."
      picture={() => linesPicture(chart, palette())}
      table={() => ({
        columns: ["head", "distance", "bias"],
        rows: lines.flatMap((line) => line.points.map(([x, y]) => [line.name, x, y])),
      })}
    >
      <Lines {...chart} />
    </Figure>
  );
}
