/** Scales of a chart: round ticks, and where a value lies. Pure. */

/** Round values between two ends: 1, 2 or 5 times a power of ten apart, at most `most` of them. */
export function ticks(low: number, high: number, most = 6): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  const rough = (high - low) / Math.max(1, most - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const gap = ([1, 2, 5, 10].find((times) => times * power >= rough * 0.999) ?? 10) * power;
  const first = Math.ceil(low / gap - 1e-9);
  const last = Math.floor(high / gap + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => tidyTick((first + at) * gap));
}

/** Powers of ten between two ends, both above 0. */
export function powers(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const found = Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at));
  return found.length >= 2 ? found : ticks(low, high);
}

function tidyTick(value: number): number {
  return Number(value.toPrecision(12));
}

/** Where a value lies between two ends, 0 to 1. */
export function share(value: number, low: number, high: number, log = false): number {
  if (log) return share(Math.log10(value), Math.log10(low), Math.log10(high));
  return high > low ? (value - low) / (high - low) : 0.5;
}

/** The ends of a set of values; `fallback` where there are none. */
export function extent(
  values: readonly number[],
  fallback: readonly [number, number] = [0, 1],
): [number, number] {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [fallback[0], fallback[1]];
  return [
    finite.reduce((low, value) => Math.min(low, value)),
    finite.reduce((high, value) => Math.max(high, value)),
  ];
}

/** A tick in few letters: 20k, 0.001, 1e-6. */
export function tickLabel(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  if (size < 1e-3) return value.toExponential().replace("e-", "e−").replace(/^-/, "−");
  return String(Number(value.toPrecision(6))).replace("-", "−");
}
