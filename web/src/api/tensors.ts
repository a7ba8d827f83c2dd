/** Tensors of a trace: asked for once, kept as long as the trace. */
import { sendOfTrace } from "./client.ts";
import type { Side, Trace } from "./types.ts";

/** Numbers in C order. */
export interface Tensor {
  shape: number[];
  data: Float32Array;
}

interface Slot {
  promise: Promise<Tensor>;
  ready?: Tensor;
}

const slots = new WeakMap<Trace, Map<string, Slot>>();

/** A tensor by its name; `at` picks leading indices, so that only that part is sent. */
export function tensor(trace: Trace, name: string, at: number[] = []): Promise<Tensor> {
  return slot(trace, name, at).promise;
}

/** The tensor if it is here already. */
export function tensorNow(trace: Trace, name: string, at: number[] = []): Tensor | undefined {
  const whole = slots.get(trace)?.get(key(name, []))?.ready;
  if (whole) return part(whole, ...at);
  return slots.get(trace)?.get(key(name, at))?.ready;
}

function key(name: string, at: number[]): string {
  return `${name}@${at.join(",")}`;
}

function slot(trace: Trace, name: string, at: number[]): Slot {
  const mine = slots.get(trace) ?? new Map<string, Slot>();
  slots.set(trace, mine);
  const known = mine.get(key(name, at));
  if (known) return known;
  const here = tensorNow(trace, name, at);
  const made: Slot = here
    ? { promise: Promise.resolve(here), ready: here }
    : { promise: fetchTensor(trace, name, at) };
  made.promise.then(
    (ready) => {
      made.ready = ready;
    },
    () => mine.delete(key(name, at)),
  );
  mine.set(key(name, at), made);
  return made;
}

async function fetchTensor(trace: Trace, name: string, at: number[]): Promise<Tensor> {
  const query = at.length > 0 ? `?at=${at.join(",")}` : "";
  const response = await sendOfTrace(trace, `tensors/${encodeURIComponent(name)}${query}`);
  const shape = shapeOf(response.headers.get("X-Shape"));
  return { shape, data: readFloats(await response.arrayBuffer()) };
}

function shapeOf(header: string | null): number[] {
  return header ? header.split(",").map(Number) : [];
}

/** Little-endian bytes as numbers, on machines of either kind. */
export function readFloats(bytes: ArrayBuffer): Float32Array {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] === 1) return new Float32Array(bytes);
  const view = new DataView(bytes);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, i) =>
    view.getFloat32(4 * i, true),
  );
}

/** The part of a tensor at leading indices, as a view: nothing is copied. */
export function part(tensor: Tensor, ...leading: number[]): Tensor {
  const shape = tensor.shape.slice(leading.length);
  const size = shape.reduce((product, length) => product * length, 1);
  const start = offset(tensor, leading) * size;
  return { shape, data: tensor.data.subarray(start, start + size) };
}

/** One number of a tensor. */
export function value(tensor: Tensor, ...indices: number[]): number {
  const found = tensor.data[offset(tensor, indices)];
  if (indices.length !== tensor.shape.length || found === undefined) {
    throw new RangeError(`no number at [${indices}] in a tensor of the shape [${tensor.shape}]`);
  }
  return found;
}

function offset(tensor: Tensor, indices: number[]): number {
  return indices.reduce((at, index, axis) => {
    const length = tensor.shape[axis] ?? 0;
    if (!(index >= 0 && index < length)) {
      throw new RangeError(`index ${index} of axis ${axis} is outside [${tensor.shape}]`);
    }
    return at * length + index;
  }, 0);
}

/** What the tensors of an attention begin with, such as `encoder.0.self_attention`. */
export function attentionName(side: Side, layer: number): string {
  if (side === "cross") return `decoder.${layer}.cross_attention`;
  return `${side}.${layer}.self_attention`;
}
