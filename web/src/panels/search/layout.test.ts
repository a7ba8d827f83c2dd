import { describe, expect, it } from "vitest";
import type { SearchTree } from "../../api/types.ts";
import { grown } from "./grown-tree.ts";
import { BOX, curve, layOut, neighbour, type TreeLayout } from "./layout.ts";
import { pathTo } from "./outcome.ts";

const NONE: ReadonlySet<number> = new Set();
const TREES: [string, SearchTree][] = [
  ["a beam of 1", grown({ width: 1, steps: 5, seed: 1 })],
  ["a beam of 4", grown({ width: 4, steps: 12, seed: 2 })],
  ["a beam of 16", grown({ width: 16, steps: 20, seed: 3 })],
];

function overlapping({ places, folds }: TreeLayout): number {
  const boxes = [...places.values(), ...folds];
  let count = 0;
  boxes.forEach((a, index) => {
    for (const b of boxes.slice(index + 1)) {
      if (Math.abs(a.x - b.x) < BOX.width && Math.abs(a.y - b.y) < BOX.height) count += 1;
    }
  });
  return count;
}

describe.each(TREES)("the layout of %s", (_, tree) => {
  it.each([0, 3, 1000])(
    "has no two boxes over each other with %d dropped ones a step",
    (dropped) => {
      const found = layOut(tree, { dropped, always: NONE });
      expect(overlapping(found)).toBe(0);
      for (const { x, y } of found.places.values()) {
        expect(x).toBeGreaterThanOrEqual(BOX.margin);
        expect(x + BOX.width + BOX.margin).toBeLessThanOrEqual(found.width);
        expect(y).toBeGreaterThanOrEqual(BOX.heading);
        expect(y + BOX.height + BOX.margin).toBeLessThanOrEqual(found.height);
      }
    },
  );
  it("shows all that was not dropped, and counts what it leaves out", () => {
    const found = layOut(tree, { dropped: 2, always: NONE });
    const hidden = found.folds.reduce((total, { count }) => total + count, 0);
    expect(found.places.size + hidden).toBe(tree.nodes.length);
    tree.nodes.forEach(({ status }, number) => {
      if (status !== "dropped") expect(found.places.has(number)).toBe(true);
    });
  });
  it("puts each step right of the one before, and a better score higher", () => {
    const { places } = layOut(tree, { dropped: 1000, always: NONE });
    const all = [...places.values()];
    for (const left of new Set(all.map(({ x }) => x))) {
      const column = all.filter(({ x }) => x === left);
      const nodes = column.sort((a, b) => a.y - b.y).map(({ node }) => tree.nodes[node]);
      const scores = nodes.map((node) => node?.score ?? Number.NaN);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
      expect(new Set(nodes.map((node) => node?.step)).size).toBe(1);
    }
    for (const { node, x } of places.values()) {
      const parent = tree.nodes[node]?.parent ?? null;
      if (parent !== null && (places.get(parent)?.x ?? Infinity) >= x) expect.fail(`box ${node}`);
    }
  });
  it("draws one line to every box but the root", () => {
    const { edges, places } = layOut(tree, { dropped: 3, always: NONE });
    expect(edges.length).toBe(places.size - 1);
    expect(new Set(edges.map(({ to }) => to)).size).toBe(edges.length);
  });
  it("shows a dropped candidate that is asked for", () => {
    const last = tree.nodes.findLastIndex(({ status }) => status === "dropped");
    const found = layOut(tree, { dropped: 0, always: new Set(pathTo(tree, last)) });
    expect(found.places.has(last)).toBe(true);
  });
  it("leads the arrow keys from box to box, and back", () => {
    const found = layOut(tree, { dropped: 2, always: NONE });
    let at = 0;
    for (let moves = 0; moves < 100; moves += 1) {
      const next = neighbour(tree, found, at, "right");
      if (next === at) break;
      expect(neighbour(tree, found, next, "left")).toBe(at);
      at = next;
    }
    expect(tree.nodes[at]?.step).toBeGreaterThan(1);
    const column = [...found.places.values()].filter(({ x }) => x === found.places.get(at)?.x);
    const below = neighbour(tree, found, at, "down");
    if (column.length > 1) expect([below, neighbour(tree, found, at, "up")]).not.toEqual([at, at]);
    if (below !== at) expect(neighbour(tree, found, below, "up")).toBe(at);
    expect(neighbour(tree, found, 0, "left")).toBe(0);
  });
});

it("draws a line from the right edge of the parent to the left edge of the child", () => {
  const drawn = curve({ node: 0, x: 0, y: 0 }, { node: 1, x: BOX.width + 40, y: 46 });
  expect(drawn.startsWith(`M${BOX.width} ${BOX.height / 2}C`)).toBe(true);
  expect(drawn.endsWith(`${BOX.width + 40} ${46 + BOX.height / 2}`)).toBe(true);
});
