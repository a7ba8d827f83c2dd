import type { ComponentChildren } from "preact";
import "./fraction.css";

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
