/** The table from logit to probability, one row a token; pressing a token forces it. */

import { saved } from "../../api/saved.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { counted, Num } from "../../drawing/Number.tsx";
import { isSymbol, plain, spoken } from "../../drawing/pieces.ts";
import { softmaxPicture } from "./pictures.ts";
import {
  buildRows,
  type Cuts,
  isChanged,
  type Rest,
  type Row,
  rowAt,
  type Spread,
} from "./rows.ts";
import type { PieceOf, StepView } from "./view.ts";

interface Props {
  view: StepView;
  cuts: Cuts;
  now: Spread;
  pieceOf: PieceOf;
  /** Rows to show. */
  count: number;
  more: () => void;
  force: (id: number) => void;
  /** Place of the token that was drawn by lot, if one was. */
  drawn: number | null;
}

/** Tell what can be forced: text, the end symbol and single bytes, but no other symbol. */
export function canForce(piece: string): boolean {
  return !isSymbol(piece) || piece === "</s>" || /^<0x[0-9A-F]{2}>$/u.test(piece);
}

/** The figure. */
export function Softmax(props: Props) {
  const { view, cuts, now, pieceOf, count } = props;
  const found = buildRows(view, now, pieceOf, count);
  const changed = isChanged(cuts);
  return (
    <Figure
      name="softmax"
      title={`Step ${view.at + 1}: from logits to probabilities`}
      caption={
        <>
          Bars: the softmax{changed && "; the thin line marks what the network itself says"}.{" "}
          {!saved && "Press a token to force it here: the search then continues from it."}
        </>
      }
      picture={() => softmaxPicture(view, cuts, found)}
      table={() => buildTable(props)}
    >
      <div class="output-scroll">
        <table class="output-table" data-changed={changed || undefined}>
          <Head cuts={cuts} changed={changed} />
          <Body {...props} rows={found.rows} changed={changed} />
          <Foot rest={found.rest} now={now} changed={changed} />
        </table>
      </div>
      {found.rest.count > 0 && (
        <button type="button" class="button output-more" onClick={props.more}>
          Show more tokens
        </button>
      )}
    </Figure>
  );
}

function Body(props: Props & { rows: Row[]; changed: boolean }) {
  const before = (index: number) => props.rows[index - 1]?.place ?? -1;
  return (
    <tbody>
      {props.rows.map((row, index) => (
        <TokenLine key={row.id} {...props} row={row} gap={row.place > before(index) + 1} />
      ))}
    </tbody>
  );
}

function Head({ cuts, changed }: { cuts: Cuts; changed: boolean }) {
  const scaled = cuts.temperature === 1 ? "z − max" : `(z − max) / ${cuts.temperature}`;
  return (
    <thead>
      <tr>
        <th scope="col" class="output-right output-place">
          <abbr title="place by probability">#</abbr>
        </th>
        <th scope="col">token</th>
        <th scope="col" class="output-right">
          logit z
        </th>
        <th scope="col" class="output-right output-exp">
          {cuts.temperature === 0 ? "largest?" : <>e^({scaled})</>}
        </th>
        <th scope="col" colSpan={2}>
          probability
        </th>
        {changed && (
          <th scope="col" class="output-right">
            drawn with
          </th>
        )}
      </tr>
    </thead>
  );
}

interface LineProps extends Props {
  row: Row;
  changed: boolean;
  gap: boolean;
}

function TokenLine({ row, changed, gap, force, drawn, view }: LineProps) {
  const classes = [row.kept ? "" : "output-cut", gap ? "output-gap" : ""];
  return (
    <tr
      class={classes.filter(Boolean).join(" ") || undefined}
      data-token={row.id}
      data-written={row.written || undefined}
    >
      <td class="output-right output-place">{row.place + 1}</td>
      <th scope="row">
        <TokenName row={row} step={view.at + 1} force={force} />
        {row.place === drawn && <span class="output-badge">drawn</span>}
      </th>
      <td class="output-right" data-column="logit">
        <Num value={row.logit} digits={2} />
      </td>
      <td class="output-right output-exp" data-column="exp">
        <Small value={row.exp} />
      </td>
      <td class="output-track-cell">
        <ShareBar value={row.probability} plain={changed ? row.plain : null} />
      </td>
      <td class="output-right" data-column="probability">
        <Small value={row.probability} />
      </td>
      {changed && (
        <td class="output-right" data-column="share">
          {row.kept ? <Small value={row.share} /> : <span class="output-cut-word">cut</span>}
        </td>
      )}
    </tr>
  );
}

function TokenName({ row, step, force }: { row: Row; step: number; force: (id: number) => void }) {
  const shown = <span class="output-piece">{plain(row.piece)}</span>;
  if (row.written) {
    return (
      <span class="output-token output-written">
        {shown}
        <span class="output-badge">written</span>
      </span>
    );
  }
  if (saved || !canForce(row.piece)) return <span class="output-token">{shown}</span>;
  return (
    <button
      type="button"
      class="output-token"
      aria-label={`Force ${spoken(row.piece)} at step ${step}`}
      onClick={() => force(row.id)}
    >
      {shown}
    </button>
  );
}

/** A bar of a share of 1, with a thin line where it stood before. */
function ShareBar({ value, plain: before }: { value: number; plain: number | null }) {
  return (
    <span class="output-track" aria-hidden="true">
      {value > 0 && <span class="output-bar" style={{ width: `${100 * value}%` }} />}
      {before !== null && <span class="output-before" style={{ left: `${100 * before}%` }} />}
    </span>
  );
}

/** A number of [0, 1]: four digits, and where they show nothing, a power of ten. */
export function Small({ value }: { value: number }) {
  if (value >= 0.00005 || value === 0) return <Num value={value} digits={value === 0 ? 0 : 4} />;
  const power = Math.floor(Math.log10(value));
  return (
    <span class="num" data-value={String(value)}>
      {(value / 10 ** power).toFixed(1)}·10<sup>{`−${-power}`}</sup>
    </span>
  );
}

function Foot({ rest, now, changed }: { rest: Rest; now: Spread; changed: boolean }) {
  return (
    <tfoot>
      {rest.count > 0 && (
        <tr>
          <td class="output-place" />
          <th scope="row">{counted(rest.count)} others</th>
          <td />
          <td class="output-right output-exp">
            <Small value={rest.exp} />
          </td>
          <td class="output-track-cell">
            <ShareBar value={rest.probability} plain={changed ? rest.plain : null} />
          </td>
          <td class="output-right">
            <Small value={rest.probability} />
          </td>
          {changed && (
            <td class="output-right">
              <Small value={rest.share} />
            </td>
          )}
        </tr>
      )}
      <tr class="output-sum">
        <td class="output-place" />
        <th scope="row">sum</th>
        <td />
        <td class="output-right output-exp" data-column="total">
          <Num value={now.total} digits={4} />
        </td>
        <td />
        <td class="output-right">1</td>
        {changed && <td class="output-right">1</td>}
      </tr>
    </tfoot>
  );
}

/** Every token of the vocabulary, not only those with a row. */
function buildTable({ view, now, pieceOf }: Props) {
  const all = Array.from(view.order.ids, (_, place) => rowAt(view, now, pieceOf, place));
  return {
    columns: [
      "rank",
      "id",
      "token",
      "logit",
      "exp((z - max) / T)",
      "probability at temperature 1",
      "probability",
      "drawn with",
      "written",
    ],
    rows: all.map((row) => [
      row.place + 1,
      row.id,
      row.piece,
      row.logit,
      row.exp,
      row.plain,
      row.probability,
      row.share,
      row.written ? "yes" : "no",
    ]),
  };
}
