/** The charts of a run, one under the other on a phone, beside each other on a wide screen. */
import { useState } from "preact/hooks";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Lines, linesPicture } from "../../drawing/Lines.tsx";
import { address } from "../../state/store.ts";
import { wholeOf } from "../output/extra.ts";
import { type Chart, chartsOf, chartTable, linesOf, type Shared } from "./charts.ts";
import { type Course, lastStep } from "./course.ts";
import { keep } from "./keep.ts";

/** One mark for all charts: the step under the pointer, or the one that was picked. */
export function Charts({ course }: { course: Course }) {
  const { extra } = address.value;
  const [pointed, setPointed] = useState<number | null>(null);
  const marked = wholeOf(extra.at, lastStep(course), null);
  const shared: Shared = {
    logX: extra.logx === "1",
    firstStep: course.trained[0]?.step ?? 1,
    lastStep: lastStep(course),
    at: pointed ?? marked,
    onPick: (step) => keep({ at: String(step) }),
    onHover: setPointed,
  };
  return (
    <div class="training-charts">
      <div class="training-switches">
        <label>
          <input
            type="checkbox"
            checked={shared.logX}
            onChange={(event) => keep({ logx: event.currentTarget.checked ? "1" : "" })}
          />{" "}
          steps on a logarithmic axis
        </label>
        <label>
          <input
            type="checkbox"
            checked={extra.perplexity === "1"}
            onChange={(event) => keep({ perplexity: event.currentTarget.checked ? "1" : "" })}
          />{" "}
          loss as perplexity
        </label>
        {marked !== null && (
          <button type="button" class="quiet-button" onClick={() => keep({ at: "" })}>
            Forget the mark at step {marked}
          </button>
        )}
      </div>
      {chartsOf(course, extra.perplexity === "1").map((chart) => (
        <OneChart key={chart.name} chart={chart} shared={shared} />
      ))}
    </div>
  );
}

function OneChart({ chart, shared }: { chart: Chart; shared: Shared }) {
  const lines = linesOf(chart, shared);
  return (
    <Figure
      name={`training-${chart.name}`}
      title={chart.title}
      caption={chart.caption}
      picture={() => linesPicture(lines, palette())}
      table={() => chartTable(chart)}
    >
      <Lines {...lines} />
    </Figure>
  );
}
