/** Space: the states of the tokens as points, layer by layer, and the vocabulary near one of them. */
import { useRef } from "preact/hooks";
import { hasTensor, part, type Tensor } from "../../api/tensors.ts";
import type { Trace, TraceToken } from "../../api/types.ts";
import { Bars } from "../../drawing/Bars.tsx";
import { useWidth } from "../../drawing/Canvas.tsx";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { isSymbol, plain } from "../../drawing/pieces.ts";
import { Segmented } from "../../drawing/Segmented.tsx";
import { el, heading, path, picture, text } from "../../drawing/svg.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { NeedsServer } from "../../frame/Saved.tsx";
import { clampIndex } from "../../state/address.ts";
import { step } from "../../state/player.ts";
import { address, go, highlight } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { countLayers } from "../lens/headList.ts";
import { usePieces } from "../output/view.ts";
import type { Stack } from "../sublayer/Where.tsx";
import { nearestTokens, type Point, placeLabels, places } from "./points.ts";
import "./space.css";

const WIDTH = 620; // of the saved picture; the one on the page takes the room that it has
const LEAST_WIDTH = 300;
const LETTER = 7; // px, about

/** The panel. */
export default function SpacePanel() {
  return (
    <PanelFrame
      title="Space"
      lead="Each token is a point in a space of many dimensions, and every layer moves it."
    >
      {(trace) =>
        hasTensor(trace, "space.encoder.coordinates") ? (
          <Space trace={trace} />
        ) : (
          <NeedsServer what="show states as points, because it was saved without the network" />
        )
      }
    </PanelFrame>
  );
}

function Space({ trace }: { trace: Trace }) {
  const { side, layer: asked, query } = address.value;
  const stack: Stack = side === "encoder" ? "encoder" : "decoder";
  const tokens = stack === "encoder" ? trace.source_tokens : trace.target_tokens;
  const count = countLayers(trace.model, stack);
  const after = clampIndex(asked + 1, count + 1);
  const row = clampIndex(query ?? (stack === "encoder" ? 1 : step.value), tokens.length);
  const points = useTensor(trace, `space.${stack}.coordinates`);
  const explained = useTensor(trace, `space.${stack}.explained`);
  if (!points || !explained || points.shape[2] !== tokens.length) {
    return <p class="muted">Looking for the two main directions …</p>;
  }
  const seen = part(points, after);
  const isText = (at: number): boolean => !isSymbol(tokens[at]?.piece ?? "<s>");
  const names = tokens.map(({ piece }) => plain(piece));
  const [one = 0, two = 0] = part(explained, after).data;
  const stream = stack === "encoder" ? "source" : "target";
  return (
    <Figure
      name="space"
      title={`${stack === "encoder" ? "Source" : "Translation"}, ${after === 0 ? "as it enters" : `after layer ${after} of ${count}`}`}
      controls={
        <>
          <Segmented<Stack>
            label="Which sentence"
            choices={[
              { value: "encoder", name: "Source" },
              { value: "decoder", name: "Translation" },
            ]}
            value={stack}
            onChoose={(value) => go({ side: value, query: null })}
          />
          <label class="space-layer">
            Layer{" "}
            <input
              type="range"
              min={1}
              max={count}
              value={Math.max(1, after)}
              aria-valuetext={`after layer ${after}`}
              onInput={(event) =>
                go({ layer: Number(event.currentTarget.value) - 1 }, { replace: true })
              }
            />{" "}
            <span class="num">{after}</span>
          </label>
        </>
      }
      caption={
        <>
          The two directions in which the words of this sentence differ most here (principal
          components): {(100 * (one + two)).toFixed(0)} % of the differences lie in this plane;
          symbols may lie outside the picture. So points that look near may be far apart: the
          distances beside are the real ones, in all {trace.model.d_model} dimensions. The line is
          the way of the chosen token from its embedding on.
        </>
      }
      picture={() =>
        spacePicture(places(seen, after, isText, WIDTH, heightOf(WIDTH)), names, after, row)
      }
      table={() => ({
        columns: ["token", "layer", "first component", "second component"],
        rows: tokens.flatMap(({ piece }, at) =>
          Array.from({ length: count + 1 }, (_, level) => [
            piece,
            level,
            ...part(seen, level, at).data,
          ]),
        ),
      })}
    >
      <div class="space-two">
        <Plot {...{ seen, names, isText, stream, after, row }} />
        <Near trace={trace} stack={stack} after={after} row={row} tokens={tokens} />
      </div>
    </Figure>
  );
}

function heightOf(width: number): number {
  return Math.max(260, Math.round(0.64 * width));
}

interface PlotProps {
  seen: Tensor;
  names: string[];
  isText: (token: number) => boolean;
  stream: "source" | "target";
  after: number;
  row: number;
}

/** The points; a name that would cover another one is left out until its point is chosen. */
function Plot({ seen, names, isText, stream, after, row }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(LEAST_WIDTH, useWidth(box));
  const height = heightOf(width);
  const drawn = places(seen, after, isText, width, height);
  const points = drawn[after] ?? [];
  const labels = placeLabels(
    points,
    names.map((name) => LETTER * name.length + 6),
    [row, ...names.keys()],
    width,
  );
  return (
    <div ref={box}>
      <svg
        class="space-plot"
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label="States of the tokens as points"
      >
        <path class="space-way" d={way(drawn, after, row)} />
        {drawn.slice(0, after).map((level, at) => (
          <circle key={at} class="space-past" cx={level[row]?.x} cy={level[row]?.y} r={3} />
        ))}
        {names.map((name, at) => (
          <g
            key={at}
            class="space-point"
            role="button"
            tabindex={at === row ? 0 : -1}
            aria-pressed={at === row}
            aria-label={name}
            data-symbol={!isText(at)}
            transform={`translate(${points[at]?.x ?? 0} ${points[at]?.y ?? 0})`}
            onClick={() => go({ query: at }, { replace: true })}
            onKeyDown={(event) => move(event, row, names.length)}
            onPointerEnter={() => {
              highlight.value = { stream, index: at };
            }}
            onPointerLeave={() => {
              highlight.value = null;
            }}
          >
            <title>{name}</title>
            <circle r={5} />
            {labels[at] && (
              <text x={labels[at].x} y={labels[at].y} text-anchor={labels[at].anchor}>
                {name}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

function move(event: KeyboardEvent, row: number, count: number): void {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const to = clampIndex(row + by, count);
  go({ query: to }, { replace: true });
  const points = (event.currentTarget as Element).parentElement?.querySelectorAll(".space-point");
  (points?.[to] as SVGElement | undefined)?.focus();
}

function way(drawn: Point[][], after: number, row: number): string {
  return drawn
    .slice(0, after + 1)
    .map((level, at) => `${at === 0 ? "M" : "L"}${level[row]?.x ?? 0} ${level[row]?.y ?? 0}`)
    .join("");
}

interface NearProps {
  trace: Trace;
  stack: Stack;
  after: number;
  row: number;
  tokens: readonly TraceToken[];
}

/** Real distances to the other tokens, and the vocabulary entries that point the same way. */
function Near({ trace, stack, after, row, tokens }: NearProps) {
  const pieceOf = usePieces(trace);
  const distances = useTensor(trace, `space.${stack}.distances`, [after])?.data;
  const entries = useTensor(trace, `space.${stack}.nearest`, [after]);
  if (!distances || !entries) return <p class="muted">Measuring …</p>;
  const name = plain(tokens[row]?.piece ?? "");
  const near = nearestTokens(distances, tokens.length, row, 5);
  const found = part(entries, row);
  return (
    <div class="space-near" aria-live="polite">
      <h4>Tokens nearest to “{name}”</h4>
      <Bars
        label={`Distance of other tokens to ${name}`}
        bars={near.map(({ at, distance }) => ({ name: tokens[at]?.piece ?? "", value: distance }))}
        digits={2}
        pieces
      />
      <h4>Vocabulary entries that point the same way</h4>
      <Bars
        label={`Cosine of vocabulary entries to ${name}`}
        bars={Array.from({ length: found.shape[0] ?? 0 }, (_, at) => ({
          name: pieceOf(found.data[2 * at] ?? 0),
          value: found.data[2 * at + 1] ?? 0,
        }))}
        most={1}
        digits={2}
        pieces
      />
      <p class="muted">
        Above, the distance; below, the cosine with the entry’s embedding, at most{" "}
        <Num value={1} digits={0} />.
      </p>
    </div>
  );
}

function spacePicture(drawn: Point[][], names: string[], after: number, row: number) {
  const colours = palette();
  const marks = names.flatMap((name, at) => {
    const place = drawn[after]?.[at];
    if (!place) return [];
    const fill = at === row ? colours.accent : colours.ink;
    return [
      el("circle", { cx: place.x, cy: place.y + 30, r: 4, fill }),
      text(place.x + 8, place.y + 34, name, { "font-size": 12, fill }),
    ];
  });
  const line = way(
    drawn.map((level) => level.map(({ x, y }) => ({ x, y: y + 30 }))),
    after,
    row,
  );
  return picture(
    WIDTH,
    heightOf(WIDTH) + 30,
    colours,
    heading(12, 22, `States after layer ${after}`),
    path(line, { stroke: colours.accent }),
    ...marks,
  );
}
