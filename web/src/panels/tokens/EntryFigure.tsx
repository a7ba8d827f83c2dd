/** Embedding + position = what enters the stack, as heat maps. */

import { useId, useRef, useState } from "preact/hooks";
import type { Tensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { Canvas, useWidth } from "../../drawing/Canvas.tsx";
import { type Palette, palette } from "../../drawing/colours.ts";
import { type Cell, moveCell } from "../../drawing/cursor.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { paintTable } from "../../drawing/heatTable.ts";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { address, highlight, setExtra } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { entryPicture } from "./picture.ts";
import {
  describeMethod,
  describeWave,
  type Entry,
  entryTable,
  getTokens,
  magnitude,
  numbersAt,
  PAGES,
  type Stream,
  WHOLE_ROW,
} from "./positions.ts";

interface Props {
  trace: Trace;
  stream: Stream;
}

/** The three tables of a stream; undefined until all are here. */
function useEntry(trace: Trace, stream: Stream): Entry | undefined {
  const embedding = useTensor(trace, `${stream}.embedding`);
  const positions = useTensor(trace, `${stream}.positions`);
  const sum = useTensor(trace, `${stream}.sum`);
  return embedding && positions && sum ? { embedding, positions, sum } : undefined;
}

/** The heat maps, with a switch between the streams and one that leaves the positions out. */
export function EntryFigure({ trace, stream }: Props) {
  const entry = useEntry(trace, stream);
  const without = address.value.extra.positions === "off";
  const method = describeMethod(trace.model.positions);
  const names = getTokens(trace, stream).map((token) => token.piece);
  return (
    <Figure
      name={`embedding-${stream}`}
      title="Embedding + position"
      controls={<Switches stream={stream} without={without} added={method.added} />}
      caption={
        <>
          <b>{method.title}.</b> {method.says}
        </>
      }
      {...(entry
        ? {
            picture: () => entryPicture(entry, names, without, palette()),
            table: () => entryTable(entry, names),
          }
        : {})}
    >
      {entry ? (
        <Maps trace={trace} stream={stream} entry={entry} without={without} />
      ) : (
        <p class="muted">Fetching the vectors …</p>
      )}
    </Figure>
  );
}

function Switches(props: { stream: Stream; without: boolean; added: boolean }) {
  const own = address.value.extra.scale === "own";
  return (
    <>
      <Choice
        name="stream"
        label="Stream"
        chosen={props.stream}
        choices={{ source: "source", target: "target" }}
      />
      {props.added && (
        <Choice
          name="positions"
          label="Positions"
          chosen={props.without ? "off" : "on"}
          choices={{ on: "with positions", off: "without" }}
        />
      )}
      <Choice
        name="scale"
        label="Scale"
        chosen={own ? "own" : "one"}
        choices={{ one: "one scale", own: "own scales" }}
      />
    </>
  );
}

interface ChoiceProps {
  /** Key of the address that it changes. */
  name: string;
  label: string;
  chosen: string;
  choices: Record<string, string>;
}

function Choice({ name, label, chosen, choices }: ChoiceProps) {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">{label}</legend>
      {Object.entries(choices).map(([value, words]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() => setExtra({ [name]: value }, { replace: true })}
        >
          {words}
        </button>
      ))}
    </fieldset>
  );
}

interface MapsProps extends Props {
  entry: Entry;
  without: boolean;
}

function Maps({ trace, stream, entry, without }: MapsProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const id = useId();
  const [place, setPlace] = useState<Cell | null>(null);
  const put = (next: Cell | null): void => {
    setPlace(next);
    highlight.value = next && { stream, index: next.row };
  };
  const lit = highlight.value?.stream === stream ? highlight.value.index : null;
  const common = {
    names: getTokens(trace, stream).map((token) => plain(token.piece)),
    width,
    cursor: place ?? (lit === null ? null : { row: lit, column: WHOLE_ROW }),
    onPlace: put,
    describedBy: id,
  };
  const own = address.value.extra.scale === "own";
  const all = { trace, stream, entry, without };
  return (
    <div ref={box} class="tokens-maps">
      {width > 0 && <ThreeMaps {...all} common={common} own={own} />}
      <Scale most={own ? null : computeMagnitude(entry)} />
      <p id={id} class="tokens-read" aria-live="polite">
        {place && place.column !== WHOLE_ROW ? (
          <Read {...all} place={place} />
        ) : (
          "Point at a number, or move with the arrow keys."
        )}
      </p>
    </div>
  );
}

interface ThreeProps extends MapsProps {
  common: Omit<HeatMapProps, "label" | "tensor" | "most">;
  own: boolean;
}

/** E · √d_model, + PE, = x. */
function ThreeMaps({ trace, stream, entry, without, common, own }: ThreeProps) {
  const { d_model, positions } = trace.model;
  const { added } = describeMethod(positions);
  const sum = without ? entry.embedding : entry.sum;
  return (
    <>
      <h4>
        Embedding <span>E · √d_model</span>
        <small>
          √{d_model} = <Num value={Math.sqrt(d_model)} digits={2} />
        </small>
      </h4>
      <HeatMap {...common} label="Embedding" {...scaled(entry, entry.embedding, own)} />
      {added && (
        <div class={without ? "tokens-off" : undefined}>
          <h4>
            + Position <span>{without ? "left out" : "PE"}</span>
          </h4>
          <HeatMap {...common} label="Positions" {...scaled(entry, entry.positions, own)} />
        </div>
      )}
      <h4>
        = What enters the {stream === "source" ? "encoder" : "decoder"}
        {without && added && <span>if there were no positions</span>}
      </h4>
      <HeatMap {...common} label="What enters the stack" {...scaled(entry, sum, own)} />
    </>
  );
}

/** A map and the value at the ends of its ramp: that of all three, or its own. */
function scaled(entry: Entry, tensor: Tensor, own: boolean): { tensor: Tensor; most: number } {
  return { tensor, most: own ? magnitude(tensor) : computeMagnitude(entry) };
}

function computeMagnitude(entry: Entry): number {
  return Math.max(...Object.values(entry).map(magnitude));
}

/** The colours from the least to the largest number: of all three maps, or of each its own. */
function Scale({ most }: { most: number | null }) {
  const { diverging } = palette();
  return (
    <p class="tokens-scale">
      {most === null ? "−" : <Num value={-most} digits={2} />}
      <span class="tokens-ramp" aria-hidden="true">
        {diverging
          .filter((_, at) => at % 4 === 0)
          .map((colour) => (
            <i key={colour} style={{ backgroundColor: colour }} />
          ))}
      </span>
      {most === null ? "+ each map has its own scale" : <Num value={most} digits={2} />}
    </p>
  );
}

/** The numbers under the cursor. */
function Read({ trace, stream, entry, without, place }: MapsProps & { place: Cell }) {
  const token = getTokens(trace, stream)[place.row];
  if (!token || place.row >= (entry.sum.shape[0] ?? 0)) return null;
  const wave = describeWave(trace.model.positions, place.column, trace.model.d_model);
  const { embedding, position, sum } = numbersAt(entry, place);
  return (
    <span data-place={`${place.row},${place.column}`}>
      <b>{plain(token.piece)}</b>, position {place.row + 1}, dimension {place.column + 1}
      {wave && ` (${wave})`}: <Num value={embedding} digits={4} /> {without ? "without" : "+"}{" "}
      <Num value={position} digits={4} />
      {!without && (
        <>
          {" "}
          = <Num value={sum} digits={4} />
        </>
      )}
    </span>
  );
}

/* Tokens × dimensions as shades, with a cursor for pointer and keyboard. */

interface HeatMapProps {
  label: string;
  tensor: Tensor;
  names: readonly string[];
  /** Value at the ends of the ramp. */
  most: number;
  /** Room that there is, in px. */
  width: number;
  cursor: Cell | null;
  onPlace: (place: Cell | null) => void;
  /** Id of the line that says what is under the cursor. */
  describedBy: string;
}

/** px for the names of the tokens. */
export const NAMES = 86;
/** px for the numbers of the dimensions. */
const AXIS = 16;

/** Height of a token's row: less where there are many. */
function rowHeight(rows: number): number {
  return Math.max(4, Math.min(15, Math.floor(330 / Math.max(1, rows))));
}

/** The map; arrow keys move the cursor, PageUp and PageDown by 16 dimensions. */
function HeatMap(props: HeatMapProps) {
  const [rows = 0, columns = 0] = props.tensor.shape;
  const { cursor, onPlace } = props;
  const wide = Math.max(columns, props.width - NAMES);
  const keys = (event: KeyboardEvent): void => {
    const to = moveCell(event.key, cursor ?? { row: 0, column: WHOLE_ROW }, rows, columns, PAGES);
    if (!to) return;
    event.preventDefault();
    onPlace(to);
  };
  return (
    <div
      class="tokens-heat scroll-x"
      role="application"
      aria-roledescription="heat map"
      aria-label={`${props.label}. ${rows} tokens, ${columns} dimensions`}
      aria-describedby={props.describedBy}
      data-own-keys
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a cursor moves in here by the arrow keys
      tabIndex={0}
      onKeyDown={keys}
      onFocus={() => onPlace({ row: cursor?.row ?? 0, column: Math.max(0, cursor?.column ?? 0) })}
      onBlur={() => onPlace(null)}
      onPointerMove={(event) => onPlace(placeUnder(event, rows, columns, wide))}
      onPointerLeave={() => onPlace(null)}
    >
      <Canvas
        width={NAMES + wide}
        height={rows * rowHeight(rows) + AXIS}
        draw={(context, colours) => paint(context, colours, props, wide)}
      />
    </div>
  );
}

/** The number under the pointer; null beside the map. */
function placeUnder(
  event: PointerEvent & { currentTarget: Element },
  rows: number,
  columns: number,
  wide: number,
): Cell | null {
  const edge = event.currentTarget.querySelector("canvas")?.getBoundingClientRect();
  if (!edge) return null;
  const column = Math.floor(((event.clientX - edge.left - NAMES) / wide) * columns);
  const row = Math.floor((event.clientY - edge.top) / rowHeight(rows));
  const inside = row >= 0 && row < rows && column >= 0 && column < columns;
  return inside ? { row, column } : null;
}

function paint(
  context: CanvasRenderingContext2D,
  colours: Palette,
  props: HeatMapProps,
  wide: number,
): void {
  const [rows = 0, columns = 0] = props.tensor.shape;
  const tall = rowHeight(rows);
  const { data } = props.tensor;
  const table = { rows, columns, data, most: props.most, scale: "diverging" as const };
  paintTable(context, colours, table, [NAMES, 0, wide, rows * tall]);
  paintNames(context, props, tall, colours.muted, colours.ink);
  paintAxis(context, columns, wide, rows * tall, colours.muted);
  paintCursor(context, props.cursor, [wide / columns, tall, wide], colours.accent);
}

function paintNames(
  context: CanvasRenderingContext2D,
  { names, cursor }: HeatMapProps,
  tall: number,
  muted: string,
  ink: string,
): void {
  const seldom = Math.ceil(11 / tall);
  context.font = `${Math.max(9, Math.min(12, tall))}px system-ui, sans-serif`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const [at, name] of names.entries()) {
    const isLit = cursor?.row === at;
    if (at % seldom !== 0 && !isLit) continue;
    context.fillStyle = isLit ? ink : muted;
    context.fillText(name, NAMES - 8, (at + 0.5) * tall, NAMES - 12);
  }
}

function paintAxis(
  context: CanvasRenderingContext2D,
  columns: number,
  wide: number,
  y: number,
  muted: string,
): void {
  const gap = [8, 16, 32, 64, 128, 256].find((one) => (one * wide) / columns >= 40) ?? 512;
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillStyle = muted;
  for (let at = 1; at <= columns; at += at === 1 ? gap - 1 : gap) {
    const x = NAMES + ((at - 1) * wide) / columns;
    context.fillRect(x, y, 1, 4);
    context.fillText(`${at}`, x + 3, y + 4);
  }
}

function paintCursor(
  context: CanvasRenderingContext2D,
  cursor: Cell | null,
  [across, tall, wide]: readonly [number, number, number],
  accent: string,
): void {
  if (!cursor) return;
  context.strokeStyle = accent;
  context.lineWidth = 1;
  context.strokeRect(NAMES, cursor.row * tall + 0.5, wide, tall - 1);
  if (cursor.column === WHOLE_ROW) return;
  context.lineWidth = 2;
  context.strokeRect(
    NAMES + cursor.column * across - 1,
    cursor.row * tall,
    Math.max(3, across + 2),
    tall,
  );
}
