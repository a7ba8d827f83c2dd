import { describe, expect, test } from "vitest";
import python from "../../../src/translucid/interpret/figures/colours.py?raw";
import sheet from "../style/base.css?raw";
import {
  computeLevel,
  contrast,
  DARK,
  diverging,
  heat,
  inkOn,
  LEVELS,
  LIGHT,
  luminance,
} from "./colours.ts";

const NAMES = ["ground", "ink", "muted", "line", "panel", "accent", "good", "masked"] as const;
const PALETTES = { LIGHT, DARK };

test("LIGHT is the palette of the Python figures, which have no other", () => {
  const block = python.slice(python.indexOf("LIGHT = Palette(")).split("\n)")[0] ?? "";
  for (const key of NAMES) expect(block).toContain(`${key}="${LIGHT[key]}"`);
  const series = block.match(/series=\(([^)]*)\)/)?.[1]?.match(/#[0-9a-f]{6}/g);
  expect(series).toEqual(LIGHT.series);
  expect(python.match(/= Palette\(/g)).toHaveLength(1);
});

describe.each(["LIGHT", "DARK"] as const)("%s", (name) => {
  const colours = PALETTES[name];

  test("is the palette of the style sheet", () => {
    const place = name === "LIGHT" ? 0 : 1;
    const found = (variable: string) =>
      sheet
        .match(new RegExp(`--${variable}: light-dark\\(([^)]*)\\)`))?.[1]
        ?.split(", ")
        .at(place);
    for (const key of NAMES) expect(found(key), key).toBe(colours[key]);
    colours.series.forEach((colour, at) => {
      expect(found(`series-${at}`)).toBe(colour);
    });
    // Borders of controls, and the text on the accent.
    expect(contrast(found("edge") ?? "", colours.ground)).toBeGreaterThanOrEqual(3);
    expect(contrast(colours.ground, colours.accent)).toBeGreaterThanOrEqual(4.5);
  });

  test("text is readable on every ground it stands on", () => {
    for (const ground of [colours.ground, colours.panel]) {
      for (const text of [colours.ink, colours.muted, colours.accent, colours.good]) {
        expect(contrast(text, ground), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
      for (const line of colours.series) expect(contrast(line, ground)).toBeGreaterThanOrEqual(3);
    }
  });

  test("text is readable on every step of both ramps", () => {
    for (const colour of [...colours.heat, ...colours.diverging]) {
      expect(contrast(inkOn(colour), colour), colour).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("lightness carries the value: it never turns back along a ramp", () => {
    const way = name === "LIGHT" ? -1 : 1;
    const rises = (ramp: readonly string[]): boolean =>
      ramp.every((colour, at) => {
        const before = ramp[at - 1];
        return before === undefined || way * (luminance(colour) - luminance(before)) > -1e-3;
      });
    expect(rises(colours.heat)).toBe(true);
    expect(rises(colours.diverging.slice(LEVELS / 2))).toBe(true);
    expect(rises(colours.diverging.slice(0, LEVELS / 2 + 1).toReversed())).toBe(true);
  });
});

test("levels: the ends hold what lies beyond them", () => {
  expect([-1, 0, 0.5, 1, 9].map((value) => computeLevel(value, 0, 1))).toEqual([0, 0, 24, 48, 48]);
  expect(computeLevel(Number.NaN, 0, 1)).toBe(0);
  expect(computeLevel(1, 2, 2)).toBe(0);
  expect(heat(0, LIGHT)).toBe(LIGHT.heat[0]);
  expect(diverging(0, DARK)).toBe(DARK.diverging[24]);
});
