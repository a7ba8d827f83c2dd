/**
 * Ramps and palettes: the same as in the figures that the Python package draws.
 *
 * Lightness alone carries the value, so that the ramps read the same in print without colour and
 * for people who see few colours.
 */
import { theme } from "../state/theme.ts";

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
export function computeLevel(value: number, low: number, high: number): number {
  if (!(high > low) || Number.isNaN(value)) return 0;
  return Math.round(LEVELS * Math.min(1, Math.max(0, (value - low) / (high - low))));
}

/** The colour of a value from 0 to 1. */
export function heat(value: number, colours: Palette = palette()): string {
  return colours.heat[computeLevel(value, 0, 1)] ?? colours.ground;
}

/** The colour of a value from −1 to 1. */
export function diverging(value: number, colours: Palette = palette()): string {
  return colours.diverging[computeLevel(value, -1, 1)] ?? colours.ground;
}

/** The colour of a series: a head, a line. */
export function series(number: number, colours: Palette = palette()): string {
  return colours.series[number % colours.series.length] ?? colours.ink;
}

/** Black or white, whichever is easier to read on a colour (#rrggbb). */
export function inkOn(colour: string): string {
  return contrast("#000000", colour) >= contrast("#ffffff", colour) ? "#000000" : "#ffffff";
}

/* Colours by lightness, chroma and hue (OKLab, Ottosson 2020), and their contrast (WCAG 2). */

/** A colour by lightness (0 to 1), chroma and hue. */
interface Oklch {
  lightness: number;
  chroma: number;
  /** Degrees. */
  hue: number;
}

type Rgb = [number, number, number];

/** The nearest colour of a screen; what it cannot show loses chroma first. */
export function hex(colour: Oklch): string {
  let chroma = colour.chroma;
  let rgb = linearRgb(colour.lightness, chroma, colour.hue);
  while (!onScreen(rgb) && chroma > 0) {
    chroma -= 0.004;
    rgb = linearRgb(colour.lightness, chroma, colour.hue);
  }
  return `#${rgb.map((value) => byte(255 * gamma(value))).join("")}`;
}

function byte(value: number): string {
  return Math.round(value).toString(16).padStart(2, "0");
}

/** OKLab to linear sRGB: the matrices are the definition of the space. */
function linearRgb(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
  ];
}

function onScreen(rgb: Rgb): boolean {
  return rgb.every((value) => value >= -1e-4 && value <= 1 + 1e-4);
}

function gamma(value: number): number {
  const held = Math.min(1, Math.max(0, value));
  return held <= 0.0031308 ? 12.92 * held : 1.055 * held ** (1 / 2.4) - 0.055;
}

/** Relative luminance of `#rrggbb`, 0 to 1. */
export function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast of two colours, 1 to 21. */
export function contrast(first: string, second: string): number {
  const [low = 0, high = 0] = [luminance(first), luminance(second)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}
