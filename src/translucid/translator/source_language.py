"""Detect which of a model's source languages a text is in.

::

    MODEL/languages.safetensors     {"en": log P(token | English), "fr": log P(token | French)}

Only models with several source languages have that file. The tokens of each language are counted in
the training set, an unseen one as half a token; a text is in the language under which its tokens,
taken as independent, are likeliest (naive Bayes). That is nearly always enough to tell the few
languages of one model apart. If all are equally likely, it is the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from translucid.checksums import new_listed_file
from translucid.errors import DataError, InputError
from translucid.text.tokenizer import FIRST_PIECE

LANGUAGES = "languages.safetensors"
_UNSEEN = 0.5
_Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SourceLanguages:
    """The log-probability of every token under each language, by language."""

    log_probs: Mapping[str, _Floats]

    @classmethod
    def from_counts(cls, counts: Mapping[str, npt.ArrayLike]) -> SourceLanguages:
        """Estimate the probabilities from the token counts of the training texts."""
        smoothed = {
            language: np.asarray(count, dtype=np.float64) + _UNSEEN
            for language, count in counts.items()
        }
        return cls(
            {
                language: np.log(each / each.sum()).astype(np.float32)
                for language, each in smoothed.items()
            }
        )

    def detect(self, tokens: Sequence[int], among: Sequence[str]) -> str:
        """Return the likeliest of some languages; of equals, the first."""
        seen = [token for token in tokens if token >= FIRST_PIECE]
        return max(among, key=lambda language: float(self.log_probs[language][seen].sum()))


def save_source_languages(folder: Path, languages: SourceLanguages) -> None:
    """Write the languages into a model directory, atomically replacing older ones."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a model directory: languages are kept inside one")
    halves = {language: each.astype(np.float16) for language, each in languages.log_probs.items()}
    with new_listed_file(folder / LANGUAGES) as file:
        file.write(save(halves))


def read_source_languages(
    folder: Path, wanted: Sequence[str], vocab_size: int
) -> SourceLanguages | None:
    """Return the languages of a model directory; None if it has no such file."""
    path = folder / LANGUAGES
    if not path.is_file():
        return None
    remedy = f"Delete {LANGUAGES}, and say which language to translate into each time."
    try:
        found = {language: each.astype(np.float32) for language, each in load_file(path).items()}
    except SafetensorError as error:
        raise DataError(path, f"not a safetensors file: {error}", remedy=remedy) from error
    lacking = [language for language in wanted if language not in found]
    sound = all(each.shape == (vocab_size,) and np.isfinite(each).all() for each in found.values())
    if lacking or not sound:
        problem = f"it needs one number for each of {vocab_size} tokens of {', '.join(wanted)}"
        raise DataError(path, problem, remedy=remedy)
    return SourceLanguages(found)
