"""Which of the served languages a text is in.

The recogniser knows 97 languages by their byte n-grams; its model is loaded at the first question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from translucid.errors import optional


@dataclass(frozen=True)
class Detected:
    """A language, and how sure the recogniser is of it among those it chose from, 0 to 100."""

    confidence: float
    language: str


def detect(text: str, languages: Sequence[str]) -> list[Detected]:
    """Return the languages in the order of how well a text fits them; one that is unknown is last.

    The recogniser's scores add up over features that overlap; divided by √bytes they are near to
    log-odds.
    """
    rank = optional("py3langid", extra="serve", job="Detecting languages").rank
    scores = dict(rank(text))
    scale = math.sqrt(max(1, len(text.encode())))
    known = {code: scores[base] / scale for code in languages if (base := _base(code)) in scores}
    best = max(known.values(), default=0.0)
    weights = {code: math.exp(score - best) for code, score in known.items()}
    total = sum(weights.values())
    found = [Detected(round(100 * w / total, 1), code) for code, w in weights.items()]
    unknown = [Detected(0.0, code) for code in languages if code not in known]
    return sorted(found, key=lambda one: -one.confidence) + unknown


def _base(code: str) -> str:
    """Return the language of a code such as zh-Hans, as the recogniser writes it."""
    return code.replace("_", "-").partition("-")[0].lower()
