/** The table of a lens on the page: arrow keys move in it, and the cell chosen is the step's. */
import { useRef } from "preact/hooks";
import type { LensCell } from "../../api/types.ts";
import { heat, inkOn } from "../../drawing/colours.ts";
import { Num } from "../../drawing/Number.tsx";
import { plain, spoken } from "../../drawing/pieces.ts";
import { highlight } from "../../state/store.ts";
import { moved, type Place } from "./headList.ts";
import { type ReadingRow, settlesAt, topProbability } from "./readings.ts";

export interface LensGridProps {
  label: string;
  rows: ReadingRow[];
  /** Pieces that were written, a step each. */
  written: string[];
  chosen: Place;
  onChoose: (place: Place) => void;
}

/** Rows are layers, columns steps; the header names what was written. */
export function LensGrid({ label, rows, written, chosen, onChoose }: LensGridProps) {
  const table = useRef<HTMLTableElement>(null);
  const press = (event: KeyboardEvent): void => {
    const next = moved(chosen, event.key, rows.length, written.length);
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
  place: Place;
  settled: boolean;
  chosen: boolean;
  onChoose: (place: Place) => void;
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

function cellAt(table: HTMLTableElement | null, { row, column }: Place) {
  return table?.tBodies[0]?.rows[row]?.cells[column + 1]?.querySelector("button");
}
