import { printed } from "./numbers.ts";

/** A number as a book prints it; `data-value` keeps it in full, for tests and for scripts. */
export function Num({ value, digits = 3 }: { value: number; digits?: number }) {
  return (
    <span class="num" data-value={String(value)}>
      {printed(value, digits)}
    </span>
  );
}
