/** A matrix of numbers as shades, on a canvas. */

import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Palette, palette } from "./colours.ts";
import { type Cell, moveCell } from "./cursor.ts";
import {
  type Cells,
  cellAt,
  LABEL_FONT,
  type Layout,
  type Look,
  layout,
  paintCells,
  paintLabels,
  paintMarks,
  paintNames,
  readCells,
  resize,
} from "./matrixPaint.ts";
import { printed } from "./Number.tsx";

/** What Matrix needs. */
interface MatrixProps {
  rows: readonly string[];
  columns: readonly string[];
  value: (row: number, column: number) => number;
  /** What the matrix shows, for a screen reader. */
  label: string;
  scale?: "heat" | "diverging";
  /** Values at the ends of the ramp: 0 and 1, or −1 and 1, if not given. */
  range?: readonly [number, number];
  masked?: (row: number, column: number) => boolean;
  /** Row and column that are marked. */
  selected?: { row?: number | null; column?: number | null };
  onSelect?: (row: number, column: number) => void;
  onHover?: (cell: Cell | null) => void;
  /** Small: no labels, no keyboard, for small multiples. */
  size?: "small" | "large";
  /** Widest a small matrix may be, in pixels. */
  width?: number;
  /** One cell in words. */
  describe?: (row: number, column: number) => string;
  /** Rows from this one on are not written yet: paled. */
  pale?: number | null;
  /** What is printed into a cell, where it is large enough. */
  print?: (row: number, column: number) => string;
}

/**
 * The matrix. Masked cells and −∞ are hatched. A large one has labels, a line that says what is
 * under the pointer, and a cursor for the keyboard: arrows move, Enter selects.
 */
export function Matrix(props: MatrixProps) {
  const { size = "large" } = props;
  const box = useRef<HTMLDivElement>(null);
  const available = useWidth(box, props.width ?? (size === "small" ? 112 : 640));
  const [cursor, setCursor] = useState<Cell | null>(null);
  const [hover, setHover] = useState<Cell | null>(null);
  const id = useId();
  const colours = palette();
  const ratio = Math.max(1, globalThis.devicePixelRatio || 1);
  const place = useLayout(props, size === "small" ? (props.width ?? 112) : available, ratio);
  const canvases = usePainting(props, place, { colours, ratio }, cursor);
  const pointed = (cell: Cell | null): void => {
    if (cell?.row === hover?.row && cell?.column === hover?.column) return;
    setHover(cell);
    props.onHover?.(cell);
  };
  const under = (event: MouseEvent): Cell | null => {
    const edge = canvases.cells.current?.getBoundingClientRect();
    return edge ? cellAt(place, event.clientX - edge.left, event.clientY - edge.top) : null;
  };
  const select = (cell: Cell | null): void => {
    if (cell) props.onSelect?.(cell.row, cell.column);
  };
  const keys = (event: KeyboardEvent): void => {
    const from = cursor ?? start(props);
    const to = moveCell(event.key, from, place.rows, place.columns, PAGES);
    if (to === null && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (to === null) {
      select(from);
      return;
    }
    setCursor(to);
    props.onHover?.(to);
  };
  const wide = place.width > available;
  const shown = hover ?? cursor;
  const words = shown && inside(shown, place) ? describeCell(props, shown) : "";
  const drawing = (
    <div class="matrix-canvases" style={{ width: `${place.width}px`, height: `${place.height}px` }}>
      <canvas ref={canvases.cells} />
      <canvas ref={canvases.marks} class="matrix-marks" />
      {size === "large" && <canvas ref={canvases.names} class="matrix-names" hidden={!wide} />}
    </div>
  );
  if (size === "small") {
    return (
      <div class="matrix matrix-small" ref={box} role="img" aria-label={props.label}>
        {drawing}
      </div>
    );
  }
  return (
    <div class="matrix">
      <div
        class="matrix-scroll"
        ref={box}
        role="application"
        aria-roledescription="matrix"
        aria-label={`${props.label}. ${place.rows} rows, ${place.columns} columns`}
        aria-describedby={id}
        data-own-keys
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a cursor moves in here by the arrow keys
        tabIndex={0}
        onKeyDown={keys}
        onFocus={() => setCursor(cursor ?? start(props))}
        onBlur={() => {
          setCursor(null);
          props.onHover?.(null);
        }}
        onPointerMove={(event) => pointed(under(event))}
        onPointerLeave={() => pointed(null)}
        onClick={(event) => select(under(event))}
      >
        {drawing}
      </div>
      <p class="matrix-words" id={id} aria-live="polite">
        {words || (props.onSelect ? "Point at a cell, or move with the arrow keys." : "\u00a0")}
      </p>
    </div>
  );
}

/** Page keys lead to the first and the last row. */
export const PAGES = {
  PageUp: [Number.NEGATIVE_INFINITY, 0],
  PageDown: [Number.POSITIVE_INFINITY, 0],
} as const;

function start(props: MatrixProps): Cell {
  return { row: props.selected?.row ?? 0, column: props.selected?.column ?? 0 };
}

function inside(cell: Cell, place: Layout): boolean {
  return cell.row < place.rows && cell.column < place.columns;
}

function describeCell(props: MatrixProps, { row, column }: Cell): string {
  if (props.describe) return props.describe(row, column);
  const names = `${props.rows[row]} → ${props.columns[column]}`;
  if (props.masked?.(row, column)) return `${names}: masked`;
  return `${names}: ${printed(props.value(row, column), 4)}`;
}

function useWidth(box: { current: HTMLDivElement | null }, first: number): number {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(element);
    setWidth(element.clientWidth || first);
    return () => observer.disconnect();
  }, [box, first]);
  return width;
}

let ruler: CanvasRenderingContext2D | null | undefined;

function widest(names: readonly string[]): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 60;
  ruler.font = LABEL_FONT;
  return Math.max(...names.map((name) => ruler?.measureText(name).width ?? 0), 1);
}

function useLayout(props: MatrixProps, available: number, ratio: number): Layout {
  const { rows, columns, size = "large" } = props;
  const [rowNames, columnNames] = [rows.join("\n"), columns.join("\n")];
  return useMemo(
    () =>
      layout({
        rows: rows.length,
        columns: columns.length,
        rowLabels: size === "large" ? widest(rows) : 0,
        columnLabels: size === "large" ? widest(columns) : 0,
        available,
        size,
        ratio,
      }),
    [rowNames, columnNames, size, available, ratio],
  );
}

interface Painted {
  cells: Cells | null;
  place: Layout | null;
  colours: Palette | null;
  scale: string | undefined;
}

/** Paints after each render what that render has changed: cells, labels, marks. */
function usePainting(
  props: MatrixProps,
  place: Layout,
  screen: { colours: Palette; ratio: number },
  cursor: Cell | null,
) {
  const cells = useRef<HTMLCanvasElement>(null);
  const marks = useRef<HTMLCanvasElement>(null);
  const names = useRef<HTMLCanvasElement>(null);
  const done = useRef<Painted>({ cells: null, place: null, colours: null, scale: undefined });
  useLayoutEffect(() => {
    const pen = cells.current?.getContext("2d", { alpha: true });
    if (!cells.current || !pen) return;
    const look = getLook(props, screen);
    const emptied = resize(cells.current, place, screen.ratio);
    const before = done.current;
    const afresh =
      emptied ||
      before.place !== place ||
      before.colours !== screen.colours ||
      before.scale !== props.scale;
    if (afresh) paintLabels(pen, place, props, look);
    if (afresh && names.current) paintNames(names.current, cells.current, place, look);
    const now = readCells({ ...props, range: getRange(props) }, place.rows, place.columns);
    paintCells(pen, place, now, afresh ? null : before.cells, look);
    done.current = { cells: now, place, colours: screen.colours, scale: props.scale };
  });
  const row = props.selected?.row ?? null;
  const column = props.selected?.column ?? null;
  const pale = props.pale ?? null;
  useLayoutEffect(() => {
    const pen = marks.current?.getContext("2d");
    if (!marks.current || !pen) return;
    resize(marks.current, place, screen.ratio);
    paintMarks(pen, place, { row, column, cursor, pale }, getLook(props, screen));
  }, [place, screen.colours, screen.ratio, row, column, cursor, pale, props.scale]);
  return { cells, marks, names };
}

function getRange(props: MatrixProps): readonly [number, number] {
  return props.range ?? (props.scale === "diverging" ? [-1, 1] : [0, 1]);
}

function getLook(props: MatrixProps, screen: { colours: Palette; ratio: number }): Look {
  const { colours, ratio } = screen;
  return { colours, ratio, ramp: props.scale === "diverging" ? colours.diverging : colours.heat };
}
