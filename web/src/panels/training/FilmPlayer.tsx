/** Plays a film: one frame large, all frames small, and each checkpoint's own translation. */

import { useEffect, useState } from "preact/hooks";
import type { Film, FilmRequest, HeadId, Run, Side } from "../../api/types.ts";
import { heat, type Palette, palette } from "../../drawing/colours.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import type { Table } from "../../drawing/files.ts";
import { Matrix } from "../../drawing/Matrix.tsx";
import { counted, Marked, Num, printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  el,
  estimateWidth,
  hatchPattern,
  heading,
  type Picture,
  picture,
  rect,
  text,
} from "../../drawing/svg.ts";
import { parseWhole } from "../../state/address.ts";
import { address, setExtra } from "../../state/store.ts";
import { isMasked } from "../attention/tokens.ts";
import { headName } from "../lens/headList.ts";

const BEAT = 900; // milliseconds per frame

export function FilmPlayer({ film, head }: { film: Film; head: HeadId }) {
  const last = film.frames.length - 1;
  const place = parseWhole(address.value.extra.frame, last, last);
  const show = (frame: number) => setExtra({ frame: String(frame) }, { replace: true });
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      if (place >= last) setPlaying(false);
      else show(place + 1);
    }, BEAT);
    return () => clearTimeout(timer);
  }, [playing, place, last]);
  const toggle = () => {
    if (!playing && place >= last) show(0);
    setPlaying(!playing);
  };
  return (
    <Figure
      name="film"
      title={`Attention of ${headName(head)}, ${last === 0 ? "one checkpoint" : `${last + 1} checkpoints`}`}
      caption={`Rows look, columns are looked at.${
        head.side === "cross" ? " A row has read its token and is about to write the next." : ""
      } Marked in the translations: words that the newest one does not have there.`}
      picture={() => filmPicture(film, head, palette())}
      table={() => filmTable(film, head.side)}
    >
      <div class="training-film-controls" data-own-keys>
        <button type="button" class="button" disabled={last === 0} onClick={toggle}>
          {playing ? "Pause" : "Play"}
        </button>
        <label class="field">
          Checkpoint at step {counted(film.frames[place]?.step ?? 0)}
          <input
            type="range"
            min={0}
            max={last}
            value={place}
            aria-valuetext={`step ${film.frames[place]?.step}`}
            onInput={(event) => {
              setPlaying(false);
              show(Number(event.currentTarget.value));
            }}
          />
        </label>
      </div>
      <LargeFrame film={film} head={head} place={place} />
      <Strip film={film} head={head} place={place} onShow={show} />
      <Translations film={film} place={place} />
    </Figure>
  );
}

interface FrameProps {
  film: Film;
  head: HeadId;
  place: number;
}

function LargeFrame({ film, head, place }: FrameProps) {
  const frame = film.frames[place];
  const { rows, columns } = getLabels(film, head.side);
  const value = (row: number, column: number) => frame?.weights[row]?.[column] ?? 0;
  return (
    <Matrix
      rows={rows}
      columns={columns}
      value={value}
      masked={(row, column) => isMasked(head.side, row, column)}
      label={`Attention of ${headName(head)} at step ${frame?.step}`}
      describe={(row, column) =>
        `${rows[row]} looks at ${columns[column]}: ${printed(value(row, column), 3)}`
      }
    />
  );
}

function Strip({ film, head, place, onShow }: FrameProps & { onShow: (place: number) => void }) {
  const { rows, columns } = getLabels(film, head.side);
  return (
    <ol class="training-strip" aria-label="All checkpoints">
      {film.frames.map((frame, number) => (
        <li key={frame.step}>
          <button
            type="button"
            aria-pressed={number === place}
            aria-label={`step ${frame.step}`}
            onClick={() => onShow(number)}
          >
            <Matrix
              rows={rows}
              columns={columns}
              value={(row, column) => frame.weights[row]?.[column] ?? 0}
              masked={(row, column) => isMasked(head.side, row, column)}
              label={`step ${frame.step}`}
              size="small"
              width={96}
            />
            <span>step {counted(frame.step)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function Translations({ film, place }: { film: Film; place: number }) {
  const newest = film.frames.at(-1)?.translation ?? "";
  return (
    <ol class="training-translations" aria-label="What each checkpoint wrote by itself">
      {film.frames.map((frame, number) => (
        <li key={frame.step} aria-current={number === place ? "true" : undefined}>
          <span class="training-step">step {counted(frame.step)}</span>
          <Marked parts={compareTexts(newest, frame.translation).after} mark="ins" />
          <span class="training-number">
            log P <Num value={frame.log_prob} digits={2} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/* A film of one head over checkpoints: labels, choices and its picture; every function is pure. */

/** The layers and heads that the network of a run has. */
export interface Sizes {
  encoder_layers: number;
  decoder_layers: number;
  heads: number;
}

/** Return the sizes of a run's network, as its settings tell. */
export function readSizes(run: Run): Sizes {
  const model = (run.settings.model ?? {}) as Partial<Sizes>;
  return {
    encoder_layers: model.encoder_layers ?? 1,
    decoder_layers: model.decoder_layers ?? 1,
    heads: model.heads ?? 1,
  };
}

/** Return what to ask a film with; a target that the run does not translate into is left out. */
export function filmRequest(
  run: Pick<Run, "directions">,
  text: string,
  head: HeadId,
  target: string | undefined,
): FilmRequest {
  const known = target !== undefined && run.directions.some(([, into]) => into === target);
  return { text, ...head, ...(known ? { target } : {}) };
}

/** Return whether two films are of one sentence, whatever the heads. */
export function sameSentence(one: FilmRequest, other: FilmRequest): boolean {
  return one.text === other.text && one.target === other.target;
}

/** Return the names of rows (who looks) and columns (at what) of one attention. */
export function getLabels(film: Film, side: Side): { rows: string[]; columns: string[] } {
  const source = film.source_tokens.map(plain);
  const target = film.target_tokens.map(plain);
  return {
    rows: side === "encoder" ? source : target,
    columns: side === "decoder" ? target : source,
  };
}

/** One line per number: every weight of every frame. */
export function filmTable(film: Film, side: Side): Table {
  const { rows, columns } = getLabels(film, side);
  return {
    columns: ["step", "translation", "row", "row token", "column", "column token", "weight"],
    rows: film.frames.flatMap(({ step, translation, weights }) =>
      weights.flatMap((line, row) =>
        line.map((weight, column) => [
          step,
          translation,
          row + 1,
          rows[row] ?? "",
          column + 1,
          columns[column] ?? "",
          weight,
        ]),
      ),
    ),
  };
}

const [MARGIN, GAP, TOP, LINE] = [16, 16, 64, 18];

/** Draw all frames in a strip, and under it what each checkpoint wrote. */
export function filmPicture(film: Film, head: HeadId, colours: Palette): Picture {
  const { rows, columns } = getLabels(film, head.side);
  const size = Math.max(4, Math.min(12, Math.floor(220 / Math.max(rows.length, columns.length))));
  const wide = Math.max(columns.length * size, 72) + GAP;
  const aLine = Math.max(1, Math.min(film.frames.length, Math.floor(1100 / wide)));
  const high = rows.length * size + 34;
  const lines = Math.ceil(film.frames.length / aLine);
  const below = TOP + lines * high + 12;
  const words = film.frames.map(({ step, translation }) => `step ${step}:  ${translation}`);
  return picture(
    Math.max(
      2 * MARGIN + aLine * wide,
      2 * MARGIN + Math.max(...words.map((one) => estimateWidth(one))),
    ),
    below + words.length * LINE + MARGIN,
    colours,
    el("defs", {}, hatchPattern(colours)),
    heading(MARGIN, 26, `Attention of ${headName(head)}, checkpoint by checkpoint`),
    text(MARGIN, 44, "All frames read the same words.", { fill: colours.muted }),
    ...film.frames.flatMap((frame, place) => {
      const x = MARGIN + (place % aLine) * wide;
      const y = TOP + Math.floor(place / aLine) * high;
      return [
        text(x, y + 10, `step ${frame.step}`, { "font-size": 11, fill: colours.muted }),
        ...frame.weights.flatMap((line, row) =>
          line.map((weight, column) =>
            rect(x + column * size, y + 16 + row * size, size, size, {
              fill: isMasked(head.side, row, column) ? "url(#hatch)" : heat(weight, colours),
            }),
          ),
        ),
      ];
    }),
    ...words.map((one, place) => text(MARGIN, below + (place + 1) * LINE, one)),
  );
}
