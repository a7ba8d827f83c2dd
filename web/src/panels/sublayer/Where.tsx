/** Which stack, layer and token a sublayer is looked at in; how sums of products are printed. */
import type { ComponentChildren } from "preact";
import type { Trace, TraceToken } from "../../api/types.ts";
import { Num } from "../../drawing/Number.tsx";
import { Segmented } from "../../drawing/Segmented.tsx";
import { TokenRow } from "../../drawing/Tokens.tsx";
import { clampIndex } from "../../state/address.ts";
import { step } from "../../state/player.ts";
import { address, go } from "../../state/store.ts";
import { countLayers } from "../lens/headList.ts";
import { shortSum } from "../steps/numbers.ts";

export type Stack = "encoder" | "decoder";

/** The place that a panel shows: numbers from 0. */
export interface Place {
  stack: Stack;
  layer: number;
  /** Position of the token. */
  row: number;
  tokens: readonly TraceToken[];
}

/** The place of the address, kept within what the trace has. */
export function getPlace(trace: Trace): Place {
  const { side, layer, query } = address.value;
  const stack = side === "encoder" ? "encoder" : "decoder";
  const tokens = stack === "encoder" ? trace.source_tokens : trace.target_tokens;
  const usual = stack === "encoder" ? 0 : step.value;
  return {
    stack,
    layer: clampIndex(layer, countLayers(trace.model, stack)),
    row: clampIndex(query ?? usual, tokens.length),
    tokens,
  };
}

/** The choice of stack, layer and token; `children` are further choices. */
export function PlaceChoice(props: { trace: Trace; place: Place; children?: ComponentChildren }) {
  const { trace, place } = props;
  const { stack, layer, row, tokens } = place;
  return (
    <div class="sublayer-where">
      <Segmented<Stack>
        label="Which stack"
        choices={[
          { value: "encoder", name: "Encoder" },
          { value: "decoder", name: "Decoder" },
        ]}
        value={stack}
        onChoose={(side) => go({ side, query: null })}
      />
      <label>
        Layer{" "}
        <select
          value={layer}
          onChange={(event) => go({ layer: Number(event.currentTarget.value) })}
        >
          {Array.from({ length: countLayers(trace.model, stack) }, (_, at) => (
            <option key={at} value={at}>
              {at + 1}
            </option>
          ))}
        </select>
      </label>
      {props.children}
      <TokenRow
        tokens={tokens}
        stream={stack === "encoder" ? "source" : "target"}
        label="Which token"
        current={row}
        onPick={(index) => go({ query: index })}
      />
    </div>
  );
}

const TERMS = 3;

/** Σ x·w (+ b) with its largest terms written out. */
export function SumOfProducts(props: {
  x: ArrayLike<number>;
  w: ArrayLike<number>;
  bias: number;
  total: number;
}) {
  const { x, w } = props;
  const short = shortSum(
    Array.from(x, (value, at) => value * (w[at] ?? 0)),
    TERMS,
  );
  return (
    <p class="sublayer-line">
      {short.terms.map(({ at }, place) => (
        <span key={at}>
          {place > 0 && " + "}
          <Factor value={x[at] ?? 0} /> × <Factor value={w[at] ?? 0} />
        </span>
      ))}
      {short.rest.count > 0 && (
        <>
          {" + "}
          <Factor value={short.rest.value} />
          <small> ({short.rest.count} more products)</small>
        </>
      )}
      {props.bias !== 0 && (
        <>
          {" + "}
          <Factor value={props.bias} />
          <small> (b)</small>
        </>
      )}{" "}
      = <Num value={props.total} />
    </p>
  );
}

/** A factor, in brackets where it is negative. */
export function Factor({ value }: { value: number }) {
  if (value >= 0) return <Num value={value} />;
  return (
    <>
      (<Num value={value} />)
    </>
  );
}

/** The field for one of many numbered things, counted from 1. */
export function NumberField(props: {
  name: string;
  value: number;
  count: number;
  onChoose: (at: number) => void;
}) {
  return (
    <label class="sublayer-number">
      {props.name}{" "}
      <input
        type="number"
        min={1}
        max={props.count}
        value={props.value + 1}
        onInput={(event) => {
          const wanted = event.currentTarget.valueAsNumber;
          if (wanted >= 1 && wanted <= props.count) props.onChoose(Math.floor(wanted) - 1);
        }}
      />{" "}
      of {props.count}
    </label>
  );
}
