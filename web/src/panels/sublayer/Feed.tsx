/** Feed-forward: which units act on a token, and each down to a single multiplication (section 3.3). */
import { hasTensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { Bars } from "../../drawing/Bars.tsx";
import { Figure } from "../../drawing/Figure.tsx";
import { Num, printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { Needs, PanelFrame } from "../../frame/PanelFrame.tsx";
import { parsePlace } from "../../state/address.ts";
import { address, link, setExtra } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { gelu, largestPlaces, layerNorm, products, silu, sum } from "./arithmetic.ts";
import { Factor, getPlace, NumberField, type Place, PlaceChoice, SumOfProducts } from "./Where.tsx";
import "./sublayer.css";

const SHOWN = 10;

/** The panel. */
export default function FeedPanel() {
  return (
    <PanelFrame
      title="Feed-forward"
      lead="Each token by itself goes through two linear maps with a bend between them (equation 2)."
    >
      {(trace) => <Feed trace={trace} place={getPlace(trace)} />}
    </PanelFrame>
  );
}

function Feed({ trace, place }: { trace: Trace; place: Place }) {
  const stem = `${place.stack}.${place.layer}.feed_forward`;
  return (
    <>
      <PlaceChoice trace={trace} place={place} />
      <Needs trace={trace} tensor={`${stem}.inner`}>
        <Units trace={trace} place={place} stem={stem} />
      </Needs>
    </>
  );
}

interface UnitsProps {
  trace: Trace;
  place: Place;
  stem: string;
}

function Units({ trace, place, stem }: UnitsProps) {
  const inner = useTensor(trace, `${stem}.inner`, [place.row])?.data;
  if (!inner) return <p class="muted">Fetching the activations …</p>;
  const order = largestPlaces(inner, SHOWN);
  const unit = parsePlace(address.value.extra.unit, inner.length, order[0] ?? 0);
  const name = plain(place.tokens[place.row]?.piece ?? "");
  const where = `${place.stack} layer ${place.layer + 1}`;
  const active = inner.filter((value) => value > 0).length;
  return (
    <Figure
      name="feed-forward"
      title={`What “${name}” sets off in ${where}`}
      caption={
        <>
          The {order.length} units with the largest activations of {inner.length}.
          {trace.model.activation === "relu" &&
            ` ${active} are above 0 for this token; the others pass nothing on.`}{" "}
          Choose one to see its arithmetic. Units count from 1.
        </>
      }
      table={() => ({
        columns: ["unit", "activation"],
        rows: Array.from(inner, (value, at) => [at + 1, value]),
      })}
    >
      <div class="sublayer-two">
        <Bars
          label={`Units with the largest activations for ${name}`}
          bars={order.map((at) => ({
            name: `unit ${at + 1}`,
            value: inner[at] ?? 0,
            chosen: at === unit,
          }))}
          mark="chosen"
          action="work out"
          onPick={(index) => setExtra({ unit: String((order[index] ?? 0) + 1) }, { replace: true })}
        />
        <Worked trace={trace} place={place} stem={stem} inner={inner} unit={unit} />
      </div>
    </Figure>
  );
}

const NAMES: Record<string, string> = {
  relu: "max(0, ·)",
  gelu: "GELU",
  swiglu: "SiLU(gate) × ·",
};

/** The weights of one unit, and of its gate if it has one, as far as they are here. */
interface UnitWeights {
  row: Float32Array;
  bias: number;
  gate: { row: Float32Array; bias: number } | null;
}

function useUnit(trace: Trace, weights: string, unit: number): UnitWeights | undefined {
  const row = useTensor(trace, `${weights}.w_1.weight`, [unit])?.data;
  const bias = useTensor(trace, `${weights}.w_1.bias`)?.data[unit];
  const gated = trace.model.activation === "swiglu";
  const gateRow = useTensor(trace, gated ? `${weights}.w_gate.weight` : null, [unit])?.data;
  const gateBias = useTensor(trace, gated ? `${weights}.w_gate.bias` : null)?.data[unit];
  if (!row || bias === undefined) return undefined;
  if (!gated) return { row, bias, gate: null };
  return gateRow && gateBias !== undefined
    ? { row, bias, gate: { row: gateRow, bias: gateBias } }
    : undefined;
}

/** The three steps of one unit; a saved page may lack the weights. */
function Worked(props: UnitsProps & { inner: Float32Array; unit: number }) {
  const { trace, place } = props;
  const weights = `weights.${place.stack}.layers.${place.layer}.feed_forward`;
  if (hasTensor(trace, `${weights}.w_1.weight`)) return <Steps {...props} weights={weights} />;
  return (
    <p class="saved-missing">
      The weights of this layer were left out to keep the file small. Start{" "}
      <code>translucid serve</code> to see the arithmetic of a unit.
    </p>
  );
}

function Steps(props: AddsProps) {
  const { trace, place, stem, inner, unit, weights } = props;
  const { model } = trace;
  const x = useInput(trace, place, stem);
  const of = useUnit(trace, weights, unit);
  if (!x || !of) return <p class="muted">Fetching the weights …</p>;
  const linear = sum(products(x, of.row)) + of.bias;
  const gate = of.gate && sum(products(x, of.gate.row)) + of.gate.bias;
  return (
    <ol class="sublayer-cards" aria-label={`Unit ${unit + 1} worked out`}>
      <li>
        <h4>1. How well does the token fit unit {unit + 1}?</h4>
        <p>
          The token’s vector x{model.norm === "pre" && " after its norm"}, times the unit’s row of W
          <sub>1</sub>: {x.length} products.
        </p>
        <SumOfProducts x={x} w={of.row} bias={of.bias} total={linear} />
        {of.gate && gate !== null && (
          <>
            <p>The gate is another such sum, with a row of its own:</p>
            <SumOfProducts x={x} w={of.gate.row} bias={of.gate.bias} total={gate} />
          </>
        )}
      </li>
      <li>
        <h4>2. The bend: {NAMES[model.activation] ?? model.activation}</h4>
        <p class="sublayer-line">
          {describeBend(model.activation, linear, gate)} ={" "}
          <Num value={bend(model.activation, linear, gate)} />
        </p>
        <p class="muted">
          The network recorded <Num value={inner[unit] ?? 0} />.
        </p>
      </li>
      <li>
        <WhatItAdds {...props} />
      </li>
    </ol>
  );
}

/** x as the sublayer reads it: through the norm before it, where the network has it there. */
function useInput(trace: Trace, place: Place, stem: string): ArrayLike<number> | undefined {
  const residual = useTensor(trace, `${stem}.residual_before`, [place.row])?.data;
  const norm = `weights.${place.stack}.layers.${place.layer}.feed_forward_residual.norm`;
  const pre = trace.model.norm === "pre" && hasTensor(trace, `${norm}.weight`);
  const gamma = useTensor(trace, pre ? `${norm}.weight` : null)?.data;
  const beta = useTensor(trace, pre ? `${norm}.bias` : null)?.data;
  if (trace.model.norm === "post") return residual;
  if (!residual || !gamma || !beta) return undefined;
  return layerNorm(residual, gamma, beta, trace.model.norm_epsilon).result;
}

function bend(activation: string, linear: number, gate: number | null): number {
  if (gate !== null) return silu(gate) * linear;
  return activation === "relu" ? Math.max(0, linear) : gelu(linear);
}

function describeBend(activation: string, linear: number, gate: number | null): string {
  if (gate !== null) return `SiLU(${printed(gate)}) × ${printed(linear)}`;
  return activation === "relu" ? `max(0, ${printed(linear)})` : `GELU(${printed(linear)})`;
}

interface AddsProps extends UnitsProps {
  weights: string;
  inner: Float32Array;
  unit: number;
}

/** What the unit adds in one dimension, and what all of them do together. */
function WhatItAdds({ trace, place, stem, weights, inner, unit }: AddsProps) {
  const output = useTensor(trace, `${stem}.output`, [place.row])?.data;
  const usual = output ? (largestPlaces(output, 1)[0] ?? 0) : 0;
  const dimension = parsePlace(address.value.extra.dim, trace.model.d_model, usual);
  const row = useTensor(trace, `${weights}.w_2.weight`, [dimension])?.data;
  const bias = useTensor(trace, `${weights}.w_2.bias`)?.data;
  if (!output || !row || !bias) return <p class="muted">Fetching the weights …</p>;
  const own = (inner[unit] ?? 0) * (row[unit] ?? 0);
  const total = sum(products(inner, row)) + (bias[dimension] ?? 0);
  return (
    <>
      <h4>3. What it adds to the token</h4>
      <NumberField
        name="In dimension"
        value={dimension}
        count={output.length}
        onChoose={(at) => setExtra({ dim: String(at + 1) }, { replace: true })}
      />
      <p class="sublayer-line">
        <Factor value={inner[unit] ?? 0} /> × <Factor value={row[unit] ?? 0} /> ={" "}
        <Num value={own} />
      </p>
      <p>All {inner.length} units together, times their row of W₂:</p>
      <SumOfProducts x={inner} w={row} bias={bias[dimension] ?? 0} total={total} />
      <p class="muted">
        The network recorded <Num value={output[dimension] ?? 0} />. What comes of it:{" "}
        <a href={link({ panel: "norm", extra: { sublayer: "feed_forward" } })}>
          the sum and the norm
        </a>
        .
      </p>
    </>
  );
}
