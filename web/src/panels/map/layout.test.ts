import { describe, expect, test } from "vitest";
import { type Box, planNetwork, pointAt, type Rect } from "./layout.ts";
import { type Network, sublayers } from "./parts.ts";

const BASE: Network = {
  encoder_layers: 4,
  decoder_layers: 4,
  norm: "pre",
  positions: "sinusoidal",
};

const NETWORKS: Network[] = [1, 2, 4, 12].flatMap((encoder_layers) =>
  [1, 3, 12].flatMap((decoder_layers) =>
    (["pre", "post"] as const).flatMap((norm) =>
      ["sinusoidal", "rotary", "none"].map((positions) => ({
        encoder_layers,
        decoder_layers,
        norm,
        positions,
      })),
    ),
  ),
);
const PLACES = [320, 390, 700, 900, 1500].flatMap((width) =>
  [1, 0.45].map((spread) => [width, spread] as const),
);

function overlap(a: Rect, b: Rect): boolean {
  const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return across > 0.01 && down > 0.01;
}

function pairs(boxes: Box[]): [Box, Box][] {
  return boxes.flatMap((a, i) => boxes.slice(i + 1).map((b): [Box, Box] => [a, b]));
}

function box(boxes: Box[], id: string): Box {
  const found = boxes.find((one) => one.id === id);
  if (!found) throw new Error(id);
  return found;
}

describe.each(PLACES)("at %i px, boxes %f times apart", (width, spread) => {
  test("boxes never overlap and stay inside the drawing", () => {
    for (const network of NETWORKS) {
      const plan = planNetwork(network, width, 1, spread);
      expect(plan.width).toBeLessThanOrEqual(width);
      const outside = [...plan.boxes, ...plan.frames].filter(
        (one) =>
          one.x < 0 ||
          one.y < 0 ||
          one.x + one.width > plan.width ||
          one.y + one.height > plan.height,
      );
      expect(outside).toEqual([]);
      expect(pairs(plan.boxes).filter(([a, b]) => overlap(a, b))).toEqual([]);
    }
  });

  test("every box that can be selected is large enough for a finger", () => {
    for (const network of NETWORKS) {
      const small = planNetwork(network, width, 0, spread).boxes.filter(
        (one) => one.kind !== "sum" && (one.height < 24 || one.width < 24),
      );
      expect(small).toEqual([]);
    }
  });

  test("the inspector covers nothing", () => {
    for (const network of NETWORKS) {
      const { inspector, boxes, wide } = planNetwork(network, width, 0, spread);
      expect(inspector === null).toBe(!wide);
      if (!inspector) continue;
      expect(inspector.height).toBeGreaterThanOrEqual(150);
      expect(boxes.filter((one) => overlap(one, inspector))).toEqual([]);
    }
  });
});

test("each stack has all its layers: one open with its sublayers, the others closed", () => {
  for (const network of NETWORKS) {
    const { boxes } = planNetwork(network, 900, 2);
    for (const stack of ["encoder", "decoder"] as const) {
      const count = stack === "encoder" ? network.encoder_layers : network.decoder_layers;
      const open = Math.min(2, count - 1);
      const mine = boxes.filter((one) => one.stack === stack);
      const closed = mine.filter((one) => one.kind === "layer").map((one) => one.layer);
      expect(closed).toEqual(
        Array.from({ length: count }, (_, at) => at).filter((l) => l !== open),
      );
      for (const { name } of sublayers(stack)) {
        expect(mine.map((one) => one.id)).toContain(`${stack}.${open}.${name}`);
      }
    }
  }
});

test("pre-norm draws the norm before its sublayer, post-norm after it", () => {
  for (const norm of ["pre", "post"] as const) {
    const { boxes } = planNetwork({ ...BASE, norm }, 900, 0);
    for (const sublayer of ["self_attention", "cross_attention", "feed_forward"]) {
      const work = box(boxes, `decoder.0.${sublayer}`);
      const normed = box(boxes, `decoder.0.${sublayer}.norm`);
      expect(normed.reached < work.reached).toBe(norm === "pre");
    }
    expect(boxes.some((one) => one.id === "decoder.norm")).toBe(norm === "pre");
    expect(boxes.some((one) => one.id === "encoder.norm")).toBe(norm === "pre");
  }
});

test("data goes up in the wide drawing and down in the narrow one", () => {
  for (const [width, sign] of [
    [900, -1],
    [390, 1],
  ] as const) {
    const { boxes } = planNetwork(BASE, width, 1);
    for (const stack of ["encoder", "decoder"]) {
      const inOrder = boxes
        .filter((one) => one.stack === stack && one.kind !== "positions")
        .sort((a, b) => a.reached - b.reached);
      const heights = inOrder.map((one) => sign * (one.y + one.height / 2));
      expect(heights).toEqual([...heights].sort((a, b) => a - b));
    }
  }
});

test("the memory goes to the cross-attention of every decoder layer", () => {
  for (const network of NETWORKS) {
    for (const width of [390, 900]) {
      const { wires, boxes } = planNetwork(network, width, 0);
      const memory = wires.filter((wire) => wire.kind === "memory");
      expect(memory).toHaveLength(network.decoder_layers);
      for (const wire of memory) {
        const reader = box(boxes, wire.id.replace(/\.memory$/, ""));
        const end = wire.points.at(-1);
        expect(end?.x).toBe(reader.x);
        expect(end?.y).toBe(reader.y + reader.height / 2);
      }
    }
  }
});

test("a residual connection goes round every sublayer of the open layer", () => {
  for (const norm of ["pre", "post"] as const) {
    const { wires } = planNetwork({ ...BASE, norm }, 900, 1);
    expect(wires.filter((wire) => wire.kind === "residual")).toHaveLength(2 + 3);
  }
});

test("positions that are not added have no sum", () => {
  const ids = (positions: string) =>
    planNetwork({ ...BASE, positions }, 900, 0).boxes.map((one) => one.id);
  expect(ids("sinusoidal")).toContain("encoder.sum");
  expect(ids("rotary")).not.toContain("encoder.sum");
  expect(ids("rotary")).toContain("encoder.positions");
  expect(ids("none")).not.toContain("encoder.positions");
});

test("a point on a way keeps to it, from its beginning to its end", () => {
  const way = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
    { x: 10, y: 30 },
  ];
  expect(pointAt(way, 0)).toEqual({ x: 0, y: 0 });
  expect(pointAt(way, 0.25)).toEqual({ x: 10, y: 0 });
  expect(pointAt(way, 0.5)).toEqual({ x: 10, y: 10 });
  expect(pointAt(way, 1)).toEqual({ x: 10, y: 30 });
  expect(pointAt(way, 7)).toEqual({ x: 10, y: 30 });
});
