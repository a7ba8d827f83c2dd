"""When a file of rows has a few bad ones, and when it is not what it should be.

One bad row is counted with its line and the rest is read: a person's file has such rows. Where most
rows are bad, the file is of another make than we think, and reading it stops with an error.
"""

from __future__ import annotations

from pathlib import Path

from translucid.data.corpus.report import ReadReport, Skip
from translucid.errors import DataError

# The share of bad rows is judged after so many rows, so that a wrong file stops soon, and at the
# end.
EARLY_ROWS = 1000


class RowCheck:
    """Counts good and bad rows, and raises a DataError where most of them are bad."""

    def __init__(self, path: Path, report: ReadReport, *, remedy: str) -> None:
        self._path = path
        self._report = report
        self._remedy = remedy
        self._rows = 0
        self._bad = 0
        self._first: tuple[int, str] | None = None

    def good(self) -> None:
        """Count a row that gave a pair."""
        self._count()

    def bad(self, reason: Skip, line: int, text: str, *, detail: str) -> None:
        """Count a row that gave none; detail says what is wrong with it."""
        self._bad += 1
        self._first = self._first or (line, detail)
        self._report.skip(reason, line, text)
        self._count()

    def settle(self) -> None:
        """Judge the rows seen so far."""
        if self._first and self._bad > self._rows / 2:
            line, detail = self._first
            raise DataError(
                self._path,
                f"{self._bad:,} of {self._rows:,} rows give no pair; the first: {detail}",
                remedy=self._remedy,
                line=line,
            )

    def _count(self) -> None:
        self._rows += 1
        if self._rows == EARLY_ROWS:
            self.settle()
