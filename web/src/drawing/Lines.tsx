/** A line chart with axes. */
import { useRef, useState } from "preact/hooks";
import { useWidth } from "./Canvas.tsx";
import { type Palette, palette, series } from "./colours.ts";
import { counted, readOff } from "./Number.tsx";
import { group, line, type Picture, path, picture, text, tidy } from "./svg.ts";

/** One line. */
export interface Line {
  name: string;
  points: readonly (readonly [number, number])[];
  /** Number of its colour; its place in the list, if not given. */
  colour?: number;
  /** Broken, so that two lines differ by more than colour. */
  dashed?: boolean;
  /** Dots at the points. */
  dots?: boolean;
}

/** What Lines needs. */
export interface LinesProps {
  lines: readonly Line[];
  label: string;
  x: string;
  y: string;
  logX?: boolean;
  logY?: boolean;
  height?: number;
  /** Ends of the axes, where the data's own are not wanted. */
  rangeX?: readonly [number, number];
  rangeY?: readonly [number, number];
  /** A marked place on the x axis: what the lines are read out at. */
  at?: number | null;
  /** The place under the pointer, so that several charts can share one mark. */
  onHover?: (x: number | null) => void;
  onPick?: (x: number) => void;
}

interface Frame {
  width: number;
  height: number;
  low: [number, number];
  high: [number, number];
  props: LinesProps;
}

const NARROWEST = 240;
const EDGE = { left: 52, right: 14, top: 12, bottom: 40 };

/**
 * The chart, as wide as its box. The values under the pointer are read out below it; where a place
 * can be picked, the arrow keys move from point to point and Enter picks.
 */
export function Lines(props: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(NARROWEST, useWidth(box));
  const [near, setNear] = useState<number | null>(null);
  const colours = palette();
  const frame = computeFrame(props, width);
  const mark = near ?? props.at ?? null;
  const hover = (x: number | null): void => {
    setNear(x);
    if (x !== near) props.onHover?.(x);
  };
  const xAt = (event: MouseEvent): number | null => {
    const edge = box.current?.getBoundingClientRect();
    return edge ? nearest(frame, event.clientX - edge.left) : null;
  };
  const pick = (x: number | null): void => {
    if (x !== null) props.onPick?.(x);
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "Enter") pick(mark);
    else if (event.key === "ArrowRight") hover(neighbour(props.lines, mark, 1));
    else if (event.key === "ArrowLeft") hover(neighbour(props.lines, mark, -1));
    else return;
    event.preventDefault();
  };
  const pickable = props.onPick !== undefined;
  return (
    <div class="lines">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the role depends on what it is for */}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles have a name */}
      <div
        ref={box}
        class="lines-box"
        role={pickable ? "application" : "img"}
        aria-label={`${props.label}. ${summary(props)}`}
        tabIndex={pickable ? 0 : undefined}
        data-own-keys={pickable ? "" : undefined}
        onKeyDown={pickable ? keys : undefined}
        onPointerMove={(event) => hover(xAt(event))}
        onPointerLeave={() => hover(null)}
        onClick={(event) => pick(xAt(event))}
        // The text is built by svg.ts, which escapes every word.
        dangerouslySetInnerHTML={{ __html: chart(frame, colours, mark).svg }}
      />
      <p class="lines-words" aria-live={pickable ? "polite" : undefined}>
        {mark !== null && (
          <span>
            {props.x} <span class="num">{counted(mark)}</span>
          </span>
        )}
        {props.lines.map((one, index) => (
          <Legend key={one.name} line={one} index={index} x={mark} colours={colours} />
        ))}
      </p>
    </div>
  );
}

/** The next point of any line to the right (1) or to the left (−1) of a place. */
export function neighbour(lines: readonly Line[], from: number | null, way: 1 | -1): number | null {
  const xs = [...new Set(lines.flatMap((one) => one.points.map(([x]) => x)))];
  xs.sort((a, b) => way * (a - b));
  const next = xs.find((x) => from === null || way * (x - from) > 0);
  return next ?? from;
}

function Legend(props: { line: Line; index: number; x: number | null; colours: Palette }) {
  const { line: one, index, x } = props;
  const value = x === null ? undefined : one.points.findLast(([at]) => at <= x)?.[1];
  return (
    <span class="lines-legend">
      <span
        class={one.dashed ? "lines-swatch lines-dashed" : "lines-swatch"}
        style={{ borderTopColor: series(one.colour ?? index, props.colours) }}
      />
      {one.name}
      {value !== undefined && (
        <span class="num" data-value={String(value)}>
          {" "}
          {readOff(value)}
        </span>
      )}
    </span>
  );
}

/** The same chart as a picture to save. */
export function linesPicture(props: LinesProps, colours: Palette, width = 640): Picture {
  return chart(computeFrame(props, width), colours, props.at ?? null);
}

function computeFrame(props: LinesProps, width: number): Frame {
  const xs = extent(
    props.lines.flatMap((one) => one.points.map(([x]) => x)).filter(drawn(props.logX)),
  );
  const ys = extent(
    props.lines.flatMap((one) => one.points.map(([, y]) => y)).filter(drawn(props.logY)),
  );
  const [lowX, highX] = props.rangeX ?? xs;
  const [lowY, highY] = props.rangeY ?? ys;
  return { width, height: props.height ?? 240, low: [lowX, lowY], high: [highX, highY], props };
}

function drawn(log: boolean | undefined): (value: number) => boolean {
  return (value) => Number.isFinite(value) && (!log || value > 0);
}

function placeX(frame: Frame, x: number): number {
  const room = frame.width - EDGE.left - EDGE.right;
  return EDGE.left + room * share(x, frame.low[0], frame.high[0], frame.props.logX);
}

function placeY(frame: Frame, y: number): number {
  const room = frame.height - EDGE.top - EDGE.bottom;
  return EDGE.top + room * (1 - share(y, frame.low[1], frame.high[1], frame.props.logY));
}

function nearest(frame: Frame, pixel: number): number | null {
  const xs = frame.props.lines.flatMap((one) => one.points.map(([x]) => x));
  let best: number | null = null;
  for (const x of xs) {
    const closer =
      best === null || Math.abs(placeX(frame, x) - pixel) < Math.abs(placeX(frame, best) - pixel);
    if (closer) best = x;
  }
  return best;
}

function chart(frame: Frame, colours: Palette, mark: number | null): Picture {
  const { props, width, height } = frame;
  const bottom = height - EDGE.bottom;
  const middle = (EDGE.left + width - EDGE.right) / 2;
  return picture(
    width,
    height,
    colours,
    ...axisX(frame, colours),
    ...axisY(frame, colours),
    text(middle, height - 6, props.x, { "text-anchor": "middle", fill: colours.muted }),
    text(0, 0, props.y, {
      transform: `translate(12 ${tidy((EDGE.top + bottom) / 2)}) rotate(-90)`,
      "text-anchor": "middle",
      fill: colours.muted,
    }),
    mark === null
      ? ""
      : line(placeX(frame, mark), EDGE.top, placeX(frame, mark), bottom, {
          stroke: colours.accent,
        }),
    ...props.lines.map((one, index) => curve(frame, one, series(one.colour ?? index, colours))),
  );
}

function axisX(frame: Frame, colours: Palette): string[] {
  const bottom = frame.height - EDGE.bottom;
  const marks = frame.props.logX
    ? powers(frame.low[0], frame.high[0])
    : ticks(frame.low[0], frame.high[0], Math.max(2, Math.floor(frame.width / 90)));
  return marks.map((x) => {
    const at = placeX(frame, x);
    return group(
      {},
      line(at, bottom, at, bottom + 4, { stroke: colours.muted }),
      text(at, bottom + 17, tickLabel(x), {
        "text-anchor": "middle",
        "font-size": 11,
        fill: colours.muted,
      }),
    );
  });
}

function axisY(frame: Frame, colours: Palette): string[] {
  const marks = frame.props.logY
    ? powers(frame.low[1], frame.high[1])
    : ticks(frame.low[1], frame.high[1], Math.max(2, Math.floor(frame.height / 45)));
  return marks.map((y) => {
    const at = placeY(frame, y);
    return group(
      {},
      line(EDGE.left, at, frame.width - EDGE.right, at, { stroke: colours.line }),
      text(EDGE.left - 6, at + 4, tickLabel(y), {
        "text-anchor": "end",
        "font-size": 11,
        fill: colours.muted,
      }),
    );
  });
}

function curve(frame: Frame, one: Line, colour: string): string {
  const [goodX, goodY] = [drawn(frame.props.logX), drawn(frame.props.logY)];
  const points = one.points.filter(([x, y]) => goodX(x) && goodY(y));
  const d = points
    .map(
      ([x, y], at) => `${at === 0 ? "M" : "L"}${tidy(placeX(frame, x))} ${tidy(placeY(frame, y))}`,
    )
    .join("");
  const dots = one.dots
    ? points.map(([x, y]) =>
        path(`M${tidy(placeX(frame, x))} ${tidy(placeY(frame, y))}h0`, {
          stroke: colour,
          "stroke-width": 6,
          "stroke-linecap": "round",
        }),
      )
    : [];
  const stroke = { stroke: colour, "stroke-width": 1.8, "stroke-linejoin": "round" };
  return group({}, path(d, { ...stroke, "stroke-dasharray": one.dashed ? "5 4" : null }), ...dots);
}

/** What the lines end with, for people who do not see them. */
export function summary(props: Pick<LinesProps, "lines">): string {
  return props.lines
    .map((one) => {
      const last = one.points.at(-1);
      return last
        ? `${one.name}: last ${readOff(last[1])} at ${tickLabel(last[0])}`
        : `${one.name}: empty`;
    })
    .join("; ");
}

/* Scales of a chart: round ticks, and where a value lies. Pure. */

/** Round values between two ends: 1, 2 or 5 times a power of ten apart, at most `most` of them. */
export function ticks(low: number, high: number, most = 6): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  const rough = (high - low) / Math.max(1, most - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const gap = ([1, 2, 5, 10].find((times) => times * power >= rough * 0.999) ?? 10) * power;
  const first = Math.ceil(low / gap - 1e-9);
  const last = Math.floor(high / gap + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => tidyTick((first + at) * gap));
}

/** Powers of ten between two ends, both above 0. */
export function powers(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const found = Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at));
  return found.length >= 2 ? found : ticks(low, high);
}

function tidyTick(value: number): number {
  return Number(value.toPrecision(12));
}

/** Where a value lies between two ends, 0 to 1. */
export function share(value: number, low: number, high: number, log = false): number {
  if (log) return share(Math.log10(value), Math.log10(low), Math.log10(high));
  return high > low ? (value - low) / (high - low) : 0.5;
}

/** The ends of a set of values; `fallback` where there are none. */
export function extent(
  values: readonly number[],
  fallback: readonly [number, number] = [0, 1],
): [number, number] {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [fallback[0], fallback[1]];
  return [
    finite.reduce((low, value) => Math.min(low, value)),
    finite.reduce((high, value) => Math.max(high, value)),
  ];
}

/** A tick in few letters: 20k, 0.001, 1e-6. */
export function tickLabel(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  if (size < 1e-3) return value.toExponential().replace("e-", "e−").replace(/^-/, "−");
  return String(Number(value.toPrecision(6))).replace("-", "−");
}
