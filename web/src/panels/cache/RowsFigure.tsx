/** The rows of the present step, token by token: what is read from the cache, and shared. */
import type { SearchTree, Trace } from "../../api/types.ts";
import { type Palette, palette } from "../../drawing/colours.ts";
import { Figure, Scrolled } from "../../drawing/Figure.tsx";
import type { Table } from "../../drawing/files.ts";
import { plain } from "../../drawing/pieces.ts";
import { estimateWidth, type Picture, picture, rect, text } from "../../drawing/svg.ts";
import { pathTo } from "../search/outcome.ts";
import { accountStep } from "./account.ts";

interface Props {
  trace: Trace;
  step: number;
}

/** One line per hypothesis; entries that several rows read are joined. */
export function RowsFigure({ trace, step }: Props) {
  const at = accountStep(trace.cache, step);
  const rows = buildRows(trace, at);
  return (
    <Figure
      name="cache-rows"
      title={`Rows of step ${at + 1}`}
      caption="Best first. Rows with a common past read the same entries of the cache (dashed: already shown in a row above): nothing is copied when a hypothesis is followed twice."
      picture={() => rowsPicture(trace, rows, palette())}
      table={() => rowsTable(trace, rows)}
    >
      <Scrolled label={`Rows of step ${at + 1}`} endOf={at}>
        <ol class="cache-rows">
          {rows.map((row, order) => (
            <RowView key={order} trace={trace} row={row} order={order} />
          ))}
        </ol>
      </Scrolled>
    </Figure>
  );
}

/** The rows that a step computed: of the search tree, or the one of a given translation. */
export function buildRows(trace: Trace, at: number): Row[] {
  const count = trace.cache.steps[at]?.rows ?? 1;
  if (trace.tree && trace.search.method !== "mbr" && trace.search.method !== "sampling") {
    return rowsAt(trace.tree, at, count);
  }
  return [
    singleRow(
      trace.target_tokens.map((token) => token.id),
      at,
    ),
  ];
}

const SHOWN = 12; // newest positions of a row

function RowView({ trace, row, order }: { trace: Trace; row: Row; order: number }) {
  const from = Math.max(0, row.entries.length - SHOWN);
  return (
    <li data-chosen={row.chosen}>
      <span class="cache-row-name">
        row {order + 1}
        {row.chosen && <span class="cache-returned">returned</span>}
      </span>
      {from > 0 && <span class="cache-earlier">{from} reused …</span>}
      {row.entries.length === 0 ? (
        <span class="cache-unused">computed with the others, but no hypothesis is in it</span>
      ) : (
        row.entries.slice(from).map((entry, shown) => (
          <span
            key={shown}
            class="cache-entry"
            data-kind={entry.computed ? "computed" : "reused"}
            data-same={entry.seenAbove}
            title={says(entry, from + shown)}
          >
            {plain(pieceOf(trace, entry.token))}
          </span>
        ))
      )}
    </li>
  );
}

function says(entry: Entry, position: number): string {
  const done = entry.computed ? "computed now" : "from the cache";
  const shared = entry.readers > 1 ? `, read by ${entry.readers} rows` : "";
  return `position ${position + 1}, ${done}${shared}`;
}

/** The piece of a token of the search. */
export function pieceOf(trace: Trace, token: number): string {
  const known = trace.pieces[String(token)];
  if (known !== undefined) return known;
  return trace.target_tokens.find((one) => one.id === token)?.piece ?? `#${token}`;
}

function rowsTable(trace: Trace, rows: Row[]): Table {
  return {
    columns: ["row", "position", "token", "id", "computed", "rows that read it"],
    rows: rows.flatMap((row, order) =>
      row.entries.map((entry, position) => [
        order + 1,
        position + 1,
        pieceOf(trace, entry.token),
        entry.token,
        entry.computed ? "computed" : "reused",
        entry.readers,
      ]),
    ),
  };
}

function rowsPicture(trace: Trace, rows: Row[], colours: Palette): Picture {
  const length = Math.max(1, ...rows.map((row) => row.entries.length));
  const widths = Array.from({ length }, (_, position) =>
    Math.max(
      ...rows.map(
        (row) => estimateWidth(plain(pieceOf(trace, row.entries[position]?.token ?? 0))) + 14,
      ),
    ),
  );
  const edges = widths.map((_, at) => widths.slice(0, at).reduce((sum, one) => sum + one + 3, 70));
  const cells = rows.flatMap((row, order) => [
    text(8, 30 + order * 28, `row ${order + 1}`, { fill: colours.muted }),
    ...row.entries.map((entry, position) => {
      const [x, y] = [edges[position] ?? 0, 14 + order * 28];
      const ink = entry.computed ? colours.ground : colours.ink;
      const name = plain(pieceOf(trace, entry.token));
      const opacity = entry.computed ? 1 : entry.seenAbove ? 0 : 0.16;
      const box = {
        rx: 4,
        fill: colours.accent,
        "fill-opacity": opacity,
        stroke: colours.accent,
        "stroke-dasharray": entry.seenAbove ? "3 3" : null,
      };
      return rect(x, y, widths[position] ?? 0, 24, box) + text(x + 7, y + 16, name, { fill: ink });
    }),
  ]);
  const right = (edges.at(-1) ?? 70) + (widths.at(-1) ?? 0) + 12;
  return picture(right, 22 + rows.length * 28, colours, ...cells);
}

/*
 * The rows of one step of a search, each with its own past, read from the search tree.
 *
 *     step 2, three rows      <s>   The   black          an entry of the cache is a node of the
 *                             <s>   The   dark           tree: rows with a common past read the
 *                             <s>   This  is             same one, and it is kept once
 */

/** One position of one row: the node of the tree whose keys and values are read. */
export interface Entry {
  node: number;
  token: number;
  /** Whether it is computed in this step, or read from the cache. */
  computed: boolean;
  /** Rows that read the same entry; more than one where they have this past in common. */
  readers: number;
  /** Whether a row above reads the same entry. */
  seenAbove: boolean;
}

/** A row of the step; `entries` is empty where no hypothesis is left to fill it. */
export interface Row {
  entries: Entry[];
  /** Whether the translation that was returned comes from this row. */
  chosen: boolean;
}

const ROOT = 0;

/**
 * Returns the rows that step `step` computed, best first: what was kept after the step before.
 * `count` is how many rows the search had at this step; those it had no use for are empty.
 */
export function rowsAt(tree: SearchTree, step: number, count: number): Row[] {
  const alive = tree.nodes.flatMap((node, number) =>
    node.step === step && node.status === "kept" ? [number] : [],
  );
  const best = tree.results[0];
  const winner = new Set(best === undefined ? [] : [ROOT, ...pathTo(tree, best)]);
  const paths = alive.slice(0, count).map((node) => [ROOT, ...pathTo(tree, node)]);
  const rows = paths.map((path, order) => ({
    chosen: winner.has(path.at(-1) ?? -1),
    entries: path.map((node, position) => ({
      node,
      token: tree.nodes[node]?.token ?? 0,
      computed: position === path.length - 1,
      readers: paths.filter((other) => other[position] === node).length,
      seenAbove: paths.slice(0, order).some((other) => other[position] === node),
    })),
  }));
  const empty = Array.from({ length: Math.max(0, count - rows.length) }, () => ({
    chosen: false,
    entries: [],
  }));
  return [...rows, ...empty];
}

/** The one row of a translation that was given or written without a tree. */
export function singleRow(tokens: number[], step: number): Row {
  return {
    chosen: true,
    entries: tokens.slice(0, step + 1).map((token, position) => ({
      node: position,
      token,
      computed: position === step,
      readers: 1,
      seenAbove: false,
    })),
  };
}
