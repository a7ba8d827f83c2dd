import { expect, test } from "vitest";
import { about, type Sizes, shape } from "./boxes.ts";
import { planNetwork } from "./layout.ts";
import type { Network } from "./parts.ts";

const NETWORK: Network = {
  encoder_layers: 3,
  decoder_layers: 2,
  norm: "post",
  positions: "sinusoidal",
};
const SIZES: Sizes = {
  source: 9,
  target: 7,
  step: 4,
  dModel: 128,
  dFF: 256,
  heads: 4,
  vocabulary: 4000,
  norm: "post",
  positions: "sinusoidal",
};

function told(id: string, changes: Partial<Sizes> = {}, network = NETWORK, layer = 1) {
  const box = planNetwork(network, 900, layer).boxes.find((one) => one.id === id);
  if (!box) throw new Error(id);
  return about(box, { ...SIZES, ...changes });
}

test("shapes are those of what flows: the whole source, of the target the newest row", () => {
  expect(told("encoder.embedding").shape).toBe("9 × 128");
  expect(told("encoder.1.self_attention").shape).toBe("4 × 9 × 9");
  expect(told("encoder.1.feed_forward").shape).toBe("9 × 256");
  expect(told("encoder.memory").shape).toBe("9 × 128");
  expect(told("decoder.1.self_attention").shape).toBe("4 × 1 × 5");
  expect(told("decoder.1.cross_attention").shape).toBe("4 × 1 × 9");
  expect(told("decoder.linear").shape).toBe(shape(1, 4000));
  expect(told("decoder.tokens", { step: 0 }).shape).toBe("1 token");
});

test("boxes lead to the matching panel, side and layer", () => {
  expect(told("encoder.1.self_attention").leads).toEqual({
    panel: "attention",
    side: "encoder",
    layer: 1,
  });
  expect(told("decoder.1.self_attention").leads).toMatchObject({ side: "decoder", layer: 1 });
  expect(told("decoder.1.cross_attention").leads).toMatchObject({ side: "cross", layer: 1 });
  expect(told("decoder.tokens").leads).toEqual({ panel: "tokens", extra: { stream: "target" } });
  expect(told("encoder.memory").leads.panel).toBe("cache");
  expect(told("decoder.softmax").leads.panel).toBe("output");
  expect(told("decoder.output").leads.panel).toBe("output");
  const feed = { panel: "feed", side: "decoder", layer: 1 };
  expect(told("decoder.1.feed_forward").leads).toEqual(feed);
  expect(told("encoder.1.feed_forward.norm").leads).toMatchObject({
    panel: "norm",
    side: "encoder",
    layer: 1,
    extra: { sublayer: "feed_forward" },
  });
});

test("a sum and the norm beside it lead to the same numbers", () => {
  const pre = { ...NETWORK, norm: "pre" as const };
  const sum = told("decoder.1.cross_attention.sum", { norm: "pre" }, pre);
  expect(sum.leads).toEqual(told("decoder.1.cross_attention.norm", { norm: "pre" }, pre).leads);
  expect(told("encoder.norm", { norm: "pre" }, pre).leads.extra).toEqual({ sublayer: "end" });
});

test("a closed layer opens here: it leads to no panel", () => {
  const closed = told("encoder.0");
  expect(closed.leads).toEqual({ layer: 0, side: "encoder" });
  expect(closed.to).toBe("");
});

test("every other box names the panel that it leads to", () => {
  for (const norm of ["pre", "post"] as const) {
    for (const positions of ["learned", "rotary", "relative"]) {
      for (const box of planNetwork({ ...NETWORK, norm, positions }, 900, 0).boxes) {
        const { to, says, title } = about(box, { ...SIZES, norm, positions });
        expect(says).not.toBe("");
        expect(title).not.toBe("");
        expect(to !== "").toBe(box.kind !== "layer");
      }
    }
  }
});

test("norms are named as they stand: add & norm after a sublayer, norm before it", () => {
  expect(told("decoder.1.feed_forward.norm").title).toBe("Add & norm");
  const pre = { ...NETWORK, norm: "pre" as const };
  expect(told("decoder.1.feed_forward.norm", { norm: "pre" }, pre).title).toBe("Norm");
  expect(told("decoder.1.feed_forward.norm", { norm: "pre" }, pre).miniature?.tensor).toBe(
    "decoder.1.feed_forward.residual_before",
  );
});

test("title and place tell all boxes of a drawing apart", () => {
  for (const norm of ["pre", "post"] as const) {
    const { boxes } = planNetwork({ ...NETWORK, norm }, 900, 1);
    const names = boxes
      .map((box) => about(box, { ...SIZES, norm }))
      .map(({ title, place }) => `${title}, ${place}`);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("Cross-attention, decoder layer 2");
    expect(names).toContain(
      norm === "pre"
        ? "Norm, before feed-forward, encoder layer 2"
        : "Add & norm, after feed-forward, encoder layer 2",
    );
  }
});
