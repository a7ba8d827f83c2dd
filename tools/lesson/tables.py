"""How the lesson's tables are written: names with commas between, rows with bars between cells."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent


def names(text: str) -> tuple[str, ...]:
    """Return the names in a list such as ``cat, dog, police officer``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def rows(table: str) -> Iterator[list[str]]:
    """Yield the cells of a table, a row a line; an indented line continues the row above it."""
    for row in dedent(table).strip().replace("\n    ", " ").splitlines():
        yield [" ".join(cell.split()) for cell in row.split("|")]
