"""Drawing: a picture as one value, and the few strokes that all pictures are made of.

The SVG is written by hand: text stays text, colours are classes of one style sheet (see
`colours`), and a picture says in words what it shows. Places are in pixels from the top left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from translucid.interpret.figures.colours import LEVELS, LIGHT, style_sheet
from translucid.interpret.figures.lettering import HEAD, legal, text_width, wrapped

MARGIN = 16
WIDEST = 860  # pixels of a line of words, however wide the picture is


@dataclass(frozen=True)
class Drawing:
    """A picture: its size in pixels, what it shows in a few words and in a sentence, its strokes.

    `svg` is a whole file with a white ground; `inline` goes into a page, which has the style sheet
    and its own ground.
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
        return self._element(f"<style>\n{style_sheet(LIGHT, used)}</style>\n{ground}") + "\n"

    def inline(self) -> str:
        """Return the picture as an element of a page that has the style sheet."""
        return self._element("")

    def _element(self, before: str) -> str:
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" {size} '
            f'viewBox="0 0 {number(self.width)} {number(self.height)}" role="img">'
            f"<title>{written(self.title)}</title><desc>{written(self.description)}</desc>"
            f"{before}{self.body}</svg>"
        )


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
    for words in wrapped(title, room, HEAD):
        parts.append(text(MARGIN, y, words, "head"))
        y += HEAD + 4
    for note in notes:
        for words in wrapped(note, room):
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
