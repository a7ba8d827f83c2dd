/** Which positions were computed and which reused, step by step. */
import { useRef } from "preact/hooks";
import type { CacheUsage, Trace } from "../../api/types.ts";
import { useWidth } from "../../drawing/Canvas.tsx";
import { type Palette, palette } from "../../drawing/colours.ts";
import { Figure, Scrolled } from "../../drawing/Figure.tsx";
import { el, type Picture, picture, rect, text } from "../../drawing/svg.ts";
import { jump, steps } from "../../state/player.ts";
import { accountStep, accountTable } from "./account.ts";

const REUSED = 0.26; // opacity of what was not computed again

interface Props {
  trace: Trace;
  step: number;
}

/** The triangle; the line of the present step is marked, a click goes to another. */
export function TriangleFigure({ trace, step }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { cache } = trace;
  const at = accountStep(cache, step);
  const colours = palette();
  return (
    <Figure
      name="cache-triangle"
      title="Computed and reused"
      caption={<Caption trace={trace} />}
      picture={() => trianglePicture(trace, at, colours, 760)}
      table={() => accountTable(cache)}
    >
      <div ref={box}>
        <Scrolled label="Computed and reused, step by step">
          {width > 0 && <Drawn trace={trace} at={at} width={width} colours={colours} />}
        </Scrolled>
      </div>
      <ul class="cache-key" aria-label="Key">
        <li>
          <span data-kind="computed" /> computed
        </li>
        <li>
          <span data-kind="reused" /> reused
        </li>
        <li>
          <span data-kind="later" /> not yet
        </li>
      </ul>
    </Figure>
  );
}

function Drawn(props: { trace: Trace; at: number; width: number; colours: Palette }) {
  const { trace, at, width, colours } = props;
  const account = trace.cache;
  const place = triangle(account.steps.length, width);
  const drawing = body(trace, place, at, colours);
  return (
    <div class="cache-lines" style={{ width: `${place.width}px`, height: `${place.height}px` }}>
      <svg
        width={place.width}
        height={place.height}
        viewBox={`0 0 ${place.width} ${place.height}`}
        role="img"
        aria-label={`At step ${at + 1} each row computes 1 position and reuses ${at}.`}
        // The text is built by svg.ts, which escapes every word.
        dangerouslySetInnerHTML={{ __html: drawing }}
      />
      <StepButtons place={place} at={at} />
    </div>
  );
}

/** Every line can be gone to; where lines are too thin to point at, by the player alone. */
function StepButtons({ place, at }: { place: Triangle; at: number }) {
  if (place.line < 24) return null;
  return (
    <>
      {Array.from({ length: Math.min(place.steps, steps.value) }, (_, step) => (
        <button
          key={step}
          type="button"
          class="cache-step"
          aria-label={`Go to step ${step + 1}`}
          aria-current={step === at ? "step" : undefined}
          style={{
            top: `${place.top + step * place.line}px`,
            height: `${place.line}px`,
            width: `${place.left + (step + 1) * place.cell}px`,
          }}
          onClick={() => jump(step)}
        />
      ))}
    </>
  );
}

/** The triangle as SVG text. */
function body(trace: Trace, place: Triangle, at: number, colours: Palette): string {
  const account = trace.cache;
  const often = Math.ceil(22 / place.cell);
  const seldom = Math.ceil(14 / place.line);
  const names = account.steps.map((_, step) =>
    step % seldom === 0 || step === at
      ? text(56, place.top + (step + 0.5) * place.line + 3, `step ${step + 1}`, {
          "text-anchor": "end",
          "font-size": 11,
          "font-weight": step === at ? 700 : null,
          fill: step === at ? colours.accent : colours.muted,
        })
      : "",
  );
  const positions = account.steps.map((_, position) =>
    position % often === 0
      ? text(place.left + (position + 0.5) * place.cell - 1, 13, `${position + 1}`, small(colours))
      : "",
  );
  const cells = runs(account, place).map((run) => cell(run, at, account.source_positions, colours));
  const mark = rect(0.5, place.top + at * place.line - 1.5, place.width - 1, place.line + 1, {
    fill: "none",
    stroke: colours.accent,
    rx: 4,
  });
  return [
    text(64 + 38, 13, `source 1–${account.source_positions}`, small(colours)),
    ...positions,
    ...names,
    ...cells,
    mark,
  ].join("");
}

function small(colours: Palette) {
  return { "text-anchor": "middle", "font-size": 10, fill: colours.muted };
}

/** One run: solid where computed, pale where reused, an outline where it is still to come. */
function cell(run: Run, at: number, source: number, colours: Palette): string {
  const { x, y, width, height, step, kind } = run;
  const common = { rx: Math.min(2, height / 3) };
  if (step > at) {
    return rect(x, y, width, height, { ...common, fill: colours.masked, "fill-opacity": 0.6 });
  }
  const isNew = kind === "computed" || (kind === "source" && step === 0);
  const shade = { fill: colours.accent, "fill-opacity": isNew ? null : REUSED };
  const title = el("title", {}, describeRun(run, source, isNew));
  return el("rect", { x, y, width, height, ...common, ...shade }, title);
}

function describeRun({ kind, row, step }: Run, source: number, isNew: boolean): string {
  const done = isNew ? "computed" : "reused";
  if (kind === "source") return `${source} source positions, ${done}`;
  const which = kind === "computed" ? `position ${step + 1}` : `positions 1 to ${step}`;
  return `step ${step + 1}, row ${row + 1}: ${which} ${done}`;
}

/** The triangle as a picture to save. */
function trianglePicture(trace: Trace, at: number, colours: Palette, width: number): Picture {
  const place = triangle(trace.cache.steps.length, width);
  return picture(place.width, place.height, colours, body(trace, place, at, colours));
}

function Caption({ trace }: { trace: Trace }) {
  const { cache, steps: written } = trace;
  const rows = cache.steps[0]?.rows ?? 1;
  const beam =
    rows > 1
      ? `Each line has ${rows} thin rows, one per hypothesis of the beam.`
      : "One hypothesis, one row.";
  const more = cache.steps.length - written.length;
  const longer =
    more > 0
      ? ` The search took ${more === 1 ? "one step" : `${more} steps`} more than the translation has, to make sure that nothing beats it.`
      : "";
  return (
    <>
      A column is a target position; left of them the source, whose keys and values are projected
      once, at the first step, and shared by all rows. {beam}
      {longer}
    </>
  );
}

/*
 * The triangle: one line per step, one column per position.
 *
 *     step 1   ■                    ■ computed   □ reused, in each of the rows of the beam
 *     step 2   □ ■
 *     step 3   □ □ ■
 */

/** Geometry of the triangle, in px. */
interface Triangle {
  /** Width and height of the cell of one position at one step. */
  cell: number;
  line: number;
  left: number;
  top: number;
  width: number;
  height: number;
  steps: number;
}

/** A run of cells of one row of the beam. */
export interface Run {
  step: number;
  row: number;
  kind: "computed" | "reused" | "source";
  x: number;
  y: number;
  width: number;
  height: number;
}

const LEFT = 64; // for the names of the steps
const TOP = 20; // for the numbers of the positions
const SOURCE = 92; // for the source's keys and values, beside the names

const TALLEST = 520; // px of all lines together, unless there are very many
const THIN = 1.5; // px below which the rows of a beam are drawn as one

/** Returns the geometry that fits the width. */
export function triangle(steps: number, available: number): Triangle {
  const left = LEFT + SOURCE;
  const count = Math.max(1, steps);
  const cell = Math.max(3, Math.min(34, Math.floor((available - left - 8) / count)));
  const line = Math.max(3, Math.min(24, Math.floor(TALLEST / count)));
  return {
    cell,
    line,
    left,
    top: TOP,
    width: left + steps * cell + 8,
    height: TOP + steps * line + 4,
    steps,
  };
}

/** Returns all runs: of each step the source's, which all rows share, and a row's two parts. */
export function runs(account: CacheUsage, place: Triangle): Run[] {
  const space = place.line >= 6 ? 2 : 1;
  return account.steps.flatMap((one, step) => {
    const y = place.top + step * place.line;
    const source: Run = {
      step,
      row: 0,
      kind: "source",
      x: LEFT,
      y,
      width: SOURCE - 16,
      height: place.line - space,
    };
    const thick = (place.line - space) / one.rows;
    const rows = thick < THIN ? 1 : one.rows;
    const height = thick < THIN ? place.line - space : thick;
    const lines = Array.from({ length: rows }, (_, row) => {
      const within = { step, row, y: y + row * height, height: height >= 4 ? height - 1 : height };
      return rowRuns(within, one.length - 1, place);
    });
    return [source, ...lines.flat()];
  });
}

type Within = Pick<Run, "step" | "row" | "y" | "height">;

/** The two parts of a row: what it reads from the cache, and the newest position. */
function rowRuns(within: Within, before: number, place: Triangle): Run[] {
  const gap = place.cell >= 6 ? 2 : 0;
  const reused = before * place.cell;
  const computed: Run = {
    ...within,
    kind: "computed",
    x: place.left + reused,
    width: place.cell - gap,
  };
  if (reused === 0) return [computed];
  return [computed, { ...within, kind: "reused", x: place.left, width: reused - gap }];
}
