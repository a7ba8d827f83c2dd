/** One head as lines between tokens: on a canvas, with the tokens as buttons above it. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Tensor } from "../../api/tensors.ts";
import { palette } from "../../drawing/colours.ts";
import { moveIndex } from "../../drawing/cursor.ts";
import { LABEL_FONT } from "../../drawing/matrixPaint.ts";
import { step } from "../../state/player.ts";
import { highlight } from "../../state/store.ts";
import {
  buildCurves,
  layOutStage,
  paintCurves,
  type Row,
  type Stage,
  TOKEN_HEIGHT,
} from "./curves.ts";
import { marked } from "./inView.ts";
import { labels, type Sentences, type Stream } from "./tokens.ts";

interface ArcsProps {
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
    () => buildCurves(weights, sentences, stage, hidden),
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
  return layOutStage(
    sentences,
    labels(sentences.queries).map(width),
    labels(sentences.keys).map(width),
  );
}

/* Tokens of a drawing as buttons, each at its place; one stop of Tab, arrow keys move along. */

interface TokenButtonsProps {
  row: Row;
  names: string[];
  stream: Stream;
  label: string;
  /** The token that is in view. */
  current?: number;
  /** Tokens whose lines are not shown. */
  faded: ReadonlySet<number>;
  onPick?: (index: number) => void;
}

/** A row of tokens. Pointing at one, or focusing it, makes it the highlight of the whole page. */
function TokenButtons(props: TokenButtonsProps) {
  const list = useRef<HTMLUListElement>(null);
  const { row, names, stream, current = 0 } = props;
  const light = (index: number) => () => {
    highlight.value = { stream, index };
  };
  // A pointer that goes must not take what the keyboard has lit meanwhile, nor the other way.
  const leave = (index: number) => () => {
    const now = highlight.peek();
    if (now?.stream === stream && now.index === index) highlight.value = null;
  };
  const move = (event: KeyboardEvent, from: number): void => {
    const to = moveIndex(event.key, from, names.length);
    if (to === null) return;
    event.preventDefault();
    list.current?.querySelectorAll("button")[to]?.focus();
  };
  return (
    <ul class="attention-tokens" ref={list} aria-label={props.label} data-own-keys>
      {names.map((name, index) => (
        <li key={index}>
          <button
            type="button"
            data-faded={props.faded.has(index)}
            aria-current={props.onPick && index === current ? "true" : undefined}
            tabIndex={index === current ? 0 : -1}
            style={{
              left: `${(row.middles[index] ?? 0) - (row.widths[index] ?? 0) / 2}px`,
              top: `${row.top}px`,
              width: `${row.widths[index] ?? 0}px`,
              height: `${TOKEN_HEIGHT}px`,
            }}
            onPointerEnter={light(index)}
            onPointerLeave={leave(index)}
            onFocus={light(index)}
            onBlur={leave(index)}
            onKeyDown={(event) => move(event, index)}
            onClick={() => props.onPick?.(index)}
          >
            {name}
          </button>
        </li>
      ))}
    </ul>
  );
}
