/** Lines of the map as SVG paths: straight pieces with round corners, and arrow heads. */

import { tidy } from "../../drawing/svg.ts";
import type { Point } from "./layout.ts";

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
