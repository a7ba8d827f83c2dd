/** One head as lines between tokens: on a canvas, with the tokens as buttons above it. */
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Tensor } from "../../api/tensors.ts";
import { palette } from "../../drawing/colours.ts";
import { LABEL_FONT } from "../../drawing/matrixPaint.ts";
import { step } from "../../state/player.ts";
import { highlight } from "../../state/store.ts";
import { paintCurves } from "./arcsPaint.ts";
import { curvesOf, type Stage, stageOf } from "./curves.ts";
import { marked } from "./marked.ts";
import { TokenButtons } from "./TokenButtons.tsx";
import { labels, type Sentences } from "./tokens.ts";

export interface ArcsProps {
  sentences: Sentences;
  weights: Tensor;
  hidden: ReadonlySet<number>;
  /** The row whose lines are strong while nothing is pointed at. */
  row: number;
  label: string;
  onPick: (row: number) => void;
}

/** Lines between tokens; pointing at or focusing a token shows its own, with the numbers. */
export function Arcs({ sentences, weights, hidden, row, label, onPick }: ArcsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const stage = useMemo(() => measuredStage(sentences), [sentences]);
  const curves = useMemo(
    () => curvesOf(weights, sentences, stage, hidden),
    [weights, sentences, stage, hidden],
  );
  const colours = palette();
  const paint = (): void => {
    if (!canvas.current || !box.current) return;
    const focus = marked(highlight.value, sentences) ?? { row };
    const written = sentences.side === "encoder" ? Number.POSITIVE_INFINITY : step.value;
    const { scrollLeft: left, clientWidth } = box.current;
    const view = { left, width: Math.min(clientWidth, stage.width) };
    paintCurves(canvas.current, stage, view, curves, { ...focus, written }, colours);
  };
  // Painted after each render, and between renders when the pointer, the step or the box moves.
  useLayoutEffect(paint);
  useSignalEffect(paint);
  const latest = useRef(paint);
  latest.current = paint;
  useEffect(() => {
    const observer = new ResizeObserver(() => latest.current());
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const middle = stage.queries.middles[row] ?? 0;
    if (box.current) box.current.scrollLeft = middle - box.current.clientWidth / 2;
  }, [stage, row]);
  const two = sentences.side === "cross";
  return (
    <div class="attention-scroll attention-flush" ref={box} onScroll={paint}>
      <div
        class="attention-arcs"
        style={{ width: `${stage.width}px`, height: `${stage.height}px` }}
      >
        <canvas ref={canvas} role="img" aria-label={label} />
        <TokenButtons
          row={stage.queries}
          names={labels(sentences.queries)}
          stream={sentences.queryStream}
          label={two ? "Translation, which looks" : "Tokens, which look at each other"}
          current={row}
          faded={two ? NONE : hidden}
          onPick={onPick}
        />
        {two && (
          <TokenButtons
            row={stage.keys}
            names={labels(sentences.keys)}
            stream={sentences.keyStream}
            label="Source, which is looked at"
            faded={hidden}
          />
        )}
      </div>
    </div>
  );
}

const NONE: ReadonlySet<number> = new Set();
const PADDING = 16;
const NARROWEST = 28;

let ruler: CanvasRenderingContext2D | null = null;

/** Return where the tokens stand when labels are as wide as this browser's font makes them. */
export function measuredStage(sentences: Sentences): Stage {
  ruler ??= document.createElement("canvas").getContext("2d");
  const pen = ruler;
  if (pen) pen.font = LABEL_FONT;
  const width = (name: string) =>
    Math.max(NARROWEST, Math.ceil((pen?.measureText(name).width ?? 8 * name.length) + PADDING));
  return stageOf(
    sentences,
    labels(sentences.queries).map(width),
    labels(sentences.keys).map(width),
  );
}
