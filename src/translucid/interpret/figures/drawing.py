"""Strokes, lettering and the `Drawing` that pictures return: SVG whose text stays text.

PNG is made by resvg, PDF by Typst (packages of the extra ``figures``). Both read the SVG with the
same library (usvg), so both look alike. In a PDF, lines stay lines and text stays text.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from translucid.errors import InputError, optional
from translucid.interpret.figures.colours import FONTS, LEVELS, LIGHT, style_sheet
from translucid.interpret.trace import SPACES, Trace, TraceToken

MARGIN = 16
WIDEST = 860  # pixels of a line of words, however wide the picture is


@dataclass(frozen=True)
class Drawing:
    """A picture: its size in pixels, what it shows in a few words and in a sentence, its strokes.

    `svg` is a whole file, with its style sheet and a white ground.
    """

    width: float
    height: float
    title: str
    description: str
    body: str

    @property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        ground = rect(0, 0, self.width, self.height, "ground")
        classes = re.findall(r'class="([^"]*)"', ground + self.body)
        used = {name for names in classes for name in names.split()}
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" {size} '
            f'viewBox="0 0 {number(self.width)} {number(self.height)}" role="img">'
            f"<title>{written(self.title)}</title><desc>{written(self.description)}</desc>"
            f"<style>\n{style_sheet(LIGHT, used)}</style>\n{ground}{self.body}</svg>\n"
        )

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.svg


def number(value: float) -> str:
    """Return a number for SVG, at most two digits behind the point.

    >>> number(12.0), number(3.14159)
    ('12', '3.14')
    """
    return f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


def written(words: str) -> str:
    """Return words as XML spells them."""
    return escape(legal(words))


def text(
    x: float, y: float, content: str, kind: str = "", *, anchor: str = "start", turn: float = 0
) -> str:
    """Write a line of text; y is its base line, `turn` degrees about its own anchor."""
    turned = f' transform="rotate({number(turn)} {number(x)} {number(y)})"' if turn else ""
    classes = f' class="{kind}"' if kind else ""
    anchored = f' text-anchor="{anchor}"' if anchor != "start" else ""
    place = f'x="{number(x)}" y="{number(y)}"'
    return f"<text {place}{classes}{anchored}{turned}>{written(content)}</text>"


def rect(x: float, y: float, width: float, height: float, kind: str, *, round_by: float = 0) -> str:
    """Draw a rectangle."""
    corners = f' rx="{number(round_by)}"' if round_by else ""
    return (
        f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}"{corners}/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Draw a straight line."""
    return path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", kind)


def path(strokes: str, kind: str, *, style: str = "") -> str:
    """Draw a path; `style` is for what differs from stroke to stroke, such as opacity."""
    styled = f' style="{style}"' if style else ""
    return f'<path class="{kind}" d="{strokes}"{styled}/>'


def group(parts: Iterable[str], *, at: tuple[float, float] = (0, 0), attributes: str = "") -> str:
    """Put strokes together, moved to a place."""
    moved = f' transform="translate({number(at[0])} {number(at[1])})"' if at != (0, 0) else ""
    return f"<g{moved}{' ' + attributes if attributes else ''}>{''.join(parts)}</g>"


def tooltip(part: str, words: str) -> str:
    """Give a stroke words that a page shows when it is pointed at."""
    return f"<g><title>{written(words)}</title>{part}</g>"


def heading(title: str, width: float, notes: Sequence[str] = ()) -> tuple[list[str], float]:
    """Write the title of a picture and notes below it, broken to the width; return the next y."""
    parts, y = [], MARGIN + HEAD - 3.0
    room = min(width, WIDEST) - 2 * MARGIN
    for words in wrap_text(title, room, HEAD):
        parts.append(text(MARGIN, y, words, "head"))
        y += HEAD + 4
    for note in notes:
        for words in wrap_text(note, room):
            parts.append(text(MARGIN, y, words, "muted"))
            y += 17
    return parts, y + 4


def colour_bar(
    x: float, y: float, low: str, high: str, cell: str, *, width: float = 120
) -> tuple[list[str], float]:
    """Draw the key of a ramp (`cell` h or d) with the values of its ends; return its width too."""
    start = x + text_width(low) + 6
    step = width / (LEVELS + 1)
    cells = [
        rect(start + level * step, y - 10, step + 0.5, 11, f"{cell}{level}")
        for level in range(LEVELS + 1)
    ]
    parts = [
        text(x, y, low, "muted"),
        group(cells, attributes='shape-rendering="crispEdges"'),
        rect(start, y - 10, width, 11, "frame"),
        text(start + width + 6, y, high, "muted"),
    ]
    return parts, start + width + 6 + text_width(high) - x


SIZE = 12  # of plain text, in pixels
SMALL = 10
HEAD = 15

_WIDTHS = {
    **dict.fromkeys("ijlI'|", 300),
    **dict.fromkeys(" .,:;!·", 330),
    **dict.fromkeys('ftr()[]/-"', 410),
    **dict.fromkeys("scvxyzkJ", 580),
    **dict.fromkeys("ABCDEGHKNOPQRSUVXYZ&", 720),
    **dict.fromkeys("w+=<>~≤≥−×√→", 840),
    **dict.fromkeys("mMW@%…—", 990),
}
_PLAIN = 640


def text_width(text: str, size: float = SIZE) -> float:
    """Return about how wide a text is, in pixels; rather too wide than too narrow.

    >>> round(text_width("attention", 10))
    47
    """
    return size * sum(map(_width, text)) / 1000


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 1000
    base = unicodedata.normalize("NFD", character)[0]
    return _WIDTHS.get(base, _PLAIN)


def shorten(text: str, width: float, size: float = SIZE) -> str:
    """Return the text, or as much of it as fits into a width with an ellipsis.

    >>> shorten("internationalisation", 60)
    'interna…'
    """
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"


def wrap_text(text: str, width: float, size: float = SIZE) -> list[str]:
    """Return the lines of a text that is broken at spaces to fit into a width.

    A word that is wider than a line, such as a sentence of a script without spaces, is broken too.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines += _broken(word, width, size)
    return lines


def _broken(word: str, width: float, size: float) -> list[str]:
    """Return a word in parts that fit into a width, each of a character or more."""
    parts = [""]
    for character in word:
        if parts[-1] and text_width(parts[-1] + character, size) > width:
            parts.append("")
        parts[-1] += character
    return parts


_ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal(text: str) -> str:
    """Return the text with a sign in place of characters that XML cannot hold.

    >>> legal("a\x07b")
    'a�b'
    """
    return _ILLEGAL.sub("�", text)


def token_labels(tokens: Sequence[TraceToken]) -> list[str]:
    """Return how tokens are shown: words as they are, what continues a word after a dot.

    ``▁tired`` is *tired*, ``ing`` after it is *·ing*. Where the pieces know no words, because each
    is a character, they are shown as they are.
    """
    return piece_labels([token.piece for token in tokens])


def piece_labels(pieces: Iterable[str]) -> list[str]:
    """Return how pieces of a vocabulary are shown (see `token_labels`).

    >>> piece_labels(["▁over", "ing", "</s>"])
    ['over', '·ing', '</s>']
    """
    pieces = list(pieces)
    spaced = marks_words(pieces)
    return [piece_label(piece, spaced) for piece in pieces]


def marks_words(pieces: Iterable[str]) -> bool:
    """Tell whether pieces have the space before a word in them, as words and subwords do."""
    return any(len(piece) > 1 and piece.startswith(SPACES) for piece in pieces)


def spaced(trace: Trace) -> bool:
    """Tell whether the vocabulary of a trace marks the space before a word."""
    return marks_words(token.piece for token in (*trace.source_tokens, *trace.target_tokens))


def piece_label(piece: str, spaced: bool) -> str:
    """Return how one piece is shown; `spaced`: the vocabulary marks the space before a word."""
    shown = piece.replace("▁", " ")
    if not shown.strip():
        return "␣"
    if shown.startswith("<") and shown.endswith(">") and len(shown) > 2:
        return shown
    if spaced and not shown.startswith(" "):
        return "·" + shown
    return shown.removeprefix(" ").replace(" ", "␣")


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


def html_file(drawing: Drawing) -> bytes:
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
