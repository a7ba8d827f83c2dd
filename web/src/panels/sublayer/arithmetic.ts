/** LayerNorm and products with rows of weights, from what the trace recorded. Pure. */

/** What LayerNorm computes on the way, for one token (section 3.1; Ba et al. 2016). */
export interface Normalized {
  mean: number;
  /** √(variance + ε). */
  deviation: number;
  /** (x − mean) / deviation, before γ and β. */
  unit: Float64Array;
  result: Float64Array;
}

/** LayerNorm(x) = γ ⊙ (x − mean) / √(variance + ε) + β. */
export function layerNorm(
  x: ArrayLike<number>,
  gamma: ArrayLike<number>,
  beta: ArrayLike<number>,
  epsilon: number,
): Normalized {
  const all = Float64Array.from(x);
  const mean = sum(all) / all.length;
  const variance = sum(all.map((value) => (value - mean) ** 2)) / all.length;
  const deviation = Math.sqrt(variance + epsilon);
  const unit = all.map((value) => (value - mean) / deviation);
  const result = unit.map((value, at) => value * (gamma[at] ?? 0) + (beta[at] ?? 0));
  return { mean, deviation, unit, result };
}

/** The products of two vectors, place by place. */
export function products(x: ArrayLike<number>, w: ArrayLike<number>): number[] {
  return Array.from(x, (value, at) => value * (w[at] ?? 0));
}

/** The sum of some numbers. */
export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** The length of a vector. */
export function lengthOf(vector: ArrayLike<number>): number {
  return Math.sqrt(sum(Array.from(vector, (value) => value * value)));
}

/** x / (1 + e^−x), by which the gate of SwiGLU is bent (Shazeer 2020). */
export function silu(x: number): number {
  return x / (1 + Math.exp(-x));
}

/** x Φ(x), with the error function of the normal distribution (Hendrycks and Gimpel 2016). */
export function gelu(x: number): number {
  return 0.5 * x * (1 + errorFunction(x / Math.SQRT2));
}

/** Abramowitz and Stegun 7.1.26: right to 1.5 · 10⁻⁷. */
function errorFunction(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const tail = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592].reduce(
    (found, factor) => (found + factor) * t,
    0,
  );
  return Math.sign(x) * (1 - tail * Math.exp(-x * x));
}

/** The places of the `count` largest magnitudes, the largest first. */
export function largestPlaces(values: ArrayLike<number>, count: number): number[] {
  return Array.from(values, (value, at) => [Math.abs(value), at] as const)
    .sort(([one], [other]) => other - one)
    .slice(0, count)
    .map(([, at]) => at);
}
