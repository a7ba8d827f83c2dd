/** What the panel shows of one step, put together from the trace. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { asProblem, vocabulary } from "../../api/client.ts";
import { part, type Tensor } from "../../api/tensors.ts";
import type { ModelConfig, Step, Trace } from "../../api/types.ts";
import { tell } from "../../state/notices.ts";
import { models, retries } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import {
  AS_IT_IS,
  type Cuts,
  findPlace,
  type Ranked,
  ranked,
  type Spread,
  spread,
} from "./rows.ts";

/** One step of one trace with its logits in order. */
export interface StepView {
  trace: Trace;
  /** Number of the step, from 0. */
  at: number;
  step: Step;
  order: Ranked;
  /** What the network itself says. */
  plain: Spread;
  /** Place of the token that was written, from 0. */
  written: number;
}

/**
 * Return the step to show: the chosen one as soon as its logits are here, until then the last one
 * whole, so that no number stands beside a step that it does not belong to.
 */
export function useStepView(trace: Trace, at: number): StepView | undefined {
  const name = "logits" in trace.tensors ? "logits" : null;
  const logits = useTensor(trace, name, [at]);
  useTensor(trace, name, [Math.min(at + 1, trace.steps.length - 1)]); // the next one, ahead
  const last = useRef<StepView | undefined>(undefined);
  const found = useMemo(() => {
    const step = trace.steps[at];
    if (logits === undefined || step === undefined) return undefined;
    const order = ranked(logits.data);
    const written = findPlace(order, step.token.id);
    return { trace, at, step, order, plain: spread(order, AS_IT_IS), written };
  }, [trace, at, logits]);
  if (found !== undefined) last.current = found;
  return found ?? last.current;
}

/** Return the distribution of a step at a temperature and after the cuts. */
export function useSpread({ order }: StepView, cuts: Cuts): Spread {
  const { temperature, topK, topP } = cuts;
  return useMemo(
    () => spread(order, { temperature, topK, topP }),
    [order, temperature, topK, topP],
  );
}

/** The piece of a token by its id; `#id` until the vocabulary is here. */
export type PieceOf = (id: number) => string;

/** The vocabulary of the model that has a hash. */
interface Vocabulary {
  hash: string;
  pieces: string[];
}

/** Return what each token of a trace's model is called, once its vocabulary is here. */
export function usePieces(trace: Trace): PieceOf {
  const hash = trace.model_hash;
  const served = models.value.value?.models.find((one) => one.hash === hash)?.name;
  const [found, keep] = useState<Vocabulary>();
  useEffect(() => {
    if (served === undefined) return;
    let wanted = true;
    vocabulary(served).then(
      (pieces) => wanted && keep({ hash, pieces }),
      (error) => wanted && tell(asProblem(error), { again: true }),
    );
    return () => {
      wanted = false;
    };
  }, [hash, served, retries.value]);
  return getPieceNames(trace, found);
}

/** Return the names of a trace's tokens: its own, else those of a vocabulary if it is its model's. */
export function getPieceNames(
  trace: Pick<Trace, "model_hash" | "pieces">,
  found: Vocabulary | undefined,
): PieceOf {
  const others = found?.hash === trace.model_hash ? found.pieces : [];
  return (id) => trace.pieces[id] ?? others[id] ?? `#${id}`;
}

/* Forcing a token: the prefix that does it. */

/** Return the ids that make a search write what it wrote before a step, and then this token. */
export function prefixWith(trace: Pick<Trace, "steps">, step: number, id: number): number[] {
  return [...trace.steps.slice(0, step).map((one) => one.token.id), id];
}

/*
 * Where a logit comes from: the decoder's state times the token's row of the output matrix.
 *
 *     logit(token) = Σ h_i · w_i          h: decoder's state, w: the token's row, D numbers each
 *
 * Where the decoder's embedding and the output matrix are one (section 3.4), the trace holds the
 * row of each token that the decoder has read: its embedding divided by √d_model.
 */

/** The three rows of the sum, and what they add up to. */
export interface Product {
  state: Float64Array;
  row: Float64Array;
  products: Float64Array;
  logit: number;
}

/** Whether the embedding of a target token is its row of the output matrix, but for √d_model. */
export function isTied(config: ModelConfig): boolean {
  return config.tying !== "none";
}

/**
 * The row of the token that step `at` wrote, from its embedding, which the decoder reads at the next
 * step; undefined at the last step, whose token nothing reads.
 */
export function embeddedRow(embedding: Tensor, at: number): Float64Array | undefined {
  const [rows = 0, size = 0] = embedding.shape;
  if (at + 1 >= rows) return undefined;
  const scale = Math.sqrt(size);
  return Float64Array.from(part(embedding, at + 1).data, (value) => value / scale);
}

/** Multiply a state with a row of the output matrix. */
export function productOf(h: ArrayLike<number>, w: ArrayLike<number>): Product {
  const [state, row] = [Float64Array.from(h), Float64Array.from(w)];
  const products = state.map((value, index) => value * (row[index] as number));
  return { state, row, products, logit: products.reduce((total, value) => total + value, 0) };
}

/** Return the bars of numbers above (or below) a line as one SVG path, 1 wide each. */
export function barsPath(
  numbers: Float64Array,
  middle: number,
  room: number,
  sign: 1 | -1,
): string {
  const most = numbers.reduce((high, value) => Math.max(high, Math.abs(value)), 0) || 1;
  let drawn = "";
  numbers.forEach((value, index) => {
    if (value * sign <= 0) return;
    const height = Math.round((-100 * room * value) / most) / 100;
    drawn += `M${index + 0.1} ${middle}h.8v${height}h-.8z`;
  });
  return drawn;
}
