/** Colours by lightness, chroma and hue (OKLab, Ottosson 2020), and their contrast (WCAG 2). */

/** A colour by lightness (0 to 1), chroma and hue. */
export interface Oklch {
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
