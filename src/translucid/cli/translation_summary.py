"""What is told when a file is translated: how much, how fast, and which lines to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from translucid.cli.line_files import Line
    from translucid.translator import Translation

# By flag: how the summary counts it, and what a warning says of the lines.
FLAGS: Mapping[str, tuple[str, str]] = {
    "truncated": ("truncated", "cut at the limit of length (--max-length, --extra-length)"),
    "looped": ("looped", "ended because the translation went in circles"),
    "split": ("split", "too long for the network at once, and translated in parts"),
    "between_spans": (
        "translated between spans",
        "translated piece by piece between tags, addresses and the like, for which this model has "
        "no placeholders",
    ),
    "forced_spans": (
        "with a span out of place",
        "with a tag, an address or the like where the model would not have put it",
    ),
    "doubtful": ("doubtful", "doubtful: the model is more likely to be wrong than right"),
    "unknown": ("with unknown characters", "with characters that the vocabulary cannot spell"),
    "empty": ("empty", "translated into nothing"),
    "replaced": ("not UTF-8", "not UTF-8; � stands for what could not be read"),
}
_NAMED = 10  # lines that a warning names


class Tally:
    """Counts lines and tokens, and remembers which lines deserve a look.

    `seconds` are those of translating, without the time in which there was nothing to translate.
    `notices` are what the translator said on the way.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.tokens = 0
        self.seconds = 0.0
        self.notices: list[str] = []
        self._flagged: dict[str, list[int]] = {flag: [] for flag in FLAGS}

    def add(self, lines: Sequence[Line], translations: Sequence[Translation]) -> None:
        """Count lines and what has become of them."""
        for line, translation in zip(lines, translations, strict=True):
            self.lines += 1
            self.tokens += len(translation.tokens)
            flags = {
                **vars(translation.flags),
                "doubtful": translation.doubtful,
                "empty": bool(line.text.strip()) and not translation.text.strip(),
                "replaced": line.replaced,
            }
            for flag, numbers in self._flagged.items():
                if flags[flag]:
                    numbers.append(line.number)

    def warnings(self) -> list[str]:
        """Return a line of text for each kind of flag that was raised, and all notices."""
        flagged = [
            f"{_place(numbers)}: {FLAGS[flag][1]}"
            for flag, numbers in self._flagged.items()
            if numbers
        ]
        return [*flagged, *self.notices]

    def summary(self) -> str:
        """Return the one line that is told at the end."""
        counts = ", ".join(
            f"{len(numbers):,} {FLAGS[flag][0]}"
            for flag, numbers in self._flagged.items()
            if numbers or flag in ("truncated", "looped")
        )
        speed = self.tokens / self.seconds if self.seconds > 0 else 0.0
        plural = "" if self.lines == 1 else "s"
        return (
            f"{self.lines:,} line{plural}, {self.tokens:,} tokens in {self.seconds:.1f} s "
            f"({speed:,.0f} tokens/s): {counts}"
        )


def _place(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]:,}"
    named = ", ".join(f"{number:,}" for number in numbers[:_NAMED])
    more = len(numbers) - _NAMED
    return f"lines {named}" + (f" and {more:,} more" if more > 0 else "")
