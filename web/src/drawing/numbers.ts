/** Numbers as a book prints them. */

const MINUS = "\u2212";

/** A number with so many digits after the point; a true minus, ∞ in words of mathematics. */
export function printed(value: number, digits = 3): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value < 0 ? `${MINUS}∞` : "∞";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** A number to be read off a chart: three digits after the point, below 1 four that count. */
export function readOff(value: number): string {
  if (!(Math.abs(value) < 1)) return printed(value, 3);
  return String(Number(value.toPrecision(4))).replaceAll("-", MINUS);
}

/** A whole number with thin spaces between its thousands; another one with four digits that count. */
export function counted(value: number): string {
  if (!Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/* How many times as much, for sentences. */

/** A number of times, short: 7.39, 6500, 1.2·10⁹. */
export function timesAs(value: number): string {
  if (value < 1000) return value.toPrecision(3);
  if (value < 1e6) return String(Number(value.toPrecision(2)));
  const power = Math.floor(Math.log10(value));
  const raised = [...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
  return `${(value / 10 ** power).toFixed(1)}·10${raised}`;
}
