/** The share of the flip of every state and head, as tables of cells to patch. */
import { useRef } from "preact/hooks";
import type { Cell, CellShare, Part, Patching } from "../../api/types.ts";
import { diverging, inkOn } from "../../drawing/colours.ts";
import { moveCell } from "../../drawing/cursor.ts";
import { Scrolled } from "../../drawing/Figure.tsx";
import { printed } from "../../drawing/Number.tsx";
import { describe, type Grid, gridOf, hundredths, keyOf, nameOf, shareOf } from "./cells.ts";

interface MapProps {
  patching: Patching;
  chosen: Cell[];
  onChoose: (cell: Cell, more: boolean) => void;
  onPoint: (share: CellShare | null) => void;
}

const HEADS: Part[] = ["encoder", "decoder", "cross"];
const STATES: Part[] = ["source", "target"];

/** All tables: heads beside each other, states below. */
export function CellMap(props: MapProps) {
  return (
    <div class="pair-map">
      <div class="pair-heads">
        {HEADS.map((part) => (
          <GridTable key={part} grid={gridOf(props.patching, part)} {...props} />
        ))}
      </div>
      {STATES.map((part) => (
        <GridTable key={part} grid={gridOf(props.patching, part)} {...props} />
      ))}
    </div>
  );
}

/** One table; Tab goes from table to table, arrow keys move inside. */
function GridTable(props: MapProps & { grid: Grid }) {
  const { grid } = props;
  const box = useRef<HTMLTableElement>(null);
  const press = (event: KeyboardEvent): void => {
    const focused = (event.target as HTMLElement).closest("td");
    const row = (focused?.parentElement as HTMLTableRowElement | null)?.rowIndex;
    if (!focused || row === undefined) return;
    const from = { row: row - 1, column: focused.cellIndex - 1 };
    const to = moveCell(event.key, from, grid.rows.length, grid.columns.length);
    if (!to) return;
    event.preventDefault();
    box.current?.rows[to.row + 1]?.cells[to.column + 1]?.querySelector("button")?.focus();
  };
  return (
    <section class="pair-grid" data-part={grid.part}>
      <h4>{grid.title}</h4>
      <Scrolled label={grid.title}>
        <table ref={box} data-own-keys onKeyDown={press} onMouseLeave={() => props.onPoint(null)}>
          <thead>
            <tr>
              <td />
              {grid.columns.map((label, at) => (
                <th key={at} scope="col">
                  <span>{label}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {grid.cells.map((cells, row) => (
              <tr key={row}>
                <th scope="row">{grid.rows[row]}</th>
                {cells.map((share, column) => (
                  <td key={column}>
                    <CellButton {...props} share={share} first={row === 0 && column === 0} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
    </section>
  );
}

function CellButton(props: MapProps & { share: CellShare; first: boolean }) {
  const { share, patching, chosen } = props;
  const value = shareOf(share);
  const colour = diverging(value);
  const told = `${nameOf(share.cell)}, ${describe(share.cell, patching)}: share ${printed(value, 2)}${
    share.agrees ? "" : ", the directions disagree"
  }`;
  return (
    <button
      type="button"
      class={share.agrees ? "pair-cell" : "pair-cell pair-disagrees"}
      tabIndex={props.first ? 0 : -1}
      aria-pressed={chosen.some((cell) => keyOf(cell) === keyOf(share.cell))}
      aria-label={told}
      title={told}
      data-cell={keyOf(share.cell)}
      data-share={String(value)}
      style={{ backgroundColor: colour, color: inkOn(colour) }}
      onClick={(event) => props.onChoose(share.cell, event.shiftKey)}
      onMouseEnter={() => props.onPoint(share)}
      onFocus={() => props.onPoint(share)}
    >
      {Math.abs(value) >= 0.05 ? hundredths(value) : ""}
    </button>
  );
}
