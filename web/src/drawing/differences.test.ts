import { expect, test } from "vitest";
import { compareTexts, type Part } from "./differences.ts";

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
