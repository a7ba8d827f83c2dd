import { expect, test } from "vitest";
import { nearestTokens, placeLabels, places } from "./points.ts";

test("places keep the proportions of the coordinates, and lie inside the picture", () => {
  const coordinates = {
    shape: [2, 3, 2],
    data: Float32Array.of(99, 0, 0, 99, 7, 7, 0, 0, 10, 0, 0, 5),
  };
  const drawn = places(coordinates, 1, () => true, 400, 300)[1] ?? [];
  const [origin, right, up] = drawn;
  if (!origin || !right || !up) throw new Error("no points");
  expect((right.x - origin.x) / (origin.y - up.y)).toBeCloseTo(2, 9);
  for (const { x, y } of drawn) {
    expect(x >= 0 && x <= 400 && y >= 0 && y <= 300).toBe(true);
  }
});

test("states that are all one point are drawn all the same", () => {
  const drawn = places(
    { shape: [1, 2, 2], data: new Float32Array(4) },
    0,
    () => true,
    400,
    300,
  ).flat();
  expect(drawn.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))).toBe(true);
});

test("names cover neither each other nor points, and the chosen one has its own in any case", () => {
  const crowd = Array.from({ length: 9 }, (_, at) => ({ x: 100 + 3 * at, y: 100 + (at % 3) }));
  const points = [{ x: 20, y: 20 }, { x: 395, y: 60 }, ...crowd];
  const widths = points.map(() => 40);
  const labels = placeLabels(points, widths, [5, ...points.keys()], 400);
  expect(labels[0]).toEqual({ x: 8, y: 4, anchor: "start" });
  expect(labels[1]?.anchor).toBe("end");
  expect(labels[5]).not.toBe(null);
  expect(labels.filter((one) => one === null).length).toBeGreaterThan(0);
  const rows = labels.flatMap((one, at) => {
    const point = points[at];
    if (!one || !point || at === 5) return [];
    const left = point.x + one.x - { start: 0, middle: 20, end: 40 }[one.anchor];
    return [{ left, top: point.y + one.y }];
  });
  for (const one of rows) {
    const near = rows.filter(
      (other) => Math.abs(other.left - one.left) < 40 && Math.abs(other.top - one.top) < 16,
    );
    expect(near).toEqual([one]);
  }
});

test("the nearest token comes first, and none is near itself", () => {
  const found = nearestTokens([0, 3, 1, 3, 0, 2, 1, 2, 0], 3, 0, 2);
  expect(found).toEqual([
    { at: 2, distance: 1 },
    { at: 1, distance: 3 },
  ]);
});
