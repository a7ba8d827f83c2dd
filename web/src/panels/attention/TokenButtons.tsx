/** Tokens of a drawing as buttons, each at its place; one stop of Tab, arrow keys move along. */
import { useRef } from "preact/hooks";
import { highlight } from "../../state/store.ts";
import { type Row, TOKEN_HEIGHT } from "./curves.ts";
import type { Stream } from "./tokens.ts";
import { within } from "./view.ts";

export interface TokenButtonsProps {
  row: Row;
  names: string[];
  stream: Stream;
  label: string;
  /** The token that is in view. */
  current?: number;
  /** Tokens whose lines are not shown. */
  faded: ReadonlySet<number>;
  onPick?: (index: number) => void;
}

/** A row of tokens. Pointing at one, or focusing it, makes it the highlight of the whole page. */
export function TokenButtons(props: TokenButtonsProps) {
  const list = useRef<HTMLUListElement>(null);
  const { row, names, stream, current = 0 } = props;
  const light = (index: number) => () => {
    highlight.value = { stream, index };
  };
  // A pointer that goes must not take what the keyboard has lit meanwhile, nor the other way.
  const leave = (index: number) => () => {
    const now = highlight.peek();
    if (now?.stream === stream && now.index === index) highlight.value = null;
  };
  const move = (event: KeyboardEvent, from: number): void => {
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: names.length - 1 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    list.current?.querySelectorAll("button")[within(to, names.length)]?.focus();
  };
  return (
    <ul class="attention-tokens" ref={list} aria-label={props.label} data-own-keys>
      {names.map((name, index) => (
        <li key={index}>
          <button
            type="button"
            data-faded={props.faded.has(index)}
            aria-current={props.onPick && index === current ? "true" : undefined}
            tabIndex={index === current ? 0 : -1}
            style={{
              left: `${(row.middles[index] ?? 0) - (row.widths[index] ?? 0) / 2}px`,
              top: `${row.top}px`,
              width: `${row.widths[index] ?? 0}px`,
              height: `${TOKEN_HEIGHT}px`,
            }}
            onPointerEnter={light(index)}
            onPointerLeave={leave(index)}
            onFocus={light(index)}
            onBlur={leave(index)}
            onKeyDown={(event) => move(event, index)}
            onClick={() => props.onPick?.(index)}
          >
            {name}
          </button>
        </li>
      ))}
    </ul>
  );
}
