/** Numbers of a trace: a shape and a flat array. Pure. */
import type { Side } from "./types.ts";

/** Numbers in C order. */
export interface Tensor {
  shape: number[];
  data: Float32Array;
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
