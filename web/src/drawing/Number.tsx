import type { ComponentChildren } from "preact";
import type { Part } from "./differences.ts";

/** A number as a book prints it; `data-value` keeps it in full, for tests and for scripts. */
export function Num({ value, digits = 3 }: { value: number; digits?: number }) {
  return (
    <span class="num" data-value={String(value)}>
      {printed(value, digits)}
    </span>
  );
}

/** A fraction with a line, which a screen reader reads as a division. */
export function Fraction({ above, below }: { above: ComponentChildren; below: ComponentChildren }) {
  return (
    <span class="output-fraction">
      <span>{above}</span>
      <span class="visually-hidden"> divided by </span>
      <span>{below}</span>
    </span>
  );
}

/** A text in which what differs is marked: by a line and weight, not by colour alone. */
export function Marked({ parts, mark: Mark }: { parts: Part[]; mark: "ins" | "del" }) {
  if (parts.length === 0) return <i class="marked-nothing">nothing</i>;
  return (
    <span class="marked">
      {parts.map((part, place) => (part.same ? part.text : <Mark key={place}>{part.text}</Mark>))}
    </span>
  );
}

/* Numbers as a book prints them. */

const MINUS = "\u2212";

/** A number with this many digits after the point; a true minus, ∞ in words of mathematics. */
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

/** A whole number with thin spaces between its thousands; another one with four significant digits. */
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

/** A whole number with its thousands apart; `data-value` keeps it plain, as in `Num`. */
export function Whole({ value }: { value: number }) {
  return (
    <span class="num" data-value={String(value)}>
      {counted(value)}
    </span>
  );
}
