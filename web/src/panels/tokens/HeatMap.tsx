/** Tokens × dimensions as shades, with a cursor for pointer and keyboard. */

import type { Tensor } from "../../api/tensors.ts";
import { Canvas } from "../../drawing/Canvas.tsx";
import type { Palette } from "../../drawing/colours.ts";
import { paintTable } from "../../drawing/heatTable.ts";
import { moved, type Place, WHOLE_ROW } from "./positions.ts";

export interface HeatMapProps {
  label: string;
  tensor: Tensor;
  names: readonly string[];
  /** Value at the ends of the ramp. */
  most: number;
  /** Room that there is, in px. */
  width: number;
  cursor: Place | null;
  onPlace: (place: Place | null) => void;
  /** Id of the line that says what is under the cursor. */
  describedBy: string;
}

/** px for the names of the tokens. */
export const NAMES = 86;
/** px for the numbers of the dimensions. */
const AXIS = 16;

/** Height of a token's row: less where there are many. */
export function rowHeight(rows: number): number {
  return Math.max(4, Math.min(15, Math.floor(330 / Math.max(1, rows))));
}

/** The map; arrow keys move the cursor, PageUp and PageDown by 16 dimensions. */
export function HeatMap(props: HeatMapProps) {
  const [rows = 0, columns = 0] = props.tensor.shape;
  const { cursor, onPlace } = props;
  const wide = Math.max(columns, props.width - NAMES);
  const keys = (event: KeyboardEvent): void => {
    const to = moved(event.key, cursor ?? { row: 0, column: WHOLE_ROW }, rows, columns);
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
): Place | null {
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
  for (let at = 0; at < columns; at += gap) {
    const x = NAMES + (at * wide) / columns;
    context.fillRect(x, y, 1, 4);
    context.fillText(`${at}`, x + 3, y + 4);
  }
}

function paintCursor(
  context: CanvasRenderingContext2D,
  cursor: Place | null,
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
