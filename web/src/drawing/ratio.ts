/** How many times as much, for sentences. */

/** A number of times, short: 7.39, 6500, 1.2·10⁹. */
export function timesAs(value: number): string {
  if (value < 1000) return value.toPrecision(3);
  if (value < 1e6) return String(Number(value.toPrecision(2)));
  const power = Math.floor(Math.log10(value));
  const raised = [...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
  return `${(value / 10 ** power).toFixed(1)}·10${raised}`;
}
