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
