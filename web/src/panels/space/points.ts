/** Where states stand in the picture, and which are near. Pure. */
import type { Tensor } from "../../api/tensors.ts";

export interface Point {
  x: number;
  y: number;
}

const EDGE = { left: 20, right: 90, top: 18, bottom: 18 };

/**
 * Coordinates (levels × tokens × 2) as places in a picture, on one scale for both axes: that on which
 * the words of level `shown` fill it. Symbols, and points of other levels, may lie outside.
 */
export function places(
  coordinates: Tensor,
  shown: number,
  isText: (token: number) => boolean,
  width: number,
  height: number,
): Point[][] {
  const [levels = 0, tokens = 0] = coordinates.shape;
  const at = (level: number, token: number, axis: number): number =>
    coordinates.data[(level * tokens + token) * 2 + axis] ?? 0;
  const ends = [0, 1].map((axis) => {
    let [low, high] = [Number.MAX_VALUE, -Number.MAX_VALUE];
    for (let token = 0; token < tokens; token++) {
      if (!isText(token)) continue;
      low = Math.min(low, at(shown, token, axis));
      high = Math.max(high, at(shown, token, axis));
    }
    return [low, high] as const;
  });
  const [[left, right] = [0, 1], [bottom, top] = [0, 1]] = ends;
  const room = [width - EDGE.left - EDGE.right, height - EDGE.top - EDGE.bottom] as const;
  const scale = Math.min(room[0] / (right - left || 1), room[1] / (top - bottom || 1));
  return Array.from({ length: levels }, (_, level) =>
    Array.from({ length: tokens }, (_, token) => ({
      x: EDGE.left + (at(level, token, 0) - left) * scale,
      y: EDGE.top + (top - at(level, token, 1)) * scale,
    })),
  );
}

/** Where a name stands, seen from its point. */
export interface Label {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

const DOT = 6; // half the side of the square that a point takes
const LINE = 16; // height of a name

/**
 * Places for the names of points, each right of its point, left, below or above: the first where it covers
 * no other name and no point, and lies inside the picture. Without such a place, the name is null; only
 * the first in `order` always has one.
 */
export function placeLabels(
  points: readonly Point[],
  widths: readonly number[],
  order: readonly number[],
  across: number,
): (Label | null)[] {
  const taken: Box[] = points.map(({ x, y }) => [x - DOT, y - DOT, x + DOT, y + DOT]);
  const labels: (Label | null)[] = points.map(() => null);
  for (const [number, at] of order.entries()) {
    const point = points[at];
    const width = widths[at] ?? 0;
    if (!point || labels[at]) continue;
    const choices: Label[] = [
      { x: 8, y: 4, anchor: "start" },
      { x: -8, y: 4, anchor: "end" },
      { x: 0, y: 18, anchor: "middle" },
      { x: 0, y: -9, anchor: "middle" },
    ];
    const boxOf = ({ x, y, anchor }: Label): Box => {
      const left = point.x + x - { start: 0, middle: width / 2, end: width }[anchor];
      return [left, point.y + y - LINE + 4, left + width, point.y + y + 4];
    };
    const free = choices.find((choice) => {
      const box = boxOf(choice);
      const others = taken.filter((_, other) => other !== at);
      return box[0] >= 0 && box[2] <= across && !others.some((one) => overlap(one, box));
    });
    const label = free ?? (number === 0 ? choices[0] : undefined);
    if (!label) continue;
    labels[at] = label;
    taken.push(boxOf(label));
  }
  return labels;
}

/** Left, top, right and bottom. */
type Box = readonly [number, number, number, number];

function overlap(one: Box, other: Box): boolean {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

/** The tokens with the smallest distance to one of them, the nearest first. */
export function nearestTokens(
  distances: ArrayLike<number>,
  tokens: number,
  row: number,
  count: number,
): { at: number; distance: number }[] {
  return Array.from({ length: tokens }, (_, at) => ({
    at,
    distance: distances[row * tokens + at] ?? 0,
  }))
    .filter(({ at }) => at !== row)
    .sort((one, other) => one.distance - other.distance)
    .slice(0, count);
}
