/** Space: the states of the tokens as points, layer by layer, and the vocabulary near one of them. */
import { hasTensor, part } from "../../api/tensors.ts";
import type { Trace, TraceToken } from "../../api/types.ts";
import { Bars } from "../../drawing/Bars.tsx";
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
import { nearestTokens, type Point, places } from "./points.ts";
import "./space.css";

const WIDTH = 620;
const HEIGHT = 400;

/** The panel. */
export default function SpacePanel() {
  return (
    <PanelFrame
      title="Space"
      lead="Each token is a point in a space of many dimensions, and moves with every layer. Tokens that mean alike come near each other."
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
  const drawn = places(seen, after, isText, WIDTH, HEIGHT);
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
      picture={() => spacePicture(drawn, tokens, after, row)}
      table={() => ({
        columns: ["token", "layer", "first component", "second component"],
        rows: tokens.flatMap(({ piece }, at) =>
          drawn.map((_, level) => [piece, level, ...part(seen, level, at).data]),
        ),
      })}
    >
      <div class="space-two">
        <svg
          class="space-plot"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          role="group"
          aria-label="States of the tokens as points"
        >
          <path class="space-way" d={way(drawn, after, row)} />
          {drawn.slice(0, after).map((level, at) => (
            <circle key={at} class="space-past" cx={level[row]?.x} cy={level[row]?.y} r={3} />
          ))}
          {tokens.map(({ piece }, at) => {
            const place = drawn[after]?.[at];
            return (
              <g
                key={at}
                class="space-point"
                role="button"
                tabindex={at === row ? 0 : -1}
                aria-pressed={at === row}
                aria-label={plain(piece)}
                data-symbol={isSymbol(piece)}
                transform={`translate(${place?.x ?? 0} ${place?.y ?? 0})`}
                onClick={() => go({ query: at }, { replace: true })}
                onKeyDown={(event) => move(event, row, tokens.length)}
                onPointerEnter={() => {
                  highlight.value = { stream, index: at };
                }}
                onPointerLeave={() => {
                  highlight.value = null;
                }}
              >
                <circle r={5} />
                <text x={8} y={4}>
                  {plain(piece)}
                </text>
              </g>
            );
          })}
        </svg>
        <Near trace={trace} stack={stack} after={after} row={row} tokens={tokens} />
      </div>
    </Figure>
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

function spacePicture(drawn: Point[][], tokens: readonly TraceToken[], after: number, row: number) {
  const colours = palette();
  const marks = tokens.flatMap(({ piece }, at) => {
    const place = drawn[after]?.[at];
    if (!place) return [];
    const fill = at === row ? colours.accent : colours.ink;
    return [
      el("circle", { cx: place.x, cy: place.y + 30, r: 4, fill }),
      text(place.x + 8, place.y + 34, plain(piece), { "font-size": 12, fill }),
    ];
  });
  const line = way(
    drawn.map((level) => level.map(({ x, y }) => ({ x, y: y + 30 }))),
    after,
    row,
  );
  return picture(
    WIDTH,
    HEIGHT + 30,
    colours,
    heading(12, 22, `States after layer ${after}`),
    path(line, { stroke: colours.accent }),
    ...marks,
  );
}
