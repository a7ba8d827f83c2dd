/**
 * Where everything of the map stands: pure geometry, used by the page and by the saved picture.
 *
 *     wide: the data goes up, as in figure 1          narrow: it goes down, one stack after the other
 *
 *       inspector    ┌ output ┐◀─┐                          ┌ encoder ┐
 *      ┌ memory ┐──┐ │ softmax│  │                          └ memory ─┘─┐
 *      │ encoder│  ├▶│ decoder│  │ fed back                 ┌ decoder ┐◀┤
 *      └ tokens ┘  └▶└ tokens ┘◀─┘                          └ output ──┘─┘
 */

import { tidy } from "../../drawing/svg.ts";
import {
  areAdded,
  type Kind,
  type Network,
  openLayer,
  type Part,
  type Stack,
  stackParts,
} from "./parts.ts";

export interface Point {
  x: number;
  y: number;
}

export interface Rect extends Point {
  width: number;
  height: number;
}

/** A box of the drawing; `reached` is how far along its stack, 0 to 1, data is when it gets here. */
export interface Box extends Rect {
  id: string;
  kind: Kind;
  stack: Stack;
  layer: number | null;
  reached: number;
}

type WireKind = "stream" | "residual" | "memory" | "feedback" | "beside";

export interface Wire {
  id: string;
  kind: WireKind;
  stack: Stack;
  points: Point[];
  arrow: boolean;
  reached: number;
}

/** The frame of an open layer. */
export interface Frame extends Rect {
  stack: Stack;
  layer: number;
}

export interface Plan {
  wide: boolean;
  width: number;
  height: number;
  boxes: Box[];
  wires: Wire[];
  frames: Frame[];
  /** Free room for the miniature of what one points at; none where the drawing is narrow. */
  inspector: Rect | null;
  /** The ways of a token: through each stack, and from the output back to the input. */
  ways: { encoder: Point[]; decoder: Point[]; feedback: Point[] };
}

const WIDE = 700;
const BUS = 76; // between the stacks
const MARGIN = 48; // for the way back, at the right
const INSET = { wide: 30, narrow: 22 }; // of the boxes in a column
const INSPECTOR = { usual: 210, close: 176 }; // least height
const LOW = 0.85; // of a box's height, where boxes are close together
const FINGER = 24; // least height of a box
const ARROW = 4; // least gap
const BRANCH = 10; // least gap where a residual connection leaves
const LARGEST = 400; // width of a column

interface Column {
  stack: Stack;
  inset: number;
  x: number;
  width: number;
  /** Where the stack begins on the way of the data. */
  start: number;
}

interface Placed {
  column: Column;
  parts: { part: Part; from: number; to: number }[];
  end: number;
}

/**
 * Returns the plan of a network's map, given the width and the layer to be open. A `spread` below 1
 * moves the boxes together and makes them lower.
 */
export function planNetwork(network: Network, available: number, layer: number, spread = 1): Plan {
  const wide = available >= WIDE;
  const [left, right] = wide ? twoColumns(available) : oneColumn(available);
  const encoder = place(network, left, layer, spread);
  const below = { ...right, start: encoder.end + 40 };
  const decoder = place(network, wide ? right : below, layer, spread);
  const tallest = wide ? Math.max(encoder.end, decoder.end) : decoder.end;
  const least = spread < 1 ? INSPECTOR.close : INSPECTOR.usual;
  const room = wide ? inspectorRoom(encoder, decoder, least) : null;
  const height = Math.max(tallest, room ? room.above + least : 0) + 2;
  const at = (offset: number) => (wide ? height - 1 - offset : offset + 1);
  const both = [encoder, decoder];
  const boxes = both.flatMap((placed) => buildBoxes(placed, network, at));
  return {
    wide,
    width: wide ? right.x + right.width + MARGIN : available,
    height,
    boxes,
    wires: [
      ...both.flatMap((placed) => streamWires(placed, at)),
      ...both.flatMap((placed) => residualWires(placed, at)),
      ...besideWires(boxes),
      ...memoryWires(boxes, left.x + left.width + BUS / 2, wide),
      feedbackWire(boxes, right.x + right.width),
    ],
    frames: both.flatMap((placed) => computeFrame(placed, at)),
    inspector: room && {
      x: room.column.x,
      y: 0,
      width: room.column.width,
      height: height - room.above - 24,
    },
    ways: {
      encoder: way(encoder, at),
      decoder: way(decoder, at),
      feedback: feedbackWire(boxes, right.x + right.width).points,
    },
  };
}

function twoColumns(available: number): [Column, Column] {
  const width = Math.min(LARGEST, Math.floor((available - BUS - MARGIN) / 2));
  return [
    { stack: "encoder", inset: INSET.wide, x: 0, width, start: 0 },
    { stack: "decoder", inset: INSET.wide, x: width + BUS, width, start: 0 },
  ];
}

function oneColumn(available: number): [Column, Column] {
  const x = 26;
  const width = available - x - 30;
  return [
    { stack: "encoder", inset: INSET.narrow, x, width, start: 0 },
    { stack: "decoder", inset: INSET.narrow, x, width, start: 0 },
  ];
}

function place(network: Network, column: Column, layer: number, spread: number): Placed {
  let offset = column.start;
  const parts = stackParts(network, column.stack, openLayer(network, column.stack, layer)).map(
    (part) => {
      const { gap, size } = spread < 1 ? closer(part, spread) : part;
      const from = offset + gap;
      offset = from + size;
      return { part, from, to: offset };
    },
  );
  return { column, parts, end: offset };
}

/** The gap and the size of a part where the map is to be low. */
function closer(part: Part, spread: number): { gap: number; size: number } {
  const least = part.branches ? BRANCH : ARROW;
  return {
    gap: Math.min(part.gap, Math.max(least, Math.round(part.gap * spread))),
    size: part.kind === "sum" ? part.size : Math.max(FINGER, Math.round(LOW * part.size)),
  };
}

/** The column above which there is room for the inspector, making room where there is none. */
function inspectorRoom(
  encoder: Placed,
  decoder: Placed,
  least: number,
): { column: Column; above: number } {
  const tallest = Math.max(encoder.end, decoder.end);
  const overDecoder = tallest - encoder.end < least && tallest - decoder.end >= least;
  const chosen = overDecoder ? decoder : encoder;
  return { column: chosen.column, above: chosen.end };
}

type At = (offset: number) => number;

/** A rectangle from two offsets on the way of the data, whichever way that goes on the page. */
function span(at: At, from: number, to: number, x: number, width: number): Rect {
  const [first, second] = [at(from), at(to)];
  return { x, y: Math.min(first, second), width, height: Math.abs(second - first) };
}

function reachedAt(placed: Placed, offset: number): number {
  return (offset - placed.column.start) / (placed.end - placed.column.start);
}

const FULL: Kind[] = ["tokens", "layer", "output"];

function buildBoxes(placed: Placed, network: Network, at: At): Box[] {
  const { column } = placed;
  const middle = column.x + column.width / 2;
  return placed.parts.flatMap(({ part, from, to }) => {
    const { id, kind, stack, layer } = part;
    const reached = reachedAt(placed, (from + to) / 2);
    const common = { id, kind, stack, layer, reached };
    if (kind === "sum") {
      const circle = { ...common, ...span(at, from, to, middle - part.size / 2, part.size) };
      if (id !== `${stack}.sum` || !areAdded(network.positions)) return [circle];
      return [circle, beside(circle, column, 44)];
    }
    if (kind === "positions") {
      return [beside({ ...common, ...span(at, from, to, middle, 0) }, column, 10)];
    }
    const inset = FULL.includes(kind) ? 0 : column.inset;
    return [{ ...common, ...span(at, from, to, column.x + inset, column.width - 2 * inset) }];
  });
}

/** Positions stand beside the stream, on the outer side, as in figure 1; added or not. */
function beside(place: Box, column: Column, away: number): Box {
  const height = 26;
  const width = column.width / 2 - away;
  const x = column.stack === "encoder" ? column.x : column.x + column.width - width;
  const y = place.y + place.height / 2 - height / 2;
  return { ...place, id: `${place.stack}.positions`, kind: "positions", x, y, width, height };
}

function streamWires(placed: Placed, at: At): Wire[] {
  const x = placed.column.x + placed.column.width / 2;
  const parts = placed.parts.filter(({ part }) => part.kind !== "positions");
  return parts.slice(1).map(({ part, from }, order) => {
    const before = parts[order]?.to ?? 0;
    return {
      id: `${part.id}.in`,
      kind: "stream" as const,
      stack: part.stack,
      points: [
        { x, y: at(before) },
        { x, y: at(from) },
      ],
      arrow: part.kind !== "sum",
      reached: reachedAt(placed, from),
    };
  });
}

/** Residual connections go round their sublayer on the outer side of the column. */
function residualWires(placed: Placed, at: At): Wire[] {
  const { column, parts } = placed;
  const middle = column.x + column.width / 2;
  const away = 0.4 * column.inset;
  const outside = column.stack === "encoder" ? column.x + away : column.x + column.width - away;
  const wires: Wire[] = [];
  let leaves = 0;
  for (const { part, from, to } of parts) {
    if (part.branches) leaves = from - 9;
    if (!part.joins) continue;
    const side = column.stack === "encoder" ? -1 : 1;
    const half = part.kind === "sum" ? part.size / 2 : column.width / 2 - column.inset;
    const joins = at((from + to) / 2);
    wires.push({
      id: `${part.id}.residual`,
      kind: "residual",
      stack: part.stack,
      points: [
        { x: middle, y: at(leaves) },
        { x: outside, y: at(leaves) },
        { x: outside, y: joins },
        { x: middle + side * half, y: joins },
      ],
      arrow: true,
      reached: reachedAt(placed, from),
    });
  }
  return wires;
}

function besideWires(boxes: Box[]): Wire[] {
  return boxes.flatMap((box) => {
    const sum = boxes.find((other) => other.id === `${box.stack}.sum`);
    if (box.kind !== "positions" || !sum) return [];
    const y = sum.y + sum.height / 2;
    const left = box.x < sum.x;
    const points = [
      { x: left ? box.x + box.width : box.x, y },
      { x: left ? sum.x : sum.x + sum.width, y },
    ];
    const { stack, reached } = box;
    return [{ id: `${box.id}.out`, kind: "beside" as const, stack, points, arrow: true, reached }];
  });
}

function buildBox(boxes: Box[], id: string): Box {
  const found = boxes.find((box) => box.id === id);
  if (!found) throw new Error(`the map has no box ${id}`);
  return found;
}

/** The memory goes to the cross-attention of every decoder layer, closed ones too. */
function memoryWires(boxes: Box[], between: number, wide: boolean): Wire[] {
  const memory = buildBox(boxes, "encoder.memory");
  const readers = boxes.filter(
    (box) => box.stack === "decoder" && (box.kind === "cross" || box.kind === "layer"),
  );
  const bus = wide ? between : 11;
  const start = { x: wide ? memory.x + memory.width : memory.x, y: memory.y + memory.height / 2 };
  return readers.map((reader) => ({
    id: `${reader.id}.memory`,
    kind: "memory" as const,
    stack: "encoder" as const,
    points: [
      start,
      { x: bus, y: start.y },
      { x: bus, y: reader.y + reader.height / 2 },
      { x: reader.x, y: reader.y + reader.height / 2 },
    ],
    arrow: true,
    reached: 1,
  }));
}

function feedbackWire(boxes: Box[], right: number): Wire {
  const [from, to] = [buildBox(boxes, "decoder.output"), buildBox(boxes, "decoder.tokens")];
  const outside = right + 20;
  const [y, back] = [from.y + from.height / 2, to.y + to.height / 2];
  return {
    id: "decoder.feedback",
    kind: "feedback",
    stack: "decoder",
    points: [
      { x: right, y },
      { x: outside, y },
      { x: outside, y: back },
      { x: right, y: back },
    ],
    arrow: true,
    reached: 1,
  };
}

function computeFrame(placed: Placed, at: At): Frame[] {
  const open = placed.parts.filter(({ part }) => part.layer !== null && part.kind !== "layer");
  const [first, last] = [open[0], open.at(-1)];
  if (!first || !last) return [];
  const { x, width, stack } = placed.column;
  const rect = span(at, first.from - 26, last.to + 7, x, width);
  return [{ ...rect, stack, layer: first.part.layer ?? 0 }];
}

function way(placed: Placed, at: At): Point[] {
  const x = placed.column.x + placed.column.width / 2;
  return [
    { x, y: at(placed.column.start + 29) },
    { x, y: at(placed.end) },
  ];
}

/** The point that lies this share of the way, 0 to 1, along a line of straight pieces. */
export function pointAt(points: Point[], share: number): Point {
  const lengths = points
    .slice(1)
    .map((point, i) => Math.hypot(point.x - (points[i]?.x ?? 0), point.y - (points[i]?.y ?? 0)));
  let rest = Math.max(0, Math.min(1, share)) * lengths.reduce((sum, length) => sum + length, 0);
  for (const [i, length] of lengths.entries()) {
    const [from, to] = [points[i], points[i + 1]];
    if (!from || !to) break;
    if (rest <= length && length > 0) {
      const part = rest / length;
      return { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) };
    }
    rest -= length;
  }
  return points.at(-1) ?? { x: 0, y: 0 };
}

/** A rectangle as the style of an element that stands in the drawing. */
export function placeStyle({ x, y, width, height }: Rect) {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` };
}

/* Lines of the map as SVG paths: straight pieces with round corners, and arrow heads. */

/** A path through points whose corners are rounded. */
export function roundedPath(points: readonly Point[], radius: number): string {
  return points
    .map((point, at) => {
      const [before, after] = [points[at - 1], points[at + 1]];
      if (!before) return `M${xy(point)}`;
      if (!after) return `L${xy(point)}`;
      const into = towards(point, before, radius);
      const out = towards(point, after, radius);
      return `L${xy(into)}Q${xy(point)} ${xy(out)}`;
    })
    .join("");
}

/** The head of an arrow at the end of a line. */
export function arrowHead(points: readonly Point[], size: number): string {
  const [end, before] = [points.at(-1), points.at(-2)];
  if (!end || !before) return "";
  const base = towards(end, before, size);
  const length = Math.hypot(end.x - base.x, end.y - base.y) || 1;
  const [across, down] = [
    ((end.y - base.y) / length) * size * 0.55,
    ((end.x - base.x) / length) * size * 0.55,
  ];
  const sides = [
    { x: base.x + across, y: base.y - down },
    { x: base.x - across, y: base.y + down },
  ] as const;
  return `M${xy(end)}L${xy(sides[0])}L${xy(sides[1])}Z`;
}

/** The point at most `distance` from one point on the way to another, half way at most. */
function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length === 0) return from;
  const share = Math.min(distance / length, 0.5);
  return { x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) };
}

function xy(point: Point): string {
  return `${tidy(point.x)} ${tidy(point.y)}`;
}
