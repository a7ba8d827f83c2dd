"""SVG read back: where every text stands and in which colour, as a viewer would show it."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from xml.etree import ElementTree

from translucid.interpret.figures.drawing import text_width

NAMESPACE = "{http://www.w3.org/2000/svg}"
Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1, 0, 0, 1, 0, 0)
HEIGHT = 0.72  # of capital letters above the base line, in sizes; below it:
DEPTH = 0.2


@dataclass(frozen=True)
class Word:
    """A text: what it says, its classes, and its box along its own direction."""

    content: str
    classes: frozenset[str]
    size: float
    turn: float
    corners: tuple[tuple[float, float], ...]

    def along(self) -> tuple[float, float, float, float]:
        """Return the box in a frame that is turned as the text is: left, top, right, bottom."""
        cos, sin = math.cos(math.radians(-self.turn)), math.sin(math.radians(-self.turn))
        turned = [(x * cos - y * sin, x * sin + y * cos) for x, y in self.corners]
        xs, ys = [x for x, _ in turned], [y for _, y in turned]
        return min(xs), min(ys), max(xs), max(ys)


@dataclass(frozen=True)
class Picture:
    """An SVG file that was read."""

    root: ElementTree.Element
    width: float
    height: float
    words: tuple[Word, ...]
    rules: dict[str, dict[str, str]]

    def fill(self, kind: str) -> str:
        """Return the fill of a class."""
        return self.rules[kind]["fill"]

    def colour(self, word: Word) -> str:
        """Return the colour of a text: the last rule of its classes that gives one wins."""
        found = self.rules["text"]["fill"]
        for name, rule in self.rules.items():
            if name in word.classes and "fill" in rule:
                found = rule["fill"]
        return found


def read(svg: str) -> Picture:
    """Read an SVG file; it must be well-formed."""
    root = ElementTree.fromstring(svg)
    style = "".join(element.text or "" for element in root.iter(f"{NAMESPACE}style"))
    rules = {
        selector.rpartition(".")[2].removeprefix("svg.figure ").split()[-1]: dict(
            part.split(":", 1) for part in declarations.split(";")
        )
        for selector, declarations in re.findall(r"([^{}\n]+)\{([^{}]+)\}", style)
    }
    words = tuple(_words(root, IDENTITY, rules))
    return Picture(root, float(root.get("width", 0)), float(root.get("height", 0)), words, rules)


def _words(element: ElementTree.Element, outer: Matrix, rules: dict[str, dict[str, str]]):  # type: ignore[no-untyped-def]
    matrix = _times(outer, _transform(element.get("transform", "")))
    if element.tag == f"{NAMESPACE}text":
        yield _word(element, matrix, rules)
    for child in element:
        yield from _words(child, matrix, rules)


def _word(element: ElementTree.Element, matrix: Matrix, rules: dict[str, dict[str, str]]) -> Word:
    classes = frozenset(element.get("class", "").split())
    size = 12.0
    for name in classes & rules.keys():
        if "font-size" in rules[name]:
            size = float(rules[name]["font-size"].removesuffix("px"))
    content = "".join(element.itertext())
    bold = 1.06 if classes & {"strong", "head", "badge"} else 1.0
    width = text_width(content, size) * bold
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    left = (
        x - {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor", "start")] * width
    )
    box = [(left, y - HEIGHT * size), (left + width, y - HEIGHT * size),
           (left + width, y + DEPTH * size), (left, y + DEPTH * size)]  # fmt: skip
    corners = tuple(_apply(matrix, point) for point in box)
    turn = math.degrees(math.atan2(matrix[1], matrix[0]))
    return Word(content, classes, size, round(turn, 3), corners)


def _transform(text: str) -> Matrix:
    matrix = IDENTITY
    for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", text):
        values = [float(value) for value in arguments.replace(",", " ").split()]
        if name == "translate":
            step: Matrix = (1, 0, 0, 1, values[0], values[1])
        elif name == "scale":
            step = (values[0], 0, 0, values[-1], 0, 0)
        else:
            assert name == "rotate"
            cos, sin = math.cos(math.radians(values[0])), math.sin(math.radians(values[0]))
            x, y = values[1:]
            step = (cos, sin, -sin, cos, x - cos * x + sin * y, y - sin * x - cos * y)
        matrix = _times(matrix, step)
    return matrix


def _times(first: Matrix, second: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return (a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j,
            a * k + c * m + e, b * k + d * m + f)  # fmt: skip


def _apply(matrix: Matrix, point: tuple[float, float]) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    x, y = point
    return a * x + c * y + e, b * x + d * y + f


def outside(picture: Picture) -> list[str]:
    """Return the texts that stick out of the picture."""
    return [
        word.content
        for word in picture.words
        if any(not (0 <= x <= picture.width and 0 <= y <= picture.height) for x, y in word.corners)
    ]


def overlapping(picture: Picture) -> list[tuple[str, str]]:
    """Return pairs of texts of the same direction that cover each other by more than a pixel."""
    found = []
    for turn in {word.turn for word in picture.words}:
        boxes = sorted((w.along(), w.content) for w in picture.words if w.turn == turn)
        for ((_, top, right, bottom), first), ((left, above, _, below), second) in _near(boxes):
            if left < right - 1 and above < bottom - 1 and top < below - 1:
                found.append((first, second))
    return found


def _near(boxes):  # type: ignore[no-untyped-def]
    """Yield pairs of boxes, in the order of their left edges, that may overlap."""
    for number, box in enumerate(boxes):
        for other in itertools.islice(boxes, number + 1, None):
            if other[0][0] >= box[0][2]:
                break
            yield box, other
