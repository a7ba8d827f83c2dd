import { expect, test } from "vitest";
import { compareTexts, type Part, sharedPlaces } from "./differences.ts";

const joined = (parts: Part[]) => parts.map(({ text }) => text).join("");
const changed = (parts: Part[]) => parts.filter(({ same }) => !same).map(({ text }) => text);

test("equal texts have nothing that differs", () => {
  const { before, after } = compareTexts("The cat sleeps.", "The cat sleeps.");
  expect(changed(before)).toEqual([]);
  expect(after).toEqual([{ text: "The cat sleeps.", same: true }]);
});

test("a word that was changed is marked in both, without the spaces around it", () => {
  const { before, after } = compareTexts("The cat sleeps now.", "The dog sleeps now.");
  expect(changed(before)).toEqual(["cat"]);
  expect(changed(after)).toEqual(["dog"]);
});

test("a word that came in is marked in one only", () => {
  const { before, after } = compareTexts("The cat sleeps.", "The old black cat sleeps.");
  expect(changed(before)).toEqual([]);
  expect(changed(after)).toEqual(["old black"]);
});

test("text without spaces is compared too", () => {
  const { after } = compareTexts("猫は眠る。", "犬は眠る。");
  expect(changed(after)).toEqual(["犬"]);
});

test("joined, the parts give the texts back", () => {
  const words = ["a", "b", "c", " ", "  ", ".", "'"];
  let seed = 7;
  const next = () => {
    seed = (seed * 16807) % 2147483647;
    return seed;
  };
  const text = () => Array.from({ length: next() % 9 }, () => words[next() % 7]).join("");
  for (let trial = 0; trial < 300; trial++) {
    const [one, other] = [text(), text()];
    const { before, after } = compareTexts(one, other);
    expect(joined(before)).toBe(one);
    expect(joined(after)).toBe(other);
    const shared = (parts: Part[]) =>
      parts
        .filter(({ same }) => same)
        .map((part) => part.text.replaceAll(" ", ""))
        .join("");
    expect(shared(before)).toBe(shared(after));
  }
});

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
