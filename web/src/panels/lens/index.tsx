/** Lens and heads: what layers would say by themselves, and what heads are good for. */

import { saved } from "../../api/saved.ts";
import type { Lens, LensCell, Trace } from "../../api/types.ts";
import { Bars } from "../../drawing/Bars.tsx";
import { palette } from "../../drawing/colours.ts";
import type { Cell } from "../../drawing/cursor.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Marked, Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { NeedsServer } from "../../frame/Saved.tsx";
import { clampIndex, parsePlace } from "../../state/address.ts";
import { jump, step } from "../../state/player.ts";
import { address, setExtra } from "../../state/store.ts";
import { useLens } from "../../state/useTensor.ts";
import { HeadSwitches } from "./HeadSwitches.tsx";
import {
  COLUMNS,
  decoderRows,
  LensGrid,
  logitRows,
  type ReadingRow,
  readingTable,
  settledCounts,
} from "./LensGrid.tsx";
import { lensPicture } from "./pictures.ts";
import "./lens.css";

export default function LensPanel() {
  return (
    <PanelFrame
      title="Lens and heads"
      lead="Read a layer as if it were the last, or switch a head off and translate again. Both are hints, not proof: no layer was trained to be read early, and none to do without a head."
    >
      {(trace) => (
        <>
          {saved ? (
            <NeedsServer what="switch heads off and translate again" />
          ) : (
            <HeadSwitches trace={trace} />
          )}
          {saved && !saved.lens ? (
            <NeedsServer what="read layers early, because it was saved without the network" />
          ) : (
            <Readings trace={trace} />
          )}
        </>
      )}
    </PanelFrame>
  );
}

function Readings({ trace }: { trace: Trace }) {
  const lens = useLens(trace);
  if (!lens) return <p aria-busy="true">Reading every layer …</p>;
  return (
    <>
      <LogitLens trace={trace} lens={lens} />
      <DecoderLens trace={trace} lens={lens} />
    </>
  );
}

/* The two lenses: what the network would say if it stopped early. */

/** The logit lens: every decoder layer read as if it were the last. */
function LogitLens({ trace, lens }: { trace: Trace; lens: Lens }) {
  const rows = logitRows(lens.logit);
  const half = settledCounts(rows).findIndex((count) => count >= trace.steps.length / 2);
  return (
    <Reading
      name="logit-lens"
      title="Logit lens"
      trace={trace}
      rows={rows}
      mark="lens-row"
      caption={
        <>
          Each decoder layer goes through the final norm and the output projection as if it were the
          last. A cell shows its likeliest token, that token’s probability (also as shade), and the
          rank # of the token that was written. A frame marks the layer from which the written token
          stays first
          {half >= 0 && `; for half of the tokens that is layer ${half + 1} or earlier`}.
        </>
      }
    />
  );
}

/** The decoder lens: the whole decoder, reading an earlier layer of the encoder. */
function DecoderLens({ trace, lens }: { trace: Trace; lens: Lens }) {
  return (
    <Reading
      name="decoder-lens"
      title="Decoder lens"
      trace={trace}
      rows={decoderRows(lens.decoder)}
      mark="reader-row"
      caption="The whole decoder reads an earlier encoder layer in place of the last. Cells show what it would write after each part of the translation above."
    >
      <OwnTranslations lens={lens} trace={trace} />
    </Reading>
  );
}

interface ReadingProps {
  name: string;
  title: string;
  trace: Trace;
  rows: ReadingRow[];
  /** Key of the address that keeps the row. */
  mark: string;
  caption: preact.ComponentChildren;
  children?: preact.ComponentChildren;
}

function Reading({ name, title, trace, rows, mark, caption, children }: ReadingProps) {
  const written = trace.steps.map(({ token }) => token.piece);
  const usual = clampIndex(rows.length - 2, rows.length);
  const row = parsePlace(address.value.extra[mark], rows.length, usual);
  const chosen = { row, column: clampIndex(step.value, written.length) };
  const choose = (place: Cell): void => {
    setExtra({ [mark]: String(place.row + 1) }, { replace: true });
    jump(place.column);
  };
  return (
    <Figure
      name={name}
      title={title}
      caption={caption}
      picture={() => lensPicture(title, rows, written, palette())}
      table={() => ({ columns: COLUMNS, rows: readingTable(rows, written) })}
    >
      {children}
      <LensGrid label={title} rows={rows} written={written} chosen={chosen} onChoose={choose} />
      <Detail row={rows[row]} step={chosen.column} written={written[chosen.column] ?? ""} />
    </Figure>
  );
}

function Detail(props: { row: ReadingRow | undefined; step: number; written: string }) {
  const cell = props.row?.cells[props.step];
  if (!props.row || !cell) return null;
  return (
    <div class="lens-detail">
      <p>
        <b>
          Step {props.step + 1}, {props.row.name}.
        </b>{" "}
        The written token “{plain(props.written)}” has log P <Num value={cell.log_prob} /> and is
        number {cell.rank}; the entropy is <Num value={cell.entropy} /> nats.
      </p>
      <Bars
        label={`Likeliest tokens at step ${props.step + 1}, ${props.row.name}`}
        bars={bars(cell, props.written)}
        most={1}
        digits={4}
        pieces
      />
    </div>
  );
}

function bars(cell: LensCell, written: string) {
  return cell.top.map(({ piece, log_prob }) => ({
    name: piece,
    value: Math.exp(log_prob),
    chosen: piece === written,
  }));
}

function OwnTranslations({ lens, trace }: { lens: Lens; trace: Trace }) {
  return (
    <div class="scroll-x">
      <table class="lens-own-table">
        <caption class="visually-hidden">What the decoder writes when left alone</caption>
        <thead>
          <tr>
            <th scope="col">reading encoder layer</th>
            <th scope="col">writes, left alone</th>
            <th scope="col">log P of the translation above</th>
          </tr>
        </thead>
        <tbody>
          {lens.decoder.map((reading, place) => (
            <tr key={reading.layer}>
              <th scope="row">
                {reading.layer + 1}
                {place === lens.decoder.length - 1 && <span class="lens-own">as it does</span>}
              </th>
              <td>
                <Marked
                  parts={compareTexts(trace.translation, reading.translation).after}
                  mark="ins"
                />
              </td>
              <td class="lens-number">
                <Num value={reading.log_prob} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
