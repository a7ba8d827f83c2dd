/** Plays a film: one frame large, all frames small, and each checkpoint's own translation. */
import { useEffect, useState } from "preact/hooks";
import type { Film, HeadId } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Matrix } from "../../drawing/Matrix.tsx";
import { Marked, Num } from "../../drawing/Number.tsx";
import { counted, printed } from "../../drawing/numbers.ts";
import { address } from "../../state/store.ts";
import { headName } from "../lens/headList.ts";
import { wholeOf } from "../output/extra.ts";
import { filmPicture, filmTable, hidden, labelsOf } from "./filmView.ts";
import { keep } from "./keep.ts";

const BEAT = 900; // milliseconds a frame

export function FilmPlayer({ film, head }: { film: Film; head: HeadId }) {
  const last = film.frames.length - 1;
  const place = wholeOf(address.value.extra.frame, last, last);
  const show = (frame: number) => keep({ frame: String(frame) });
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      if (place >= last) setPlaying(false);
      else show(place + 1);
    }, BEAT);
    return () => clearTimeout(timer);
  });
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
  const { rows, columns } = labelsOf(film, head.side);
  const value = (row: number, column: number) => frame?.weights[row]?.[column] ?? 0;
  return (
    <Matrix
      rows={rows}
      columns={columns}
      value={value}
      masked={(row, column) => hidden(head.side, row, column)}
      label={`Attention of ${headName(head)} at step ${frame?.step}`}
      describe={(row, column) =>
        `${rows[row]} looks at ${columns[column]}: ${printed(value(row, column), 3)}`
      }
    />
  );
}

function Strip({ film, head, place, onShow }: FrameProps & { onShow: (place: number) => void }) {
  const { rows, columns } = labelsOf(film, head.side);
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
              masked={(row, column) => hidden(head.side, row, column)}
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
