/** Cells that can be patched: their names, their tables, and what patching one does. Pure. */
import type { Cell, CellShare, Part, Patching } from "../../api/types.ts";
import { joins, plain } from "../../drawing/pieces.ts";

/** Which run is changed: the first with activations of the second, or the other way round. */
export type Into = "1" | "2";

/** What tells a cell from all others, in an address too: its name, such as cross.4.2. */
export function keyOf(cell: Cell): string {
  return nameOf(cell).replace(" ", ".");
}

/** The cells of an address that the two runs have, each once. */
export function parseCells(word: string | undefined, patching: Patching): Cell[] {
  const known = new Map(patching.cells.map(({ cell }) => [keyOf(cell), cell]));
  return [...new Set((word ?? "").split("_"))].flatMap((key) => known.get(key) ?? []);
}

/** The cells as an address holds them; null: none. */
export function writeCells(cells: Cell[]): string | null {
  return cells.length === 0 ? null : cells.map(keyOf).join("_");
}

/** The cells after a click: the one alone or none; collecting, one more or one less. */
export function clicked(cells: Cell[], cell: Cell, collecting: boolean): Cell[] {
  const others = cells.filter((one) => keyOf(one) !== keyOf(cell));
  const there = others.length < cells.length;
  if (collecting) return there ? others : [...cells, cell];
  return there && others.length === 0 ? [] : [cell];
}

/** Whether a part has heads, not states. */
export function hasHeads(part: Part): boolean {
  return part !== "source" && part !== "target";
}

/** The name of a cell as people count: layers, heads and tokens from 1. */
export function nameOf({ part, layer, index }: Cell): string {
  return `${part} ${hasHeads(part) ? layer + 1 : layer}.${index + 1}`;
}

const HEADS: Partial<Record<Part, string>> = {
  encoder: "encoder",
  decoder: "decoder to itself",
  cross: "decoder to source",
};

/** What a cell is, in words. */
export function describe(cell: Cell, patching: Patching): string {
  const { part, layer, index } = cell;
  if (hasHeads(part)) return `${HEADS[part]}, layer ${layer + 1}, head ${index + 1}`;
  const after = layer === 0 ? "as it enters" : `after layer ${layer}`;
  const label = part === "source" ? columnNames(patching)[index] : targetNames(patching)[index];
  return part === "source"
    ? `encoder state of “${label}” ${after}`
    : `decoder state at “${label}” ${after}`;
}

/** What the columns of the source are called: a token, or both where they differ. */
export function columnNames(patching: Patching): string[] {
  const [first, second] = [patching.first_tokens, patching.second_tokens].map((tokens) =>
    labels(tokens.map(({ piece }) => piece)),
  ) as [string[], string[]];
  return patching.columns.map((column) => {
    const [one, other] = [
      first.slice(...column.first).join(" ") || "–",
      second.slice(...column.second).join(" ") || "–",
    ];
    return column.differs ? `${one} / ${other}` : one;
  });
}

/** What the positions of the target are called. */
export function targetNames(patching: Patching): string[] {
  return labels(patching.target_tokens.map(({ piece }) => piece));
}

function labels(pieces: string[]): string[] {
  const joined = joins(pieces);
  return pieces.map((piece, at) => (joined[at] ? "·" : "") + plain(piece));
}

/** The two tokens that compete. */
export function competing(patching: Patching): [string, string] {
  const [one, other] = patching.decision.pieces;
  return [plain(one), plain(other)];
}

/** The mean of both directions. */
export function shareOf({ forward, backward }: CellShare): number {
  return (forward + backward) / 2;
}

/** The cells of some parts, the largest share of the flip first. */
export function ranked(patching: Patching, ...parts: Part[]): CellShare[] {
  return patching.cells
    .filter(({ cell }) => parts.includes(cell.part))
    .sort((one, other) => shareOf(other) - shareOf(one));
}

/** What one run does with a cell patched, as it was measured. */
export function patched(
  patching: Patching,
  share: CellShare,
  into: Into,
): { margin: number; share: number; translation: string | null } {
  const [first, second] = patching.decision.margins;
  const [own, theirs] = into === "1" ? [first, second] : [second, first];
  const moved = into === "1" ? share.forward : share.backward;
  return {
    margin: own - moved * (own - theirs),
    share: moved,
    translation: share.translations[into === "1" ? 0 : 1],
  };
}

/** The cells of one part as a table: one row per layer. */
export interface Grid {
  part: Part;
  title: string;
  rows: string[];
  columns: string[];
  cells: CellShare[][];
}

const TITLES: Record<Part, string> = {
  encoder: "Encoder heads",
  decoder: "Decoder heads",
  cross: "Cross heads",
  source: "States of the encoder, by source token",
  target: "States of the decoder, by position",
};

/** The table of one part. */
export function gridOf(patching: Patching, part: Part): Grid {
  const layers = new Map<number, CellShare[]>();
  for (const one of patching.cells) {
    if (one.cell.part !== part) continue;
    layers.set(one.cell.layer, [...(layers.get(one.cell.layer) ?? []), one]);
  }
  const cells = [...layers.values()];
  const heads = cells[0]?.map((_, head) => String(head + 1)) ?? [];
  return {
    part,
    title: TITLES[part],
    rows: [...layers.keys()].map((layer) => {
      if (hasHeads(part)) return `layer ${layer + 1}`;
      return layer === 0 ? "embedding" : `layer ${layer}`;
    }),
    columns:
      part === "source" ? columnNames(patching) : part === "target" ? targetNames(patching) : heads,
    cells,
  };
}

/** A share in as few characters as two digits take: .62, 1, −.50. */
export function hundredths(value: number): string {
  const digits = Math.abs(value)
    .toFixed(2)
    .replace(/\.00$/, "")
    .replace(/^0(?=\.)/, "");
  return value < 0 && digits !== "0" ? `−${digits}` : digits;
}

/** Where a token of a row is looked at, in both runs; the most changed first. */
export interface Look {
  label: string;
  first: number;
  second: number;
}

/** The columns that a head looks at in either run, and the token that looks; null: no head. */
export function looksOf(
  patching: Patching,
  cell: Cell,
  most = 6,
): { from: string | null; looks: Look[] } | null {
  const row = patching.rows.find((one) => keyOf(one.cell) === keyOf(cell));
  if (!row) return null;
  const names = cell.part === "decoder" ? targetNames(patching) : columnNames(patching);
  const looks = row.first
    .map((first, at) => ({ label: names[at] ?? "", first, second: row.second[at] ?? 0 }))
    .filter(({ first, second }) => Math.max(first, second) >= 0.02)
    .sort((a, b) => Math.max(b.first, b.second) - Math.max(a.first, a.second))
    .slice(0, most);
  return { from: row.column === null ? null : (names[row.column] ?? null), looks };
}
