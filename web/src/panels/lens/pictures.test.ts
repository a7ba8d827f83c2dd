import { expect, test } from "vitest";
import type { HeadId, LensCell, ModelConfig } from "../../api/types.ts";
import { DARK, heat, LIGHT } from "../../drawing/colours.ts";
import { lensPicture, switchesPicture, switchesTable } from "./pictures.ts";
import { logitRows } from "./readings.ts";

const cell = (piece: string, probability: number, rank: number): LensCell => ({
  top: [{ id: 7, piece, log_prob: Math.log(probability) }],
  log_prob: -1,
  rank,
  entropy: 1,
});

test("a lens is drawn in the colours of its theme, with token, probability and rank", () => {
  const rows = logitRows([[cell("▁<b>", 0.25, 12)], [cell("▁cat", 1, 1)]]);
  for (const colours of [LIGHT, DARK]) {
    const { svg } = lensPicture("Logit lens", rows, ["▁cat"], colours);
    expect(svg).toContain("0.25 · #12");
    expect(svg).toContain(heat(0.25, colours));
    expect(svg).toContain(heat(1, colours));
    expect(svg).not.toContain("<b>");
  }
});

const config = { encoder_layers: 1, decoder_layers: 2, heads: 2 } as ModelConfig;
const off: HeadId = { side: "cross", layer: 1, head: 0 };
const measured = { head: { side: "encoder", layer: 0, head: 1 } as HeadId, logProb: -3, loss: 2 };

test("heads that are off are hatched, losses are written on those that are on", () => {
  const { svg } = switchesPicture(config, [off], [measured], LIGHT);
  expect(svg.match(/url\(#hatch\)/g)?.length).toBe(1);
  expect(svg).toContain(">2.00<");
  expect(svg.match(/>on</g)?.length).toBe(8);
});

test("the table has a line a head, and nothing where nothing was measured", () => {
  const { rows } = switchesTable(config, [off], [measured]);
  expect(rows.length).toBe(10);
  expect(rows[1]).toEqual(["encoder", 0, 1, 1, -3, 2]);
  expect(rows[8]).toEqual(["cross", 1, 0, 0, "", ""]);
});
