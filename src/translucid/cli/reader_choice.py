"""The model that reads translations back, as the command line names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.built_in import built_in_name
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.translator import ReadingBack


@dataclass(frozen=True)
class Reader:
    """The models named with --read-back, several being an ensemble; or none."""

    models: tuple[Path, ...]
    reading_back: ReadingBack | None

    def facts(self) -> dict[str, Any]:
        """Return which models read back and how much they count; nothing where none do."""
        if self.reading_back is None:
            return {}
        named = [built_in_name(model) or str(model) for model in self.models]
        return {"read_back": {"models": named, **self.identity()}}

    def identity(self) -> dict[str, Any]:
        """Return all by which what is read depends on the reader."""
        from translucid.translator.loading import fingerprint

        if self.reading_back is None:
            return {}
        return {"fingerprint": fingerprint(self.models), "weight": self.reading_back.weight}


def reader_of(models: Sequence[Path] | None, weight: float | None) -> Reader:
    """Load what --read-back and --read-back-weight ask for."""
    if not models:
        if weight is not None:
            raise InputError(
                "--read-back-weight without --read-back: name the model that reads translations "
                "back"
            )
        return Reader((), None)
    from translucid.translator import ReadingBack, load
    from translucid.translator.reading_back import WEIGHT

    return Reader(tuple(models), ReadingBack(load(*models), WEIGHT if weight is None else weight))
