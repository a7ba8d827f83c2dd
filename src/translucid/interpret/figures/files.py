"""A picture as a file: PNG by resvg, PDF by Typst (packages of the extra ``figures``).

Both read the SVG with the same library (usvg), so both look alike. In a PDF, lines stay lines and
text stays text.
"""

from __future__ import annotations

import html
from typing import Any

from translucid.errors import InputError, optional
from translucid.interpret.figures.colours import FONTS
from translucid.interpret.figures.drawing import Drawing

SCALE = 2.0  # pixels of the image for each of the drawing, so that text is sharp in print
MOST_PIXELS = 100_000_000
POINT = 0.75  # points of a PDF for each pixel of a drawing
_PDF = """
#set document(title: sys.inputs.title, date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg", width: float(sys.inputs.width) * 1pt)
"""

_PROBE = (
    '<svg xmlns="http://www.w3.org/2000/svg" class="figure" width="40" height="20">'
    "<style>svg.figure text{{font-family:{fonts};font-size:12px}}</style>{text}</svg>"
)


def png(drawing: Drawing, *, scale: float = SCALE) -> bytes:
    """Return the picture as the content of a PNG file."""
    return rasterised(drawing.svg, drawing.width, drawing.height, scale=scale)


def rasterised(svg: str, width: float, height: float, *, scale: float) -> bytes:
    """Return an SVG as the content of a PNG file, on white."""
    pixels = width * height * scale * scale
    if pixels > MOST_PIXELS:
        raise InputError(
            f"the picture would have {width * scale:,.0f} × {height * scale:,.0f} pixels, and a "
            f"PNG may have {MOST_PIXELS / 1e6:,.0f} million: write SVG or HTML instead"
        )
    resvg = optional("resvg_py", extra="figures", job="writing PNG")
    _check_fonts(resvg)
    image: bytes = bytes(resvg.svg_to_bytes(svg_string=svg, background="#ffffff", zoom=scale))
    return image


def pdf(drawing: Drawing) -> bytes:
    """Return the picture as the content of a PDF file of one page, as large as the picture.

    The page has no date and no random identifier: the same picture gives the same bytes.
    """
    typst = optional("typst", extra="figures", job="writing PDF")
    _check_fonts(optional("resvg_py", extra="figures", job="writing PDF"))
    inputs = {"svg": drawing.svg, "width": f"{drawing.width * POINT}", "title": drawing.title}
    content: bytes = typst.compile(_PDF.encode(), format="pdf", sys_inputs=inputs)
    return content


def alone(drawing: Drawing) -> bytes:
    """Return an HTML file with nothing but the picture."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>{html.escape(drawing.title)}</title>\n{drawing.svg}\n</html>\n"
    ).encode()


def _check_fonts(resvg: Any) -> None:
    """Refuse to draw without fonts: every word would be missing, in silence."""
    with_text, without = (
        bytes(resvg.svg_to_bytes(svg_string=_PROBE.format(fonts=FONTS, text=text)))
        for text in ('<text x="2" y="15">M</text>', "")
    )
    if with_text == without:
        raise InputError(
            "no font was found on this machine, so a picture would have no words: install one (on "
            "Debian and Ubuntu: fonts-dejavu-core), or write SVG or HTML"
        )
