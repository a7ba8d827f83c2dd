import { counted } from "../../drawing/numbers.ts";

/** A whole number with its thousands apart; `data-value` keeps it plain, as in `Num`. */
export function Whole({ value }: { value: number }) {
  return (
    <span class="num" data-value={String(value)}>
      {counted(value)}
    </span>
  );
}
