import { expect, test } from "vitest";
import { directionName, langOf, languageName } from "./languages.ts";

test("languages by name, and codes that stand for none", () => {
  expect(languageName("fr")).toBe("French");
  expect(languageName("not a code")).toBe("not a code");
  expect(directionName(["fr", "de"], "en")).toBe("French, German → English");
  expect(["ar", "zh-Hant", "qqx", "a b", "", undefined].map(langOf)).toEqual([
    "ar",
    "zh-Hant",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
