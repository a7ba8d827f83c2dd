/**
 * Summaries of several heads. None of them is a number that the network computes: the mean of the
 * heads forgets that each has values of its own, and rollout (Abnar and Zuidema 2020) takes
 * attention and residual connection for equally strong and leaves out values and feed-forward.
 */
import type { Tensor } from "../../api/tensors.ts";

/** Return the mean over the heads of weights (heads × rows × columns). */
export function meanOfHeads(weights: Tensor): Tensor {
  const [heads = 0, rows = 0, columns = 0] = weights.shape;
  const size = rows * columns;
  const data = new Float32Array(size);
  for (let cell = 0; cell < size; cell++) {
    let sum = 0;
    for (let head = 0; head < heads; head++) sum += weights.data[head * size + cell] ?? 0;
    data[cell] = sum / heads;
  }
  return { shape: [rows, columns], data };
}

/** Return how much of each input is in each position after a stack of self-attention. */
export function rolloutOfStack(layers: readonly Tensor[]): Tensor {
  const size = layers[0]?.shape[0] ?? 0;
  return layers.reduce((rolled, layer) => product(halfKept(layer), rolled), identity(size));
}

/**
 * Return how much of each source token is in each row of the decoder after its last layer.
 *
 * `memory` is the rollout of the encoder, `decoder` and `cross` are the mean weights of each layer.
 * Rows sum to 1: the source's share itself is the same in every row and says nothing.
 */
export function rolloutAcross(
  memory: Tensor,
  decoder: readonly Tensor[],
  cross: readonly Tensor[],
): Tensor {
  const rows = decoder[0]?.shape[0] ?? 0;
  const columns = memory.shape[0] ?? 0;
  let fromSource: Tensor = { shape: [rows, columns], data: new Float32Array(rows * columns) };
  decoder.forEach((own, layer) => {
    const kept = product(halfKept(own), fromSource);
    const added = product(cross[layer] as Tensor, memory);
    const data = kept.data.map((value, at) => (value + (added.data[at] ?? 0)) / 2);
    fromSource = { shape: [rows, columns], data };
  });
  return rowsToOne(fromSource);
}

function identity(size: number): Tensor {
  const data = new Float32Array(size * size);
  for (let place = 0; place < size; place++) data[place * size + place] = 1;
  return { shape: [size, size], data };
}

/** Return (weights + identity) / 2: what a residual connection keeps of what was there. */
function halfKept(weights: Tensor): Tensor {
  const size = weights.shape[0] ?? 0;
  const data = weights.data.map((value, at) => (value + (at % (size + 1) === 0 ? 1 : 0)) / 2);
  return { shape: weights.shape, data };
}

function product(left: Tensor, right: Tensor): Tensor {
  const [rows = 0, inner = 0] = left.shape;
  const columns = right.shape[1] ?? 0;
  const data = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < inner; k++) {
      const factor = left.data[row * inner + k] ?? 0;
      for (let column = 0; column < columns; column++) {
        const at = row * columns + column;
        data[at] = (data[at] ?? 0) + factor * (right.data[k * columns + column] ?? 0);
      }
    }
  }
  return { shape: [rows, columns], data };
}

function rowsToOne(table: Tensor): Tensor {
  const [rows = 0, columns = 0] = table.shape;
  const data = table.data.slice();
  for (let row = 0; row < rows; row++) {
    const line = data.subarray(row * columns, (row + 1) * columns);
    const sum = line.reduce((total, value) => total + value, 0);
    for (let column = 0; column < columns; column++) line[column] = (line[column] ?? 0) / sum;
  }
  return { shape: [rows, columns], data };
}
