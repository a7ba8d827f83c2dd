/**
 * Ramps and palettes: the same as in the figures that the Python package draws.
 *
 * Lightness alone carries the value, so that the ramps read the same in print without colour and
 * for people who see few colours.
 */
import { theme } from "../state/theme.ts";
import { contrast, hex, type Oklch } from "./oklab.ts";

export { contrast } from "./oklab.ts";

/** Steps of a ramp: 0 to 48. */
export const LEVELS = 48;

/** All colours on one ground. */
export interface Palette {
  ground: string;
  ink: string;
  muted: string;
  line: string;
  panel: string;
  accent: string;
  good: string;
  masked: string;
  series: readonly string[];
  heat: readonly string[];
  diverging: readonly string[];
}

function between(low: number, high: number, share: number): number {
  return low + (high - low) * share;
}

/** A ramp of even lightness; `chroma` is that of its middle. */
function heatRamp(low: Oklch, high: Oklch, chroma: number): string[] {
  return Array.from({ length: LEVELS + 1 }, (_, level) => {
    const share = level / LEVELS;
    const ends = between(low.chroma, high.chroma, share);
    return hex({
      lightness: between(low.lightness, high.lightness, share),
      chroma: between(ends, chroma, 4 * share * (1 - share)),
      hue: between(low.hue, high.hue, share),
    });
  });
}

/** A ramp from blue through a colourless middle to brown or orange. */
function divergingRamp(middle: number, end: number): string[] {
  return Array.from({ length: LEVELS + 1 }, (_, level) => {
    const value = (2 * level) / LEVELS - 1;
    return hex({
      lightness: between(middle, end, Math.abs(value)),
      chroma: 0.15 * Math.abs(value),
      hue: value < 0 ? 255 : 55,
    });
  });
}

/** On a light ground. */
export const LIGHT: Palette = {
  ground: "#ffffff",
  ink: "#1a1c23",
  muted: "#5b6070",
  line: "#d5d8e0",
  panel: "#f3f4f8",
  accent: "#2f4fc4",
  good: "#1f6f3a",
  masked: "#e9eaee",
  series: ["#0b6fb3", "#c2500a", "#0b7a5c", "#a2408a", "#7d6400", "#5348c7", "#b3263c", "#4b6a77"],
  heat: heatRamp(
    { lightness: 0.985, chroma: 0.004, hue: 220 },
    { lightness: 0.27, chroma: 0.12, hue: 285 },
    0.125,
  ),
  diverging: divergingRamp(0.985, 0.4),
};

/** On a dark ground. */
export const DARK: Palette = {
  ground: "#1c1f27",
  ink: "#e6e8ef",
  muted: "#a3a9b9",
  line: "#3a4050",
  panel: "#242833",
  accent: "#9db4ff",
  good: "#84d79a",
  masked: "#2b303c",
  series: ["#5bb4ee", "#f0965a", "#4fc7a0", "#e08fcb", "#d0b64a", "#a79ff5", "#f08a98", "#9fbac6"],
  heat: heatRamp(
    { lightness: 0.21, chroma: 0.02, hue: 280 },
    { lightness: 0.95, chroma: 0.1, hue: 98 },
    0.115,
  ),
  diverging: divergingRamp(0.21, 0.78),
};

/** The palette of the theme that is shown; a component that calls this follows the theme. */
export function palette(): Palette {
  return theme.value === "dark" ? DARK : LIGHT;
}

/** The level of a ramp, 0 to 48; what lies beyond the ends gets the end's level. */
export function levelOf(value: number, low: number, high: number): number {
  if (!(high > low) || Number.isNaN(value)) return 0;
  return Math.round(LEVELS * Math.min(1, Math.max(0, (value - low) / (high - low))));
}

/** The colour of a value from 0 to 1. */
export function heat(value: number, colours: Palette = palette()): string {
  return colours.heat[levelOf(value, 0, 1)] ?? colours.ground;
}

/** The colour of a value from −1 to 1. */
export function diverging(value: number, colours: Palette = palette()): string {
  return colours.diverging[levelOf(value, -1, 1)] ?? colours.ground;
}

/** The colour of a series: a head, a line. */
export function series(number: number, colours: Palette = palette()): string {
  return colours.series[number % colours.series.length] ?? colours.ink;
}

/** Black or white, whichever is easier to read on a colour (#rrggbb). */
export function inkOn(colour: string): string {
  return contrast("#000000", colour) >= contrast("#ffffff", colour) ? "#000000" : "#ffffff";
}
