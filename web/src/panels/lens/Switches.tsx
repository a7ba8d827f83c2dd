/** A switch for every head of the three attentions, in a grid for each of them. */
import { useRef } from "preact/hooks";
import type { HeadId, ModelConfig, Side } from "../../api/types.ts";
import { diverging, inkOn } from "../../drawing/colours.ts";
import { Num } from "../../drawing/Number.tsx";
import { printed } from "../../drawing/numbers.ts";
import {
  headName,
  headsOfLayer,
  includes,
  layersOf,
  layerToggled,
  SIDES,
  toggled,
} from "./headList.ts";
import { byName, type HeadLoss, largest } from "./headLosses.ts";
import { moved } from "./moving.ts";

export interface SwitchesProps {
  config: ModelConfig;
  off: HeadId[];
  /** What was measured of the heads; empty before. */
  losses: HeadLoss[];
  onChange: (off: HeadId[]) => void;
}

/** Three grids, a row a layer; Tab goes from grid to grid, arrow keys move inside. */
export function Switches(props: SwitchesProps) {
  return (
    <div class="lens-switches">
      {SIDES.map(({ side, title }) => (
        <SideSwitches key={side} side={side} title={title} {...props} />
      ))}
    </div>
  );
}

function SideSwitches(props: SwitchesProps & { side: Side; title: string }) {
  const { config, side, off, onChange } = props;
  const box = useRef<HTMLTableElement>(null);
  const layers = layersOf(config, side);
  const press = (event: KeyboardEvent): void => {
    const focused = (event.target as HTMLElement).closest("td");
    const row = (focused?.parentElement as HTMLTableRowElement | null)?.rowIndex;
    if (!focused || row === undefined) return;
    const from = { row: row - 1, column: focused.cellIndex - 1 };
    const to = moved(from, event.key, layers, config.heads + 1);
    if (!to) return;
    event.preventDefault();
    box.current?.rows[to.row + 1]?.cells[to.column + 1]?.querySelector("button")?.focus();
  };
  return (
    <section class="lens-side">
      <h4>{props.title}</h4>
      <table ref={box} aria-label={props.title} data-own-keys onKeyDown={press}>
        <thead>
          <tr>
            <th scope="col">layer</th>
            {headsOfLayer(config, side, 0).map(({ head }) => (
              <th key={head} scope="col">
                <span class="visually-hidden">head </span>
                {head}
              </th>
            ))}
            <th scope="col">
              <span class="visually-hidden">whole layer</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: layers }, (_, layer) => (
            <tr key={layer}>
              <th scope="row">{layer}</th>
              {headsOfLayer(config, side, layer).map((head) => (
                <td key={head.head}>
                  <Switch {...props} head={head} first={layer === 0 && head.head === 0} />
                </td>
              ))}
              <td>
                <button
                  type="button"
                  class="lens-layer"
                  tabIndex={-1}
                  aria-label={`all of ${side} layer ${layer}`}
                  aria-pressed={headsOfLayer(config, side, layer).every(
                    (one) => !includes(off, one),
                  )}
                  onClick={() => onChange(layerToggled(off, side, layer, config))}
                >
                  all
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Switch(props: SwitchesProps & { head: HeadId; first: boolean }) {
  const { head, off, losses, config } = props;
  const isOn = !includes(off, head);
  const measured = byName(losses).get(headName(head));
  const colour = measured && diverging(measured.loss / largest(losses));
  const told = measured ? `, loses ${printed(measured.loss, 2)} nats without it` : "";
  return (
    <button
      type="button"
      class="lens-switch"
      tabIndex={props.first ? 0 : -1}
      aria-pressed={isOn}
      aria-label={`${headName(head)}${told}`}
      title={`${headName(head)}, ${isOn ? "on" : "off"}${told}`}
      data-head={headName(head)}
      style={colour && isOn ? { backgroundColor: colour, color: inkOn(colour) } : {}}
      onClick={() => props.onChange(toggled(off, head, config))}
    >
      <span aria-hidden="true">{isOn ? "on" : "off"}</span>
      {measured && <Num value={measured.loss} digits={2} />}
    </button>
  );
}
