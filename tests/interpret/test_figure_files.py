"""PNG and PDF of a picture: its size, its words, its colours."""

from __future__ import annotations

import re
import struct

import pytest
from drawn_traces import short_trace

from translucid.errors import InputError
from translucid.interpret.figures.drawing import Drawing, html_file, pdf, png, rasterised, text
from translucid.interpret.figures.panels import PANELS, Choice, Material, draw


def size_of(image: bytes) -> tuple[int, int]:
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    return width, height


def test_png_has_the_size_of_the_drawing_times_the_scale() -> None:
    drawing = draw("cross", Material(short_trace()), Choice(layer=0, head=0))
    for scale in (1.0, 2.0):
        width, height = size_of(png(drawing, scale=scale))
        assert abs(width - drawing.width * scale) <= 1
        assert abs(height - drawing.height * scale) <= 1


def test_png_has_its_words() -> None:
    empty = Drawing(60, 30, "t", "d", "")
    written = Drawing(60, 30, "t", "d", text(5, 20, "word"))
    assert png(empty) != png(written)


def test_a_png_that_would_be_huge_is_refused() -> None:
    with pytest.raises(InputError, match="PNG may have 100 million: write SVG"):
        rasterised("<svg/>", 30_000, 20_000, scale=2)


def test_pdf_is_one_page_of_the_size_of_the_drawing_with_text_and_the_same_bytes_again() -> None:
    drawing = draw("cross", Material(short_trace()), Choice(layer=0, head=0))
    content = pdf(drawing)
    assert content.startswith(b"%PDF-1.")
    assert b"/Type/Pages/Count 1/" in content
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", content)
    assert box is not None
    assert [float(size) for size in box.groups()] == pytest.approx(
        [0.75 * drawing.width, 0.75 * drawing.height], abs=0.5
    )
    assert b"/Font" in content  # words, not outlines of letters
    assert pdf(drawing) == content


@pytest.mark.parametrize("name", [name for name, panel in PANELS.items() if panel.draw])
def test_every_drawn_panel_can_be_a_pdf(name: str) -> None:
    if name != "curve":
        assert pdf(draw(name, Material(short_trace()), Choice())).startswith(b"%PDF-1.")


def test_a_picture_alone_in_an_html_file() -> None:
    drawing = Drawing(60, 30, "a < b", "d", text(5, 20, "word"))
    content = html_file(drawing).decode()
    assert content.startswith("<!DOCTYPE html>")
    assert "<title>a &lt; b</title>" in content
    assert drawing.svg.strip() in content
