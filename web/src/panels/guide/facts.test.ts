import { expect, test } from "vitest";
import type { Tensor } from "../../api/tensors.ts";
import { gather } from "./facts.ts";
import { TRACE } from "./madeUp.ts";

/** Tensors of the right shapes: attention is even but where `peaks` says. */
function tensors(peaks: Record<string, [number, number, number]>) {
  const asked: string[] = [];
  const fetch = async (name: string): Promise<Tensor> => {
    asked.push(name);
    if (!name.endsWith(".weights")) return { shape: [5, 2], data: new Float32Array(10).fill(3) };
    const queries = name.startsWith("encoder") ? 5 : 4;
    const keys = name.includes("decoder.0.self") ? 4 : 5;
    const data = new Float32Array(2 * queries * keys).fill(0.1);
    const peak = peaks[name];
    if (peak) data[(peak[0] * queries + peak[1]) * keys + peak[2]] = 0.9;
    return { shape: [2, queries, keys], data };
  };
  return { fetch, asked };
}

test("facts come from the tensors of all layers of the three attentions", async () => {
  const { fetch, asked } = tensors({
    "encoder.1.self_attention.weights": [1, 3, 0],
    "decoder.0.self_attention.weights": [0, 3, 1],
    "decoder.0.cross_attention.weights": [1, 1, 2],
  });
  const facts = await gather(TRACE, fetch);
  expect(facts.encoder).toMatchObject({ layer: 1, head: 1, query: 3, key: 0 });
  expect(facts.decoder).toMatchObject({ layer: 0, head: 0, query: 3, key: 1 });
  expect(facts.cross).toMatchObject({ layer: 0, head: 1, query: 1, key: 2 });
  expect(facts.apart?.layer).toBe(1);
  expect(facts.unsure).toBe(3);
  expect(facts.stream?.before).toBeCloseTo(Math.sqrt(18), 6);
  expect(asked.filter((name) => name.endsWith(".weights")).length).toBe(4);
  expect(asked).toContain("encoder.1.feed_forward.output");
});

test("where no long words are apart, short ones are looked at", async () => {
  const { fetch } = tensors({ "decoder.0.self_attention.weights": [0, 3, 1] });
  const short = {
    ...TRACE,
    target_tokens: ["<s>", "▁It", "▁really", "▁rains"].map((piece) => ({
      id: 7,
      piece,
      start: 0,
      end: 1,
    })),
  };
  expect((await gather(short, fetch)).decoder).toMatchObject({ query: 3, key: 1 });
});

test("rows of cross-attention belong to the token that they predict, never to the end symbol", async () => {
  const { fetch } = tensors({ "decoder.0.cross_attention.weights": [0, 3, 2] });
  const facts = await gather(TRACE, fetch);
  expect(facts.cross?.query).not.toBe(3);
});
