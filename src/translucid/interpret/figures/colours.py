"""Colours: perceptual ramps, computed; the palette for a light ground; one style sheet.

A ramp runs through OKLab (Ottosson 2020), in which equal steps of lightness look equal, so that a
cell twice as far along looks twice as far. Lightness alone carries the value: the ramps read the
same in print without colour and for people who see few colours.

================  =============================
class             colours
================  =============================
h0 … h48          0 to 1: white to deep indigo
d0 … d48          −1 to 1: blue, white, brown
k0 … k48, e0 …    text on a cell of that level
================  =============================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

LEVELS = 48  # steps of a ramp: 0 to 48
READABLE = 4.5  # WCAG 2: least contrast of text

FONTS = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", '
    '"Liberation Sans", "DejaVu Sans", sans-serif'
)


class Oklch(NamedTuple):
    """A colour by lightness (0 to 1), chroma and hue in degrees."""

    lightness: float
    chroma: float
    hue: float

    def hex(self) -> str:
        """Return the nearest colour of a screen; what it cannot show loses chroma first."""
        chroma = self.chroma
        while not _on_screen(rgb := _linear_rgb(self.lightness, chroma, self.hue)) and chroma > 0:
            chroma -= 0.004
        return "#" + "".join(f"{round(255 * _gamma(value)):02x}" for value in rgb)


def _linear_rgb(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    """Turn OKLab into linear sRGB (the matrices are the definition of the space)."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )


def _on_screen(rgb: tuple[float, float, float]) -> bool:
    return all(-1e-4 <= value <= 1 + 1e-4 for value in rgb)


def _gamma(value: float) -> float:
    value = min(1.0, max(0.0, value))
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb``, from 0 to 1 (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2)."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class Palette(NamedTuple):
    """The colours of all pictures on one ground.

    `series` are for lines and heads; each has a contrast of at least 3 with the ground.
    """

    ground: str
    ink: str
    muted: str
    line: str
    panel: str
    accent: str
    good: str
    masked: str
    series: tuple[str, ...]
    heat: tuple[str, ...]
    diverging: tuple[str, ...]


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def heat_ramp(low: Oklch, high: Oklch, chroma: float) -> tuple[str, ...]:
    """Return a ramp of even lightness; `chroma` is that of its middle."""
    colours = []
    for level in range(LEVELS + 1):
        share = level / LEVELS
        ends = _between(low.chroma, high.chroma, share)
        bow = 4 * share * (1 - share)
        colours.append(
            Oklch(
                _between(low.lightness, high.lightness, share),
                _between(ends, chroma, bow),
                _between(low.hue, high.hue, share),
            ).hex()
        )
    return tuple(colours)


def diverging_ramp(middle: float, end: float) -> tuple[str, ...]:
    """Return a ramp from blue through a colourless middle to brown or orange."""
    colours = []
    for level in range(LEVELS + 1):
        value = 2 * level / LEVELS - 1
        hue = 255.0 if value < 0 else 55.0
        colours.append(Oklch(_between(middle, end, abs(value)), 0.15 * abs(value), hue).hex())
    return tuple(colours)


LIGHT = Palette(
    ground="#ffffff",
    ink="#1a1c23",
    muted="#5b6070",
    line="#d5d8e0",
    panel="#f3f4f8",
    accent="#2f4fc4",
    good="#1f6f3a",
    masked="#e9eaee",
    series=("#0b6fb3", "#c2500a", "#0b7a5c", "#a2408a", "#7d6400", "#5348c7", "#b3263c", "#4b6a77"),
    heat=heat_ramp(Oklch(0.985, 0.004, 220), Oklch(0.27, 0.12, 285), 0.125),
    diverging=diverging_ramp(0.985, 0.40),
)


def ramp_level(value: float, low: float, high: float) -> int:
    """Return the level of a ramp for a value; what lies beyond the ends gets the end's level.

    >>> ramp_level(0.5, 0, 1)
    24
    """
    if not high > low or math.isnan(value):
        return 0
    return round(LEVELS * min(1.0, max(0.0, (value - low) / (high - low))))


def readable_on(colour: str) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def style_sheet(palette: Palette, used: set[str] | None = None) -> str:
    """Return the style sheet of all pictures for one ground; `used`: only for these classes."""
    return "".join(
        f"svg.figure {selector}{{{declarations}}}\n"
        for selector, declarations in (*_plain_rules(palette), *_ramp_rules(palette))
        if used is None or "." not in selector or selector.rpartition(".")[2] in used
    )


def _plain_rules(palette: Palette) -> Iterator[tuple[str, str]]:
    yield "text", f"font-family:{FONTS};font-size:12px;fill:{palette.ink}"
    yield "text.small", "font-size:10px"
    yield "text.head", "font-size:15px;font-weight:600"
    yield "text.strong", "font-weight:600"
    yield "text.muted", f"fill:{palette.muted}"
    yield "text.accent", f"fill:{palette.accent}"
    yield "text.good", f"fill:{palette.good}"
    yield "tspan.differs", f"fill:{palette.series[1]}"
    yield "text.badge", f"fill:{palette.ground};font-weight:600"
    yield ".ground", f"fill:{palette.ground}"
    yield ".panel", f"fill:{palette.panel}"
    yield ".masked", f"fill:{palette.masked}"
    yield ".solid", f"fill:{palette.accent}"
    yield ".quiet", f"fill:{palette.line}"
    yield ".track", f"fill:{palette.masked}"
    yield ".frame", f"fill:none;stroke:{palette.line}"
    yield ".axis", f"fill:none;stroke:{palette.muted}"
    yield ".mark", f"fill:none;stroke:{palette.accent};stroke-width:2"
    yield ".gone", f"fill:none;stroke:{palette.muted};stroke-dasharray:3 3"
    yield ".kept", f"fill:{palette.panel};stroke:{palette.muted}"
    yield ".chosen", f"fill:{palette.panel};stroke:{palette.accent};stroke-width:2"
    yield ".ended", f"fill:{palette.panel};stroke:{palette.good};stroke-width:2"
    for number, colour in enumerate(palette.series):
        yield f".s{number}", f"fill:none;stroke:{colour};stroke-width:1.6"
        yield f".f{number}", f"fill:{colour}"
        yield f"text.t{number}", f"fill:{colour}"


def _ramp_rules(palette: Palette) -> Iterator[tuple[str, str]]:
    for ramp, cell, letter in ((palette.heat, "h", "k"), (palette.diverging, "d", "e")):
        for level, colour in enumerate(ramp):
            yield f".{cell}{level}", f"fill:{colour}"
            yield f"text.{letter}{level}", f"fill:{readable_on(colour)}"
