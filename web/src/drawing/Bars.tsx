/** A list of bars with names and numbers: a distribution. */
import { Num } from "./Number.tsx";
import { plain, spoken } from "./pieces.ts";

/** One bar. */
interface Bar {
  /** A token's piece, or any name. */
  name: string;
  value: number;
  /** Marked as the one that was taken. */
  chosen?: boolean;
  /** Cut off: shown pale. */
  dim?: boolean;
  /** Words after the number. */
  note?: string;
}

/** What Bars needs. */
interface BarsProps {
  bars: readonly Bar[];
  label: string;
  /** The value of a full bar; the largest, if not given. */
  most?: number;
  digits?: number;
  /** Names are subword pieces. */
  pieces?: boolean;
  /** The word beside the chosen bar. */
  mark?: string;
  /** What picking a bar does, for the button's name: "force". */
  action?: string;
  onPick?: (index: number) => void;
}

/** Bars from the left; with `onPick`, each is a button. */
export function Bars(props: BarsProps) {
  const most = props.most ?? Math.max(...props.bars.map((bar) => bar.value), 1e-12);
  return (
    <ol class="bars" aria-label={props.label}>
      {props.bars.map((bar, index) => (
        <li key={index} class={bar.dim ? "bar bar-dim" : "bar"} data-chosen={bar.chosen}>
          <BarName {...props} bar={bar} index={index} />
          <span class="bar-track" aria-hidden="true">
            <span class="bar-fill" style={{ width: `${width(bar.value, most)}%` }} />
          </span>
          <span class="bar-number">
            <Num value={bar.value} digits={props.digits ?? 3} />
            {bar.note && <span class="bar-note"> {bar.note}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}

function BarName(props: BarsProps & { bar: Bar; index: number }) {
  const { bar, index } = props;
  const shown = props.pieces ? plain(bar.name) : bar.name;
  const spokenName = props.pieces ? spoken(bar.name) : bar.name;
  const mark = bar.chosen ? <span class="bar-mark">{props.mark ?? "taken"}</span> : null;
  if (!props.onPick) {
    return (
      <span class="bar-name">
        {shown}
        {mark}
      </span>
    );
  }
  return (
    <button
      type="button"
      class="bar-name bar-button"
      aria-label={props.action ? `${props.action} ${spokenName}` : spokenName}
      onClick={() => props.onPick?.(index)}
    >
      {shown}
      {mark}
    </button>
  );
}

function width(value: number, most: number): number {
  return Math.max(0, Math.min(100, (100 * value) / most));
}
