/** Embedding + position = what enters the stack, as heat maps. */

import { useId, useRef, useState } from "preact/hooks";
import type { Tensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { useWidth } from "../../drawing/Canvas.tsx";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { address, go, highlight } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { HeatMap, type HeatMapProps } from "./HeatMap.tsx";
import { entryPicture } from "./picture.ts";
import {
  type Entry,
  entryTable,
  magnitude,
  methodOf,
  numbersAt,
  type Place,
  type Stream,
  tokensOf,
  WHOLE_ROW,
  waveOf,
} from "./positions.ts";

interface Props {
  trace: Trace;
  stream: Stream;
}

/** The three tables of a stream; undefined until all are here. */
export function useEntry(trace: Trace, stream: Stream): Entry | undefined {
  const embedding = useTensor(trace, `${stream}.embedding`);
  const positions = useTensor(trace, `${stream}.positions`);
  const sum = useTensor(trace, `${stream}.sum`);
  return embedding && positions && sum ? { embedding, positions, sum } : undefined;
}

/** The heat maps, with a switch between the streams and one that leaves the positions out. */
export function EntryFigure({ trace, stream }: Props) {
  const entry = useEntry(trace, stream);
  const without = address.value.extra.positions === "off";
  const method = methodOf(trace.model.positions);
  const names = tokensOf(trace, stream).map((token) => token.piece);
  return (
    <Figure
      name={`embedding-${stream}`}
      title="Embedding + position"
      controls={<Switches stream={stream} without={without} added={method.added} />}
      caption={
        <>
          <b>{method.title}.</b> {method.says}
        </>
      }
      {...(entry
        ? {
            picture: () => entryPicture(entry, names, without, palette()),
            table: () => entryTable(entry, names),
          }
        : {})}
    >
      {entry ? (
        <Maps trace={trace} stream={stream} entry={entry} without={without} />
      ) : (
        <p class="muted">Fetching the vectors …</p>
      )}
    </Figure>
  );
}

function Switches(props: { stream: Stream; without: boolean; added: boolean }) {
  const own = address.value.extra.scale === "own";
  return (
    <>
      <Choice
        name="stream"
        label="Stream"
        chosen={props.stream}
        choices={{ source: "source", target: "target" }}
      />
      {props.added && (
        <Choice
          name="positions"
          label="Positions"
          chosen={props.without ? "off" : "on"}
          choices={{ on: "with positions", off: "without" }}
        />
      )}
      <Choice
        name="scale"
        label="Scale"
        chosen={own ? "own" : "one"}
        choices={{ one: "one scale", own: "own scales" }}
      />
    </>
  );
}

interface ChoiceProps {
  /** Key of the address that it changes. */
  name: string;
  label: string;
  chosen: string;
  choices: Record<string, string>;
}

function Choice({ name, label, chosen, choices }: ChoiceProps) {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">{label}</legend>
      {Object.entries(choices).map(([value, words]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() =>
            go({ extra: { ...address.peek().extra, [name]: value } }, { replace: true })
          }
        >
          {words}
        </button>
      ))}
    </fieldset>
  );
}

interface MapsProps extends Props {
  entry: Entry;
  without: boolean;
}

function Maps({ trace, stream, entry, without }: MapsProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const id = useId();
  const [place, setPlace] = useState<Place | null>(null);
  const put = (next: Place | null): void => {
    setPlace(next);
    highlight.value = next && { stream, index: next.row };
  };
  const lit = highlight.value?.stream === stream ? highlight.value.index : null;
  const common = {
    names: tokensOf(trace, stream).map((token) => plain(token.piece)),
    width,
    cursor: place ?? (lit === null ? null : { row: lit, column: WHOLE_ROW }),
    onPlace: put,
    describedBy: id,
  };
  const own = address.value.extra.scale === "own";
  const all = { trace, stream, entry, without };
  return (
    <div ref={box} class="tokens-maps">
      {width > 0 && <ThreeMaps {...all} common={common} own={own} />}
      <Scale most={own ? null : magnitudeOf(entry)} />
      <p id={id} class="tokens-read" aria-live="polite">
        {place && place.column !== WHOLE_ROW ? (
          <Read {...all} place={place} />
        ) : (
          "Point at a number, or move with the arrow keys."
        )}
      </p>
    </div>
  );
}

interface ThreeProps extends MapsProps {
  common: Omit<HeatMapProps, "label" | "tensor" | "most">;
  own: boolean;
}

/** E · √d_model, + PE, = x. */
function ThreeMaps({ trace, stream, entry, without, common, own }: ThreeProps) {
  const { d_model, positions } = trace.model;
  const { added } = methodOf(positions);
  const sum = without ? entry.embedding : entry.sum;
  return (
    <>
      <h4>
        Embedding <span>E · √d_model</span>
        <small>
          √{d_model} = <Num value={Math.sqrt(d_model)} digits={2} />
        </small>
      </h4>
      <HeatMap {...common} label="Embedding" {...scaled(entry, entry.embedding, own)} />
      {added && (
        <div class={without ? "tokens-off" : undefined}>
          <h4>
            + Position <span>{without ? "left out" : "PE"}</span>
          </h4>
          <HeatMap {...common} label="Positions" {...scaled(entry, entry.positions, own)} />
        </div>
      )}
      <h4>
        = What enters the {stream === "source" ? "encoder" : "decoder"}
        {without && added && <span>if there were no positions</span>}
      </h4>
      <HeatMap {...common} label="What enters the stack" {...scaled(entry, sum, own)} />
    </>
  );
}

/** A map and the value at the ends of its ramp: that of all three, or its own. */
function scaled(entry: Entry, tensor: Tensor, own: boolean): { tensor: Tensor; most: number } {
  return { tensor, most: own ? magnitude(tensor) : magnitudeOf(entry) };
}

function magnitudeOf(entry: Entry): number {
  return Math.max(...Object.values(entry).map(magnitude));
}

/** The colours from the least to the largest number: of all three maps, or of each its own. */
function Scale({ most }: { most: number | null }) {
  const { diverging } = palette();
  return (
    <p class="tokens-scale">
      {most === null ? "−" : <Num value={-most} digits={2} />}
      <span class="tokens-ramp" aria-hidden="true">
        {diverging
          .filter((_, at) => at % 4 === 0)
          .map((colour) => (
            <i key={colour} style={{ backgroundColor: colour }} />
          ))}
      </span>
      {most === null ? "+ each map has its own scale" : <Num value={most} digits={2} />}
    </p>
  );
}

/** The numbers under the cursor. */
function Read({ trace, stream, entry, without, place }: MapsProps & { place: Place }) {
  const token = tokensOf(trace, stream)[place.row];
  if (!token || place.row >= (entry.sum.shape[0] ?? 0)) return null;
  const wave = waveOf(trace.model.positions, place.column, trace.model.d_model);
  const { embedding, position, sum } = numbersAt(entry, place);
  return (
    <span data-place={`${place.row},${place.column}`}>
      <b>{plain(token.piece)}</b>, position {place.row}, dimension {place.column}
      {wave && ` (${wave})`}: <Num value={embedding} digits={4} /> {without ? "without" : "+"}{" "}
      <Num value={position} digits={4} />
      {!without && (
        <>
          {" "}
          = <Num value={sum} digits={4} />
        </>
      )}
    </span>
  );
}
