import { expect, test } from "vitest";
import type { Step } from "../api/types.ts";
import { languageName } from "../drawing/languages.ts";
import { PANEL_KEYS } from "../state/address.ts";
import { directionName, getLangTag } from "./Choices.tsx";
import { forcedPieces } from "./Explore.tsx";
import { shift } from "./Menu.tsx";
import { findAction, PANEL_DIGITS, type Place } from "./shortcuts.ts";

function action(key: string, place: Place = "page", view: "translate" | "explore" = "explore") {
  return findAction({ key, ctrlKey: false, metaKey: false, altKey: false }, place, view);
}

test("digits open the first ten panels in their order, 0 the tenth", () => {
  const keys = [...PANEL_DIGITS];
  expect(new Set(keys).size).toBe(10);
  expect(keys[9]).toBe("0");
  keys.forEach((key, index) => {
    const panel = PANEL_KEYS[index];
    expect(action(key)).toEqual(panel ? { do: "panel", panel } : null);
  });
  expect(action("12")).toBeNull();
  expect(action("")).toBeNull();
});

test("nothing is taken while typing, nor with Ctrl, Alt or Meta", () => {
  for (const key of ["1", " ", "ArrowLeft", "/", "t", "?"]) {
    expect(action(key, "field")).toBeNull();
    expect(
      findAction({ key, ctrlKey: true, metaKey: false, altKey: false }, "page", "explore"),
    ).toBeNull();
  }
});

test("Space presses a button that has the focus, and plays elsewhere", () => {
  expect(action(" ")).toEqual({ do: "toggle" });
  expect(action(" ", "button")).toBeNull();
  expect(action(" ", "own")).toBeNull();
  expect(action("ArrowRight", "button")).toEqual({ do: "forward" });
  expect(action("ArrowRight", "own")).toBeNull();
  expect(action("2", "own")).toEqual({ do: "panel", panel: "map" });
});

test("the Translate view has no steps", () => {
  for (const key of [" ", "ArrowLeft", "Home"]) expect(action(key, "page", "translate")).toBeNull();
  expect(action("t", "page", "translate")).toEqual({ do: "translate" });
});

test("languages by name, unknown codes as they are", () => {
  expect(languageName("fr")).toBe("French");
  expect(languageName("not a code")).toBe("not a code");
  expect(directionName(["fr", "de"], "en")).toBe("French, German → English");
  expect(directionName([], "en")).toBe("→ English");
});

test("a box that would lie beyond an edge of the window is moved inside", () => {
  expect(shift({ left: 50, right: 200 }, 320)).toBe(0);
  expect(shift({ left: -100, right: 80 }, 320)).toBe(108);
  expect(shift({ left: 200, right: 400 }, 320)).toBe(-88);
});

const steps = [4, 5].map((id) => ({ token: { id, piece: `▁${id}` } })) as Step[];

test("forced tokens have their own names while the trace is still of another beginning", () => {
  expect(forcedPieces([4, 5], { steps, pieces: {} })).toEqual(["▁4", "▁5"]);
  expect(forcedPieces([4, 9], { steps, pieces: { 9: "▁nine" } })).toEqual(["▁4", "▁nine"]);
  expect(forcedPieces([4, 9], { steps, pieces: {} })).toEqual(["▁4", " 9"]);
  expect(forcedPieces([4], undefined)).toEqual([" 4"]);
});

test("languages by name, and codes that stand for none", () => {
  expect(languageName("fr")).toBe("French");
  expect(languageName("not a code")).toBe("not a code");
  expect(directionName(["fr", "de"], "en")).toBe("French, German → English");
  expect(["ar", "zh-Hant", "qqx", "a b", "", undefined].map(getLangTag)).toEqual([
    "ar",
    "zh-Hant",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
