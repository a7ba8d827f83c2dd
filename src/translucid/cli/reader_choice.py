"""The model that reads translations back, as the command line names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.built_in import built_in_name
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.translator import ReadingBack


@dataclass(frozen=True)
class Reader:
    """The models named with --read-back, several being an ensemble, and their weight; or none."""

    models: tuple[Path, ...]
    weight: float | None

    @cached_property
    def reading_back(self) -> ReadingBack | None:
        """What reads back; loaded when it is first asked for."""
        from translucid.translator import ReadingBack, load
        from translucid.translator.reading_back import WEIGHT

        if not self.models:
            return None
        return ReadingBack(load(*self.models), WEIGHT if self.weight is None else self.weight)

    def facts(self) -> dict[str, Any]:
        """Return which models read back and how much they count; nothing where none do."""
        from translucid.cli.model_choice import fingerprint

        if self.reading_back is None:
            return {}
        return {
            "read_back": {
                "models": [built_in_name(model) or str(model) for model in self.models],
                "fingerprint": fingerprint(self.models),
                "weight": self.reading_back.weight,
            }
        }


def reader_of(models: Sequence[Path] | None, weight: float | None) -> Reader:
    """Return what --read-back and --read-back-weight ask for."""
    if weight is not None and not models:
        raise InputError(
            "--read-back-weight without --read-back: name the model that reads translations back"
        )
    return Reader(tuple(models or ()), weight)
