/** The charts of a run, one under the other on a phone, beside each other on a wide screen. */

import { useState } from "preact/hooks";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import type { Table } from "../../drawing/files.ts";
import { type Line, Lines, type LinesProps, linesPicture } from "../../drawing/Lines.tsx";
import { parseWhole } from "../../state/address.ts";
import { address, setExtra } from "../../state/store.ts";
import {
  type Course,
  lastStep,
  type Point,
  thinned,
  trainedPoints,
  validatedPoints,
} from "./course.ts";

/** One mark for all charts: the step under the pointer, or the one that was picked. */
export function Charts({ course }: { course: Course }) {
  const { extra } = address.value;
  const [pointed, setPointed] = useState<number | null>(null);
  const marked = parseWhole(extra.at, lastStep(course), null);
  const shared: Shared = {
    logX: extra.logx === "1",
    firstStep: course.trained[0]?.step ?? 1,
    lastStep: lastStep(course),
    at: pointed ?? marked,
    onPick: (step) => setExtra({ at: String(step) }, { replace: true }),
    onHover: setPointed,
  };
  return (
    <div class="training-charts">
      <div class="training-switches">
        <label>
          <input
            type="checkbox"
            checked={shared.logX}
            onChange={(event) =>
              setExtra({ logx: event.currentTarget.checked ? "1" : null }, { replace: true })
            }
          />{" "}
          steps on a logarithmic axis
        </label>
        <label>
          <input
            type="checkbox"
            checked={extra.perplexity === "1"}
            onChange={(event) =>
              setExtra({ perplexity: event.currentTarget.checked ? "1" : null }, { replace: true })
            }
          />{" "}
          loss as perplexity
        </label>
        {marked !== null && (
          <button
            type="button"
            class="quiet-button"
            onClick={() => setExtra({ at: null }, { replace: true })}
          >
            Remove the mark at step {marked}
          </button>
        )}
      </div>
      {buildCharts(course, extra.perplexity === "1").map((chart) => (
        <OneChart key={chart.name} chart={chart} shared={shared} />
      ))}
    </div>
  );
}

function OneChart({ chart, shared }: { chart: Chart; shared: Shared }) {
  const lines = buildLines(chart, shared);
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

/* Which lines are drawn of a run; every function is pure. */

const MOST_POINTS = 240; // of a line on the screen

/** A chart: how it is drawn, and all its points for a file. */
interface Chart {
  name: string;
  title: string;
  caption: string;
  y: string;
  logY: boolean;
  rangeY: [number, number] | null;
  series: { name: string; points: Point[]; dots: boolean }[];
}

/** Return the charts of a course; the first shows nats per token, or perplexity. */
export function buildCharts(course: Course, perplexity: boolean): Chart[] {
  return [lossChart(course, perplexity), scoreChart(course), ...optimiserCharts(course)];
}

function lossChart(course: Course, perplexity: boolean): Chart {
  const shown = (value: number) => (perplexity ? value : Math.log(value));
  const trained = trainedPoints(course, (line) => shown(line.perplexity));
  const validated = validatedPoints(course, (line) => shown(line.perplexity));
  return {
    name: perplexity ? "perplexity" : "loss",
    title: perplexity ? "Perplexity" : "Loss",
    caption:
      "Without label smoothing, so that training and dev set can be compared (section 5.4); perplexity is e to this power.",
    y: perplexity ? "perplexity" : "nats per token",
    logY: perplexity,
    rangeY: perplexity ? null : fromZero([...trained, ...validated]),
    series: [
      { name: "training", points: trained, dots: false },
      { name: "dev set", points: validated, dots: true },
    ],
  };
}

function scoreChart(course: Course): Chart {
  return {
    name: "scores",
    title: "BLEU and chrF",
    caption: course.validated.at(-1)?.signatures.join("; ") ?? "Of the dev set’s translations.",
    y: "score",
    logY: false,
    rangeY: [0, 100],
    series: [
      { name: "BLEU", points: validatedPoints(course, ({ bleu }) => bleu), dots: true },
      { name: "chrF", points: validatedPoints(course, ({ chrf }) => chrf), dots: true },
    ],
  };
}

function optimiserCharts(course: Course): Chart[] {
  const single = (
    name: string,
    title: string,
    caption: string,
    y: string,
    points: Point[],
    logY = false,
  ): Chart => {
    return {
      name,
      title,
      caption,
      y,
      logY,
      rangeY: logY ? null : fromZero(points),
      series: [{ name: title.toLowerCase(), points, dots: false }],
    };
  };
  return [
    single(
      "learning-rate",
      "Learning rate",
      "It rises first, and falls later (section 5.3).",
      "rate",
      trainedPoints(course, (line) => line.learning_rate),
    ),
    single(
      "gradient-norm",
      "Gradient norm",
      "Length of the gradient before clipping.",
      "norm",
      trainedPoints(course, (line) => line.gradient_norm),
      true,
    ),
    single(
      "speed",
      "Speed",
      "Target tokens per second.",
      "tokens per second",
      trainedPoints(course, (line) => line.tokens / line.seconds),
    ),
  ];
}

/** Return an axis from 0 to a little above the largest value; null where there is nothing above 0. */
function fromZero(points: Point[]): [number, number] | null {
  const most = points.reduce(
    (high, { value }) => (Number.isFinite(value) ? Math.max(high, value) : high),
    0,
  );
  return most > 0 ? [0, most * 1.05] : null;
}

/** What all charts of a run share. */
interface Shared {
  logX: boolean;
  firstStep: number;
  lastStep: number;
  at: number | null;
  onPick?: (step: number) => void;
  onHover?: (step: number | null) => void;
}

/** Return what the line chart takes; long lines are thinned. */
export function buildLines(chart: Chart, shared: Shared): LinesProps {
  const lines: Line[] = chart.series.map(({ name, points, dots }, colour) => ({
    name,
    points: thinned(points, MOST_POINTS).map(({ step, value }) => [step, value] as const),
    colour,
    dots,
    dashed: dots && colour > 0 && chart.series.length > 1,
  }));
  return {
    lines,
    label: chart.title,
    x: "step",
    y: chart.y,
    logX: shared.logX,
    logY: chart.logY,
    height: 280,
    at: shared.at,
    rangeX: [shared.logX ? Math.max(1, shared.firstStep) : 0, Math.max(1, shared.lastStep)],
    ...(chart.rangeY ? { rangeY: chart.rangeY } : {}),
    ...(shared.onPick ? { onPick: shared.onPick } : {}),
    ...(shared.onHover ? { onHover: shared.onHover } : {}),
  };
}

/** Return all points of a chart, unthinned, a line each. */
export function chartTable(chart: Chart): Table {
  return {
    columns: ["step", "series", chart.y],
    rows: chart.series.flatMap(({ name, points }) =>
      points.map(({ step, value }) => [step, name, value]),
    ),
  };
}
