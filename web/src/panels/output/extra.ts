/** A panel's own keys in the address. */

/** Return the keys with some of them set anew; null takes one away. */
export function withExtra(
  extra: Record<string, string>,
  changes: Record<string, string | null>,
): Record<string, string> {
  const merged = Object.entries({ ...extra, ...changes });
  return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Return a whole number that the address holds, within bounds, or what it is otherwise. */
export function wholeOf<Otherwise extends number | null>(
  word: string | undefined,
  most: number,
  otherwise: Otherwise,
): number | Otherwise {
  return word !== undefined && /^\d{1,9}$/u.test(word) ? Math.min(Number(word), most) : otherwise;
}
