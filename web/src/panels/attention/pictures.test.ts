import { expect, test } from "vitest";
import { LIGHT } from "../../drawing/colours.ts";
import { curvesOf, stageOf } from "./curves.ts";
import { sentences, weightsFor } from "./madeUp.ts";
import { arcsPicture, headsPicture, headsTable, weightsTable } from "./pictures.ts";
import { labels } from "./tokens.ts";

test("a saved table has every weight at full precision", () => {
  const of = sentences("cross");
  const weights = weightsFor(of, 9);
  const table = weightsTable(weights, labels(of.queries), labels(of.keys));
  expect(table.columns).toHaveLength(1 + of.keys.length);
  expect(table.rows.flatMap((row) => row.slice(1))).toEqual([...weights.data]);
});

test("the table of heads has a row a head and no number for what cannot be", () => {
  const table = headsTable([
    {
      ...{ side: "decoder", layer: 1, head: 0, role: "mixed", rule: "" },
      ...{ entropy: 1, evenness: 0.5, distance: 1, queries: 2, shares: { previous: 0.4 } },
    },
  ]);
  const row = table.rows[0] ?? [];
  expect(row.slice(0, 2)).toEqual([1, 0]);
  expect(row[table.columns.indexOf("next")]).toBe("");
  expect(row[table.columns.indexOf("previous")]).toBeGreaterThan(0);
});

test("the saved lines are as many as the drawn ones, and labels stay text", () => {
  const of = sentences("cross");
  const stage = stageOf(of, [40, 40, 40], [40, 40, 40, 40]);
  const curves = curvesOf(weightsFor(of, 3), of, stage, new Set());
  const names = { queries: ["<s>", "a", "b"], keys: ["w", "x", "y", "z"] };
  const { svg } = arcsPicture("A & B", stage, curves, names, 1, LIGHT);
  expect(svg.match(/<path /g)).toHaveLength(curves.length);
  expect(svg.match(/<text /g)).toHaveLength(1 + 3 + 4);
  expect(svg).not.toContain("<s>");
  expect(svg).toContain("A &#38; B");
});

test("the overview has an image and a caption a head, inside its edges", () => {
  const heads = [0, 1].flatMap((layer) =>
    [0, 1, 2].map((head) => ({ layer, head, image: "data:,", caption: `head ${head}` })),
  );
  const { svg, width, height } = headsPicture("All heads", heads, [4, 8], LIGHT);
  expect(svg.match(/<image /g)).toHaveLength(6);
  for (const [, x, y, w, h] of svg.matchAll(
    /<image x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g,
  )) {
    expect(Number(x) + Number(w)).toBeLessThan(width);
    expect(Number(y) + Number(h)).toBeLessThan(height);
    expect(Number(w)).toBe(2 * Number(h));
  }
});
