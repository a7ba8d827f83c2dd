/** Add & norm: the residual sum around a sublayer, and its LayerNorm, number by number (section 3.1). */
import { hasTensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { Figure, Scrolled } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { parsePlace } from "../../state/address.ts";
import { address, setExtra } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { countLayers } from "../lens/headList.ts";
import { sublayers } from "../map/parts.ts";
import { Strip } from "../steps/Strip.tsx";
import { largestPlaces, layerNorm, lengthOf, type Normalized } from "./arithmetic.ts";
import { Factor, getPlace, NumberField, type Place, PlaceChoice } from "./Where.tsx";
import "./sublayer.css";

/** The panel. */
export default function NormPanel() {
  return (
    <PanelFrame
      title="Add & norm"
      lead="A sublayer’s result is added to the token’s vector, never put in its place; LayerNorm keeps the sum at an even scale (section 3.1)."
    >
      {(trace) => <Body trace={trace} place={getPlace(trace)} />}
    </PanelFrame>
  );
}

const TITLES: Record<string, string> = {
  self_attention: "Self-attention",
  cross_attention: "Cross-attention",
  feed_forward: "Feed-forward",
  end: "The end of the stack",
};

function Body({ trace, place }: { trace: Trace; place: Place }) {
  const choices = sublayers(place.stack).map(({ name }) => name);
  if (trace.model.norm === "pre") choices.push("end");
  const asked = address.value.extra.sublayer;
  const sublayer = choices.find((one) => one === asked) ?? choices[0] ?? "self_attention";
  const needed =
    sublayer === "end" ? `${place.stack}.0.output` : `${place.stack}.0.feed_forward.output`;
  return (
    <>
      <PlaceChoice trace={trace} place={place}>
        <label>
          Around{" "}
          <select
            value={sublayer}
            onChange={(event) => setExtra({ sublayer: event.currentTarget.value })}
          >
            {choices.map((one) => (
              <option key={one} value={one}>
                {TITLES[one]}
              </option>
            ))}
          </select>
        </label>
      </PlaceChoice>
      <Needs trace={trace} tensor={needed}>
        <Sums trace={trace} place={place} sublayer={sublayer} />
      </Needs>
    </>
  );
}

/** The vectors of one token around a sublayer, as far as they are here. */
interface Vectors {
  before: ArrayLike<number>;
  /** What the sublayer adds; null at the end of a stack. */
  added: ArrayLike<number> | null;
  /** What goes through the norm, and what comes out; null without the norm's weights. */
  norm: { input: ArrayLike<number>; gamma: Float32Array; beta: Float32Array } | null;
  /** What the network recorded after it all. */
  recorded: ArrayLike<number>;
}

/** What the tensors of a sublayer, or of the end of a stack, are called. */
function tensorNames(trace: Trace, { stack, layer }: Place, sublayer: string) {
  const last = countLayers(trace.model, stack) - 1;
  if (sublayer === "end") {
    return {
      before: `${stack}.${last}.output`,
      added: null,
      recorded: stack === "encoder" ? "memory" : "decoder.states",
      norm: `weights.${stack}.norm`,
    };
  }
  const stem = `${stack}.${layer}.${sublayer}`;
  return {
    before: `${stem}.residual_before`,
    added: `${stem}.output`,
    recorded: `${stem}.residual_after`,
    norm: `weights.${stack}.layers.${layer}.${sublayer}_residual.norm`,
  };
}

function useVectors(trace: Trace, place: Place, sublayer: string): Vectors | undefined {
  const names = tensorNames(trace, place, sublayer);
  const before = useTensor(trace, names.before, [place.row])?.data;
  const added = useTensor(trace, names.added, names.added ? [place.row] : [])?.data ?? null;
  const recorded = useTensor(trace, names.recorded, [place.row])?.data;
  const known = hasTensor(trace, `${names.norm}.weight`);
  const gamma = useTensor(trace, known ? `${names.norm}.weight` : null)?.data;
  const beta = useTensor(trace, known ? `${names.norm}.bias` : null)?.data;
  const missing = [before, recorded, names.added === null || added, !known || (gamma && beta)];
  if (!before || !recorded || !missing.every(Boolean)) return undefined;
  const post = trace.model.norm === "post";
  const input = post && added ? before.map((x, at) => x + (added[at] ?? 0)) : before;
  return { before, added, norm: gamma && beta ? { input, gamma, beta } : null, recorded };
}

/** A vector with what it is. */
interface NamedVector {
  name: string;
  of: ArrayLike<number>;
}

/** The vectors in the order in which the network computes them. */
function listVectors(
  { before, added, recorded }: Vectors,
  normalized: ArrayLike<number> | null,
  pre: boolean,
  sublayer: string,
): NamedVector[] {
  const of = (name: string, vector: ArrayLike<number> | null): NamedVector[] =>
    vector ? [{ name, of: vector }] : [];
  return [
    ...of("x, as it comes in", before),
    ...of("what the norm hands on", pre ? normalized : null),
    ...of(`what ${TITLES[sublayer]?.toLowerCase()} adds`, added),
    ...of(pre ? "their sum goes on" : "after Add & Norm", sublayer === "end" ? null : recorded),
  ];
}

const ORDER = {
  pre: "This network normalises before each sublayer and leaves the sum as it is; the paper normalises the sum. Dimensions count from 1.",
  post: "As in the paper, the sum is normalised. Dimensions count from 1.",
};

function Sums({ trace, place, sublayer }: { trace: Trace; place: Place; sublayer: string }) {
  const vectors = useVectors(trace, place, sublayer);
  if (!vectors) return <p class="muted">Fetching the numbers …</p>;
  const { before, added, norm, recorded } = vectors;
  const pre = trace.model.norm === "pre";
  const end = sublayer === "end";
  const found = norm && layerNorm(norm.input, norm.gamma, norm.beta, trace.model.norm_epsilon);
  const usual = largestPlaces(added ?? before, 1)[0] ?? 0;
  const dimension = parsePlace(address.value.extra.dim, before.length, usual);
  const rows = listVectors(vectors, found?.result ?? null, pre, sublayer);
  const name = plain(place.tokens[place.row]?.piece ?? "");
  const where = end
    ? `at the end of the ${place.stack}`
    : `in ${place.stack} layer ${place.layer + 1}`;
  return (
    <Figure
      name="add-and-norm"
      title={`“${name}” ${where}`}
      caption={ORDER[trace.model.norm]}
      table={() => ({
        columns: ["dimension", ...rows.map((row) => row.name)],
        rows: Array.from(before, (_, at) => [at + 1, ...rows.map(({ of }) => of[at] ?? 0)]),
      })}
    >
      <VectorTable rows={rows} dimension={dimension} />
      <NumberField
        name="Dimension"
        value={dimension}
        count={before.length}
        onChoose={pickDimension}
      />
      <ol class="sublayer-cards sublayer-beside">
        {!pre && added && <Add {...{ before, added, dimension }} recorded={null} />}
        {norm && found ? (
          <Normalize {...{ found, norm, dimension }} recorded={pre && !end ? null : recorded} />
        ) : (
          <li class="saved-missing">The weights of this norm are not in this file.</li>
        )}
        {pre && added && <Add {...{ before, added, dimension, recorded }} />}
      </ol>
    </Figure>
  );
}

function pickDimension(at: number): void {
  setExtra({ dim: String(at + 1) }, { replace: true });
}

function VectorTable({ rows, dimension }: { rows: NamedVector[]; dimension: number }) {
  return (
    <Scrolled label="The vectors around the sublayer">
      <table class="sublayer-vectors">
        <thead>
          <tr>
            <td>{rows[0]?.of.length} numbers each</td>
            <td />
            <th scope="col">length</th>
            <th scope="col">in dimension {dimension + 1}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, of }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <Strip
                  vector={of}
                  reach={Math.max(...Array.from(of, Math.abs))}
                  name={name}
                  dimension={dimension}
                  onPick={pickDimension}
                />
              </td>
              <td>
                <Num value={lengthOf(of)} digits={2} />
              </td>
              <td>
                <Num value={of[dimension] ?? 0} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

interface AddProps {
  before: ArrayLike<number>;
  added: ArrayLike<number>;
  dimension: number;
  recorded: ArrayLike<number> | null;
}

function Add({ before, added, dimension, recorded }: AddProps) {
  const [x, y] = [before[dimension] ?? 0, added[dimension] ?? 0];
  return (
    <li>
      <h4>Add</h4>
      <p>The sublayer’s result is added to what went round it.</p>
      <p class="sublayer-line">
        <Factor value={x} /> + <Factor value={y} /> = <Num value={x + y} />
      </p>
      <Recorded value={recorded?.[dimension]} />
    </li>
  );
}

function Normalize(props: {
  found: Normalized;
  norm: NonNullable<Vectors["norm"]>;
  dimension: number;
  recorded: ArrayLike<number> | null;
}) {
  const { found, norm, dimension, recorded } = props;
  const { mean, deviation, unit, result } = found;
  return (
    <li>
      <h4>Norm</h4>
      <p>
        The mean of all {norm.input.length} numbers is <Num value={mean} />, their standard
        deviation <Num value={deviation} />. Take off the one, divide by the other:
      </p>
      <p class="sublayer-line">
        (<Factor value={norm.input[dimension] ?? 0} /> − <Factor value={mean} />) ÷{" "}
        <Num value={deviation} /> = <Num value={unit[dimension] ?? 0} />
      </p>
      <p>Then times a trained γ, plus a trained β, each with one number per dimension:</p>
      <p class="sublayer-line">
        <Factor value={unit[dimension] ?? 0} /> × <Factor value={norm.gamma[dimension] ?? 0} /> +{" "}
        <Factor value={norm.beta[dimension] ?? 0} /> = <Num value={result[dimension] ?? 0} />
      </p>
      <Recorded value={recorded?.[dimension]} />
    </li>
  );
}

function Recorded({ value }: { value: number | undefined }) {
  if (value === undefined) return null;
  return (
    <p class="muted">
      The network recorded <Num value={value} />.
    </p>
  );
}
