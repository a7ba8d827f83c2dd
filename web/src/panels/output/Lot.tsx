/** Sampling a token: the shares laid end to end, and where a random number falls. */

import { Figure } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { plain, spoken } from "../../drawing/pieces.ts";
import { parseWhole } from "../../state/address.ts";
import { address, setExtra } from "../../state/store.ts";
import { lotPicture } from "./pictures.ts";
import { drawn, type Spread, stretch, uniform } from "./rows.ts";
import { canForce } from "./Softmax.tsx";
import type { PieceOf, StepView } from "./view.ts";

/** Stretches narrower than this share of the line are drawn as one. */
const NARROW = 0.006;

const MOST_SEED = 999_999;

/** One stretch of the line from 0 to 1. */
interface Slice {
  /** Null: many small ones. */
  piece: string | null;
  from: number;
  to: number;
}

/** A token drawn by lot. */
export interface Draw {
  number: number;
  place: number;
}

/** The draw that the address asks for; null: none. */
export function drawToken(now: Spread, at: number): Draw | null {
  const seed = parseWhole(address.value.extra.seed, MOST_SEED, -1);
  if (seed < 0) return null;
  const number = uniform(seed, at);
  return { number, place: drawn(now.shares, number) };
}

/** Return the line from 0 to 1 cut into the shares, small ones as one at the end. */
export function slices(view: StepView, now: Spread, pieceOf: PieceOf): Slice[] {
  const found: Slice[] = [];
  let from = 0;
  for (let place = 0; place < now.kept; place += 1) {
    const share = now.shares[place] as number;
    if (share < NARROW) break;
    found.push({ piece: pieceOf(view.order.ids[place] as number), from, to: from + share });
    from += share;
  }
  if (from < 1 - 1e-9) found.push({ piece: null, from, to: 1 });
  return found;
}

interface Props {
  view: StepView;
  now: Spread;
  pieceOf: PieceOf;
  draw: Draw | null;
  force: (id: number) => void;
}

/** The figure: the line, the seed, and what was drawn. */
export function Lot(props: Props) {
  const { view, now, pieceOf, draw } = props;
  const cut = slices(view, now, pieceOf);
  return (
    <Figure
      name="draw"
      title="Sampling a token"
      caption={
        <>
          Sampling lays the shares end to end and draws a random number between 0 and 1. The same
          seed draws the same number.
        </>
      }
      picture={() => lotPicture(cut, draw)}
      table={() => ({
        columns: ["token", "from", "to"],
        rows: cut.map(({ piece, from, to }) => [piece ?? "all others", from, to]),
      })}
    >
      <Line cut={cut} draw={draw} />
      <div class="output-lot-controls">
        <Seed isDrawn={draw !== null} />
        {draw && <Told {...props} draw={draw} />}
      </div>
    </Figure>
  );
}

function throwWith(seed: number): void {
  setExtra({ seed: String(seed % (MOST_SEED + 1)) }, { replace: true });
}

function Seed({ isDrawn }: { isDrawn: boolean }) {
  const seed = parseWhole(address.value.extra.seed, MOST_SEED, 0);
  return (
    <>
      <label for="output-seed">Seed</label>
      <input
        id="output-seed"
        type="number"
        min="0"
        max={MOST_SEED}
        step="1"
        value={seed}
        onInput={(event) => {
          const wanted = event.currentTarget.valueAsNumber;
          if (Number.isInteger(wanted) && wanted >= 0 && wanted <= MOST_SEED) throwWith(wanted);
        }}
      />
      <button type="button" class="button" onClick={() => throwWith(isDrawn ? seed + 1 : seed)}>
        {isDrawn ? "Draw again" : "Draw"}
      </button>
    </>
  );
}

function Line({ cut, draw }: { cut: Slice[]; draw: Draw | null }) {
  return (
    <div class="output-line" aria-hidden="true">
      {cut.map(({ piece, from, to }, index) => (
        <span
          key={index}
          class={piece === null ? "output-slice output-slice-rest" : "output-slice"}
          style={{ left: `${100 * from}%`, width: `${100 * (to - from)}%` }}
          title={piece === null ? "all others" : plain(piece)}
        >
          {to - from > 0.05 && (piece === null ? "others" : plain(piece))}
        </span>
      ))}
      {draw && <span class="output-pin" style={{ left: `${100 * draw.number}%` }} />}
    </div>
  );
}

function Told({ view, now, pieceOf, draw, force }: Props & { draw: Draw }) {
  const id = view.order.ids[draw.place] as number;
  const [from, to] = stretch(now.shares, draw.place);
  const piece = pieceOf(id);
  return (
    <p class="output-told" aria-live="polite">
      <span>
        <Num value={draw.number} digits={4} /> falls on <b data-drawn={id}>{plain(piece)}</b> (
        <Num value={from} digits={4} /> to <Num value={to} digits={4} />)
      </span>
      {draw.place !== view.written && canForce(piece) && (
        <button
          type="button"
          class="button"
          aria-label={`Force ${spoken(piece)}`}
          onClick={() => force(id)}
        >
          Force it
        </button>
      )}
    </p>
  );
}
