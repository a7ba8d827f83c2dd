import { expect, test } from "vitest";
import { sharedPlaces } from "./sharedWords.ts";

/** The longest common subsequence by trying all choices. */
function longest(left: string[], right: string[]): number {
  const [a, ...rest] = left;
  if (a === undefined) return 0;
  const at = right.indexOf(a);
  const without = longest(rest, right);
  return at < 0 ? without : Math.max(without, 1 + longest(rest, right.slice(at + 1)));
}

test("as many places as can be shared, in the same order in both", () => {
  const rows = ["a b c a b", "b a b", "c c a", "a", "", "b c b a c a"].map((row) => row.split(" "));
  for (const left of rows) {
    for (const right of rows) {
      const places = sharedPlaces(left, right);
      expect(places.length).toBe(longest(left, right));
      places.forEach(([i, j], at) => {
        expect(left[i]).toBe(right[j]);
        expect(i).toBeGreaterThan(places[at - 1]?.[0] ?? -1);
        expect(j).toBeGreaterThan(places[at - 1]?.[1] ?? -1);
      });
    }
  }
});
