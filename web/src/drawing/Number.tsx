import type { ComponentChildren } from "preact";
import type { Part } from "./differences.ts";
import { printed } from "./numbers.ts";
import "./fraction.css";
import "./marked.css";

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
