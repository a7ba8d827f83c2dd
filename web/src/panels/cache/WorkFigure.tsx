/** Multiplications with and without the cache, summed over the steps. */

import type { Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Lines, type LinesProps, linesPicture } from "../../drawing/Lines.tsx";
import { Whole } from "../../drawing/Number.tsx";
import { jump } from "../../state/player.ts";
import { accountStep, accountTable, running } from "./account.ts";

/** The two curves, and the numbers of the present step. */
export function WorkFigure({ trace, step }: { trace: Trace; step: number }) {
  const at = accountStep(trace.cache, step);
  const chart = buildChart(trace, at);
  const here = trace.cache.steps[at];
  return (
    <Figure
      name="cache-work"
      title="Multiplications so far"
      caption="Products of two numbers in the decoder's matrix products. Without the cache a step reads the whole prefix, and projects the source, again. The very first step gains nothing."
      picture={() => linesPicture(chart, palette())}
      table={() => accountTable(trace.cache)}
    >
      <Lines {...chart} onPick={(x) => jump(x - 1)} />
      {here && (
        <p class="cache-here">
          Step {at + 1} alone: <Whole value={here.multiplications} /> with the cache,{" "}
          <Whole value={here.without_cache} /> without.
        </p>
      )}
    </Figure>
  );
}

/** The curves in millions, one point per step. */
function buildChart(trace: Trace, at: number): LinesProps {
  const sums = running(trace.cache);
  const line = (pick: (index: number) => number) =>
    sums.map((_, index) => [index + 1, pick(index) / 1e6] as const);
  return {
    lines: [
      { name: "with the cache", points: line((i) => sums[i]?.multiplications ?? 0), dots: true },
      {
        name: "without it",
        points: line((i) => sums[i]?.withoutCache ?? 0),
        colour: 1,
        dashed: true,
        dots: true,
      },
    ],
    label: "Multiplications so far",
    x: "step",
    y: "millions",
    rangeY: [0, Math.max(1e-6, (sums.at(-1)?.withoutCache ?? 0) / 1e6)],
    at: at + 1,
  };
}
