"""Colours: even steps of lightness, and text that can be read on every cell."""

from __future__ import annotations

import itertools

import pytest

from dark_palette import DARK
from translucid.interpret.figures.colours import (
    LEVELS,
    LIGHT,
    READABLE,
    Oklch,
    Palette,
    contrast,
    luminance,
    ramp_level,
    readable_on,
    style_sheet,
)

GROUNDS = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def lightness(colour: str) -> float:
    """CIE L* from luminance: another road to lightness than the OKLab that made the ramp."""
    y = luminance(colour)
    return 116 * y ** (1 / 3) - 16 if y > 216 / 24389 else y * 24389 / 27


def seen_with_two_cones(colour: str) -> tuple[float, float, float]:
    """A colour as people without red cones see it (Viénot et al. 1999), in linear light."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    mixed = 0.11238 * red + 0.88762 * green
    return mixed, mixed, 0.00401 * red - 0.00401 * green + blue


@GROUNDS
def test_heat_runs_evenly_in_one_direction(palette: Palette) -> None:
    values = [lightness(colour) for colour in palette.heat]
    steps = [b - a for a, b in itertools.pairwise(values)]
    assert len(values) == LEVELS + 1
    assert all(step < 0 for step in steps) or all(step > 0 for step in steps)
    assert abs(values[-1] - values[0]) > 60
    assert max(map(abs, steps)) < 2.2 * min(map(abs, steps))


@GROUNDS
def test_heat_keeps_its_order_for_those_who_see_fewer_colours(palette: Palette) -> None:
    greens = [seen_with_two_cones(colour)[1] for colour in palette.heat]
    assert greens in (sorted(greens), sorted(greens, reverse=True))


@GROUNDS
def test_diverging_is_even_on_both_sides_and_blue_is_not_brown(palette: Palette) -> None:
    values = [lightness(colour) for colour in palette.diverging]
    middle = LEVELS // 2
    for below, above in zip(values[:middle], reversed(values[middle + 1 :]), strict=True):
        assert abs(below - above) < 6
    low, high = (
        seen_with_two_cones(palette.diverging[0]),
        seen_with_two_cones(palette.diverging[-1]),
    )
    assert low[2] > 2 * low[0]  # blue stays blue
    assert high[0] > 2 * high[2]  # brown stays yellow


@GROUNDS
def test_text_can_be_read_on_every_cell_and_on_the_ground(palette: Palette) -> None:
    for colour in (*palette.heat, *palette.diverging):
        assert contrast(readable_on(colour), colour) >= READABLE
    for ink in (palette.ink, palette.muted, palette.accent, palette.good):
        assert contrast(ink, palette.ground) >= READABLE
        assert contrast(ink, palette.panel) >= READABLE
    for colour in palette.series:
        assert contrast(colour, palette.ground) >= READABLE


def test_known_contrasts() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert Oklch(1.0, 0.0, 0.0).hex() == "#ffffff"
    assert Oklch(0.627955, 0.257683, 29.2339).hex() == "#ff0000"


def test_levels() -> None:
    assert ramp_level(0, 0, 1) == 0
    assert ramp_level(1, 0, 1) == LEVELS
    assert ramp_level(7, 0, 1) == LEVELS
    assert ramp_level(-7, 0, 1) == 0
    assert ramp_level(float("nan"), 0, 1) == 0
    assert ramp_level(0.5, 0.5, 0.5) == 0


def test_a_style_sheet_has_only_what_is_used() -> None:
    sheet = style_sheet(LIGHT, {"h3"})
    assert ".h3{" in sheet
    assert ".h4{" not in sheet
    assert "text{" in sheet
    assert ".h4{" in style_sheet(LIGHT)
