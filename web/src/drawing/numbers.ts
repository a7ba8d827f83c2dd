/** Numbers as a book prints them. */

const MINUS = "\u2212";

/** A number with so many digits after the point; a true minus, ∞ in words of mathematics. */
export function printed(value: number, digits = 3): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** A share as percent, with more digits where it is small. */
export function percent(share: number): string {
  if (share === 0) return "0 %";
  if (share < 0.0001) return "< 0.01 %";
  const digits = share < 0.001 ? 2 : share < 0.1 ? 1 : share > 0.999 && share < 1 ? 2 : 0;
  return `${(100 * share).toFixed(digits)} %`;
}

/** A whole number with thin spaces between its thousands, or short: 1.8 M. */
export function counted(value: number, short = false): string {
  if (short) {
    for (const [size, letter] of [
      [1e9, "G"],
      [1e6, "M"],
      [1e3, "k"],
    ] as const) {
      if (value >= size) return `${(value / size).toPrecision(3)}\u202f${letter}`;
    }
  }
  if (!Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
