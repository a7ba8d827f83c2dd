/** What the attention panel saves: all heads, one head as lines, and tables of weights. */
import type { Tensor } from "../../api/tensors.ts";
import type { HeadStatistics } from "../../api/types.ts";
import type { Palette } from "../../drawing/colours.ts";
import type { Table } from "../../drawing/files.ts";
import { el, heading, type Picture, path, picture, rect, text } from "../../drawing/svg.ts";
import { type Curve, drawPath, type Row, type Stage, strength, TOKEN_HEIGHT } from "./curves.ts";

/** A head of the saved overview: where it stands, its picture as a data address, its caption. */
interface SmallPicture {
  layer: number;
  head: number;
  image: string;
  caption: string;
}

const SMALL = 132;
const CAPTION = 22;
const LEFT = 64;
const TOP = 44;

/** Return all heads as small pictures, one row per layer; `shape` is rows by columns of each. */
export function headsPicture(
  title: string,
  heads: readonly SmallPicture[],
  shape: readonly [number, number],
  colours: Palette,
): Picture {
  const longer = Math.max(...shape);
  const [high, wide] = shape.map((length) => (SMALL * length) / longer) as [number, number];
  const columns = 1 + Math.max(...heads.map((one) => one.head));
  const layers = 1 + Math.max(...heads.map((one) => one.layer));
  const parts = heads.map(({ layer, head, image, caption }) => {
    const x = LEFT + head * (wide + 16);
    const y = TOP + layer * (high + CAPTION + 10);
    return (
      el("image", { x, y, width: wide, height: high, href: image, preserveAspectRatio: "none" }) +
      rect(x, y, wide, high, { fill: "none", stroke: colours.line }) +
      text(x, y + high + 15, caption, { "font-size": 11, fill: colours.muted })
    );
  });
  const names = Array.from({ length: layers }, (_, layer) =>
    text(LEFT - 10, TOP + layer * (high + CAPTION + 10) + high / 2, `layer ${layer + 1}`, {
      "text-anchor": "end",
    }),
  );
  return picture(
    LEFT + columns * (wide + 16) + 8,
    TOP + layers * (high + CAPTION + 10) + 4,
    colours,
    heading(12, 24, title),
    ...names,
    ...parts,
  );
}

const HEADING = 34;

/** Return one head as lines between tokens; those of the row in view are strong. */
export function arcsPicture(
  title: string,
  stage: Stage,
  curves: readonly Curve[],
  names: { queries: readonly string[]; keys: readonly string[] },
  row: number,
  colours: Palette,
): Picture {
  const drawn = [...curves].sort((a, b) => Number(a.row === row) - Number(b.row === row));
  const lines = drawn.map((curve) => {
    const own = curve.row === row;
    const { width, opacity } = strength(curve.weight);
    return path(drawPath(curve), {
      stroke: own ? colours.accent : colours.muted,
      "stroke-width": width,
      opacity: Math.min(1, opacity * (own ? 1.6 : 0.5)).toFixed(2),
    });
  });
  const rows =
    stage.keys === stage.queries
      ? tokenRow(stage.queries, names.queries, row, colours)
      : tokenRow(stage.queries, names.queries, row, colours) +
        tokenRow(stage.keys, names.keys, null, colours);
  return picture(
    Math.max(stage.width, 420),
    stage.height + HEADING,
    colours,
    heading(12, 24, title),
    el("g", { transform: `translate(0 ${HEADING})` }, ...lines, rows),
  );
}

function tokenRow(
  row: Row,
  names: readonly string[],
  strong: number | null,
  colours: Palette,
): string {
  return names
    .map((name, at) =>
      text(row.middles[at] ?? 0, row.top + TOKEN_HEIGHT / 2 + 4, name, {
        "text-anchor": "middle",
        ...(at === strong ? { "font-weight": 600, fill: colours.accent } : {}),
      }),
    )
    .join("");
}

/** Return the weights as a table: one row per query, one column per key, all of them. */
export function weightsTable(
  weights: Tensor,
  queries: readonly string[],
  keys: readonly string[],
): Table {
  return {
    columns: ["query", ...keys],
    rows: queries.map((name, row) => [
      name,
      ...weights.data.subarray(row * keys.length, (row + 1) * keys.length),
    ]),
  };
}

/** Return what every head does on this sentence as a table. */
export function headsTable(heads: readonly HeadStatistics[]): Table {
  const kinds = ["previous", "next", "same_position", "same_word", "first", "end"] as const;
  return {
    columns: ["layer", "head", "role", "entropy", "evenness", "distance", "queries", ...kinds],
    rows: heads.map((found) => [
      found.layer + 1,
      found.head + 1,
      found.role,
      found.entropy,
      found.evenness,
      found.distance,
      found.queries,
      ...kinds.map((kind) => found.shares[kind] ?? ""),
    ]),
  };
}
