/** The table of a lens on the page: arrow keys move in it, and the cell chosen is the step's. */

import { useRef } from "preact/hooks";
import type { LensCell } from "../../api/types.ts";
import { heat, inkOn } from "../../drawing/colours.ts";
import { type Cell, moveCell } from "../../drawing/cursor.ts";
import { Num } from "../../drawing/Number.tsx";
import { plain, spoken } from "../../drawing/pieces.ts";
import { highlight } from "../../state/store.ts";

interface LensGridProps {
  label: string;
  rows: ReadingRow[];
  /** Pieces that were written, a step each. */
  written: string[];
  chosen: Cell;
  onChoose: (place: Cell) => void;
}

/** Rows are layers, columns steps; the header names what was written. */
export function LensGrid({ label, rows, written, chosen, onChoose }: LensGridProps) {
  const table = useRef<HTMLTableElement>(null);
  const press = (event: KeyboardEvent): void => {
    const next = moveCell(event.key, chosen, rows.length, written.length);
    if (!next) return;
    event.preventDefault();
    onChoose(next);
    cellAt(table.current, next)?.focus();
  };
  return (
    <section class="scroll-x" aria-label={label}>
      <table class="lens-grid" aria-label={label} ref={table} data-own-keys>
        <thead>
          <tr>
            <th scope="col" class="lens-corner">
              written
            </th>
            {written.map((piece, step) => (
              <th
                key={step}
                scope="col"
                aria-label={spoken(piece)}
                data-current={step === chosen.column}
              >
                {plain(piece)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={press}>
          {rows.map((row, layer) => (
            <tr key={row.name} data-own={row.own}>
              <th scope="row">
                {row.name}
                {row.own && <span class="lens-own">the network’s own</span>}
              </th>
              {row.cells.map((cell, step) => (
                <GridCell
                  key={step}
                  cell={cell}
                  place={{ row: layer, column: step }}
                  settled={settlesAt(rows, step) === layer}
                  chosen={chosen.row === layer && chosen.column === step}
                  onChoose={onChoose}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface GridCellProps {
  cell: LensCell;
  place: Cell;
  settled: boolean;
  chosen: boolean;
  onChoose: (place: Cell) => void;
}

function GridCell({ cell, place, settled, chosen, onChoose }: GridCellProps) {
  const probability = topProbability(cell);
  const piece = cell.top[0]?.piece ?? "";
  const colour = heat(probability);
  return (
    <td class={settled ? "lens-cell lens-settled" : "lens-cell"}>
      <button
        type="button"
        tabIndex={chosen ? 0 : -1}
        aria-pressed={chosen}
        data-piece={piece}
        data-rank={cell.rank}
        style={{ backgroundColor: colour, color: inkOn(colour) }}
        onClick={() => onChoose(place)}
        onPointerEnter={() => {
          highlight.value = { stream: "target", index: place.column + 1 };
        }}
        onPointerLeave={() => {
          highlight.value = null;
        }}
      >
        <span class="lens-piece">{plain(piece)}</span>
        <span class="lens-numbers">
          <Num value={probability} digits={2} />
          <span class="lens-rank">
            <span class="visually-hidden">, rank of the written token </span>
            <span aria-hidden="true"> #</span>
            {cell.rank}
          </span>
        </span>
      </button>
    </td>
  );
}

function cellAt(table: HTMLTableElement | null, { row, column }: Cell) {
  return table?.tBodies[0]?.rows[row]?.cells[column + 1]?.querySelector("button");
}

/* What the two lenses say, put in order for a table of cells; every function is pure. */

/** A row of cells: one layer, a cell a step. */
export interface ReadingRow {
  name: string;
  cells: LensCell[];
  /** Whether this is what the network itself says. */
  own: boolean;
}

/** Return the rows of the logit lens: a decoder layer each, the network's own last. */
export function logitRows(layers: LensCell[][]): ReadingRow[] {
  return named(layers, "decoder layer");
}

/** Return the rows of the decoder lens: an encoder layer each, the network's own last. */
export function decoderRows(readings: { cells: LensCell[] }[]): ReadingRow[] {
  return named(
    readings.map(({ cells }) => cells),
    "encoder layer",
  );
}

function named(layers: LensCell[][], what: string): ReadingRow[] {
  return layers.map((cells, layer) => ({
    name: `${what} ${layer + 1}`,
    cells,
    own: layer === layers.length - 1,
  }));
}

/**
 * Return the first layer from which on the written token is the likeliest of each, to the last;
 * null where the network itself has another for likelier.
 */
export function settlesAt(rows: ReadingRow[], step: number): number | null {
  let first: number | null = null;
  for (let layer = rows.length - 1; layer >= 0; layer--) {
    if (rows[layer]?.cells[step]?.rank !== 1) {
      break;
    }
    first = layer;
  }
  return first;
}

/** Return how many tokens have settled at each layer or before it. */
export function settledCounts(rows: ReadingRow[]): number[] {
  const steps = rows[0]?.cells.length ?? 0;
  const places = Array.from({ length: steps }, (_, step) => settlesAt(rows, step));
  return rows.map((_, layer) => places.filter((place) => place !== null && place <= layer).length);
}

/** Return the probability that a cell gives its likeliest token. */
export function topProbability(cell: LensCell): number {
  return Math.exp(cell.top[0]?.log_prob ?? Number.NEGATIVE_INFINITY);
}

/** Columns of the CSV file of a lens; layers and steps count from 1, as on the page. */
export const COLUMNS = [
  "layer",
  "step",
  "written token",
  "likeliest token",
  "its log P",
  "log P of the written token",
  "its rank",
  "entropy (nats)",
];

/** Return one line per cell, for the CSV file. */
export function readingTable(rows: ReadingRow[], written: string[]): (string | number)[][] {
  return rows.flatMap((row, layer) =>
    row.cells.map((cell, step) => [
      layer + 1,
      step + 1,
      written[step] ?? "",
      cell.top[0]?.piece ?? "",
      cell.top[0]?.log_prob ?? Number.NaN,
      cell.log_prob,
      cell.rank,
      cell.entropy,
    ]),
  );
}
