"""From what a search found for each part to the translation of a whole text."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence

from translucid.decoding.stepper import Ending, Hypothesis
from translucid.text.tokenizer import UNK, Tokenizer
from translucid.translator.parts import Divided, Part, joint
from translucid.translator.searching import ALL_PLACEHOLDERS, forced_tokens
from translucid.translator.translation import Candidate, Flags

_SEVERITY: dict[Ending, int] = {"end": 0, "limit": 1, "loop": 2}


def best_combinations(
    found: Sequence[Sequence[Hypothesis]], n_best: int
) -> list[tuple[Hypothesis, ...]]:
    """Return the best ways to take one hypothesis of each part, best first.

    Ways with fewer hypotheses that went in circles come first, then those with the higher sum of
    scores, then those whose parts come earlier in their own lists. Adding parts one by one, no more
    than `n_best` ways need to be kept: a way that is not among the best of the parts so far cannot
    become so by what follows. A way is a chain, for a text may have thousands of parts.
    """
    ways: list[_Way] = [_Way(0, 0.0, None, None)]
    for hypotheses in found:
        longer = [
            _Way(way.looped + (not h.finished), way.score + h.score, h, way)
            for way in ways
            for h in hypotheses
        ]
        ways = heapq.nsmallest(n_best, longer, key=lambda way: (way.looped, -way.score))
    return [way.choices() for way in ways]


class _Way:
    """A hypothesis for each part so far, as a chain from the last to the first."""

    def __init__(
        self, looped: int, score: float, chosen: Hypothesis | None, before: _Way | None
    ) -> None:
        self.looped, self.score, self.chosen, self.before = looped, score, chosen, before

    def choices(self) -> tuple[Hypothesis, ...]:
        """Return the chosen hypotheses, from the first part to the last."""
        found: list[Hypothesis] = []
        way: _Way | None = self
        while way is not None and way.chosen is not None:
            found.append(way.chosen)
            way = way.before
        return tuple(reversed(found))


def candidate(divided: Divided, chosen: Sequence[Hypothesis], tokenizer: Tokenizer) -> Candidate:
    """Return the translation that takes these hypotheses, one a part."""
    texts = restored(divided, [hypothesis.tokens for hypothesis in chosen], tokenizer)
    log_probs = tuple(value for hypothesis in chosen for value in hypothesis.log_probs)
    endings = [hypothesis.ending for hypothesis in chosen]
    return Candidate(
        text=joined(divided, texts),
        tokens=tuple(tokenizer.piece(token) for h in chosen for token in h.tokens),
        log_probs=log_probs,
        log_prob=math.fsum(log_probs),
        score=math.fsum(hypothesis.score for hypothesis in chosen),
        ending=max(endings, key=_SEVERITY.__getitem__, default="end"),
    )


def restored(divided: Divided, tokens: Sequence[Sequence[int]], tokenizer: Tokenizer) -> list[str]:
    """Return the text that the tokens of each part stand for, with the spans of its source."""
    return [
        part.protected.restore(tokenizer.decode(each))
        for part, each in zip(divided.parts, tokens, strict=True)
    ]


def joined(divided: Divided, texts: Sequence[str]) -> str:
    """Return the translations of all parts with what stands between them."""
    return "".join([*between(divided.parts, texts), divided.after])


def between(parts: Iterable[Part], texts: Iterable[str]) -> list[str]:
    """Return in turn what stands before the translation of each part, and the translation."""
    pieces: list[str] = []
    last = ""  # the last text that is not empty
    for part, text in zip(parts, texts, strict=False):
        pieces += [joint(part, last, text), text]
        last = text or last
    return pieces


def flags(divided: Divided, chosen: Sequence[Hypothesis]) -> Flags:
    """Return what a reader of the translation should be warned of."""
    endings = {hypothesis.ending for hypothesis in chosen}
    return Flags(
        truncated="limit" in endings,
        unknown=any(UNK in part.tokens for part in divided.parts),
        looped="loop" in endings,
        split=divided.split,
        between_spans=divided.between_spans,
        forced_spans=any(map(_is_forced, divided.parts, chosen)),
    )


def _is_forced(part: Part, hypothesis: Hypothesis) -> bool:
    wanted = tuple(token for token in part.tokens if token in ALL_PLACEHOLDERS)
    return bool(part.protected.spans) and bool(forced_tokens(hypothesis, wanted))
