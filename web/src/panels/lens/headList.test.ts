import { expect, test } from "vitest";
import type { ModelConfig } from "../../api/types.ts";
import { allHeads, headName, includes, layerToggled, switched, toggled } from "./headList.ts";

const config = { encoder_layers: 3, decoder_layers: 2, heads: 4 } as ModelConfig;

test("a network has its heads once each, in the order of the three attentions", () => {
  const names = allHeads(config).map(headName);
  expect(names.length).toBe((3 + 2 + 2) * 4);
  expect(new Set(names).size).toBe(names.length);
  expect(names[0]).toBe("encoder 0.0");
  expect(names.at(-1)).toBe("cross 1.3");
});

test("turning a head twice leaves the list as it was", () => {
  const off = [{ side: "cross", layer: 1, head: 2 } as const];
  for (const head of allHeads(config)) {
    expect(toggled(toggled(off, head, config), head, config)).toEqual(off);
  }
});

test("the list keeps the network's order, however it came to be", () => {
  const first = toggled([], { side: "cross", layer: 1, head: 2 }, config);
  const both = toggled(first, { side: "encoder", layer: 0, head: 3 }, config);
  expect(both.map(headName)).toEqual(["encoder 0.3", "cross 1.2"]);
});

test("a layer goes off as a whole, and on again when all of it is off", () => {
  const partly = toggled([], { side: "decoder", layer: 1, head: 0 }, config);
  const off = layerToggled(partly, "decoder", 1, config);
  expect(off.map(headName)).toEqual(["decoder 1.0", "decoder 1.1", "decoder 1.2", "decoder 1.3"]);
  expect(layerToggled(off, "decoder", 1, config)).toEqual([]);
});

test("heads that the network does not have are forgotten", () => {
  const wrong = { side: "encoder", layer: 9, head: 0 } as const;
  expect(includes(switched([wrong], [], true, config), wrong)).toBe(false);
});
