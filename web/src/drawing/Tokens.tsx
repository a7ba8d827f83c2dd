/** Tokens in a row of chips; pieces of one word are tied together. */

import { Component } from "preact";
import { useRef } from "preact/hooks";
import type { TraceToken } from "../api/types.ts";
import { highlight } from "../state/store.ts";
import { heat, inkOn } from "./colours.ts";
import { moveIndex } from "./cursor.ts";
import { beginsWord, isSymbol, joins, plain, spoken } from "./pieces.ts";

/** What TokenRow needs. */
interface TokenRowProps {
  tokens: readonly Pick<TraceToken, "id" | "piece">[];
  stream: "source" | "target";
  /** What the row is, for a screen reader. */
  label: string;
  /** Number of the first token in `highlight`; 1 when a row of target tokens leaves out `<s>`. */
  first?: number;
  /** The token that is marked. */
  current?: number | null;
  /** Print ids under the pieces. */
  ids?: boolean;
  /** Shade of a chip, 0 to 1. */
  shade?: (index: number) => number | undefined;
  /** More about a token, for a screen reader and as a tooltip. */
  note?: (index: number) => string | undefined;
  /** Tokens from this one on are not written yet: shown pale. */
  pale?: number;
  onPick?: (index: number) => void;
}

/** The row: one stop of Tab, arrow keys move inside it, pointer and focus set `highlight`. */
export function TokenRow(props: TokenRowProps) {
  const { tokens, stream, first = 0, current = null } = props;
  const list = useRef<HTMLUListElement>(null);
  const joined = joins(tokens.map((token) => token.piece));
  const at = highlight.value?.stream === stream ? highlight.value.index - first : -1;
  const stop = at >= 0 && at < tokens.length ? at : Math.min(current ?? 0, tokens.length - 1);
  const light = (index: number): void => {
    // A pointer that goes must not take what was lit elsewhere meanwhile.
    if (index >= 0) highlight.value = { stream, index: index + first };
    else if (highlight.peek()?.stream === stream) highlight.value = null;
  };
  const move = (event: KeyboardEvent): void => {
    const to = moveIndex(event.key, indexOf(event), tokens.length);
    if (to === null) return;
    event.preventDefault();
    list.current?.querySelectorAll("button")[to]?.focus();
  };
  // The row listens for its chips: a chip that has not changed is then not drawn again.
  return (
    <ul
      class="tokens"
      ref={list}
      aria-label={props.label}
      data-own-keys
      onPointerOver={(event) => light(indexOf(event))}
      onPointerLeave={() => light(-1)}
      onFocusIn={(event) => light(indexOf(event))}
      onFocusOut={() => light(-1)}
      onKeyDown={move}
      onClick={(event) => {
        const index = indexOf(event);
        if (index >= 0) props.onPick?.(index);
      }}
    >
      {tokens.map((token, index) => {
        const shade = props.shade?.(index);
        return (
          <li key={index} class={joined[index] ? "token-joined" : ""}>
            <Chip
              piece={token.piece}
              id={props.ids ? token.id : null}
              index={index}
              note={props.note?.(index) ?? ""}
              colour={shade === undefined ? null : heat(shade)}
              current={index === current}
              pale={props.pale !== undefined && index >= props.pale}
              lit={index === at}
              stop={index === Math.max(0, stop)}
            />
          </li>
        );
      })}
    </ul>
  );
}

/** The number of the chip that something happened to; −1: to none. */
function indexOf(event: Event): number {
  const chip = event.target instanceof Element ? event.target.closest("button.token") : null;
  return chip instanceof HTMLElement ? Number(chip.dataset.index) : -1;
}

interface ChipProps {
  piece: string;
  id: number | null;
  index: number;
  note: string;
  colour: string | null;
  current: boolean;
  pale: boolean;
  lit: boolean;
  stop: boolean;
}

/** One token; drawn again only if something of it has changed. */
class Chip extends Component<ChipProps> {
  override shouldComponentUpdate(next: ChipProps): boolean {
    const names = Object.keys(next) as (keyof ChipProps)[];
    return names.some((name) => next[name] !== this.props[name]);
  }

  override render(props: ChipProps) {
    const { piece, colour, note } = props;
    const classes = [
      "token",
      isSymbol(piece) && "token-symbol",
      props.lit && "token-lit",
      props.pale && "token-pale",
    ];
    return (
      <button
        type="button"
        class={classes.filter(Boolean).join(" ")}
        data-index={props.index}
        tabIndex={props.stop ? 0 : -1}
        aria-current={props.current ? "step" : undefined}
        aria-label={[spoken(piece), note].filter(Boolean).join(", ")}
        title={note || undefined}
        style={colour ? { backgroundColor: colour, color: inkOn(colour) } : undefined}
      >
        <span class="token-piece">
          {beginsWord(piece) && <span class="token-gap" aria-hidden="true" />}
          {plain(piece)}
        </span>
        {props.id !== null && <span class="token-id">{props.id}</span>}
      </button>
    );
  }
}
