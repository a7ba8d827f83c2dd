"""Reading back: of the best translations, the one from which the source can be told.

A network often likes a translation that leaves something out. One of the other direction does not:
it cannot tell the source from it. So it is asked how probable the source is, given each hypothesis
of a beam, and the hypotheses are put in a new order (Yee, Dauphin and Auli, "Simple and Effective
Noisy Channel Modeling for Neural Machine Translation", 2019)::

    source ── search ──▶ hypothesis 1 ─┐
                         hypothesis 2 ─┼─ log P(source | hypothesis) ─▶ new order
                         …            ─┘

    score = score of the search + weight · log P(source | hypothesis) / lp

The search's own score is log P(hypothesis | source) / lp, and coverage where it is asked for. Both
are divided by the length penalty of the search, each by that of its own length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from translucid.decoding.penalties import score_of
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis
from translucid.errors import InputError
from translucid.events import Emit, Notice, Progress
from translucid.text.normalization import nfc
from translucid.text.tokenizer import EOS
from translucid.translator.scoring import Pair, most_tokens

if TYPE_CHECKING:
    from translucid.translator.translator import Translator

WEIGHT = 0.2
HIGHEST = 10.0
_METHODS = ("beam", "diverse")  # that follow hypotheses side by side
_PARTS_AT_A_TIME = 256  # between two events


@dataclass(frozen=True)
class Found:
    """A part of a text in its language, and the hypotheses that were found for it."""

    source: str
    language: str
    hypotheses: tuple[Hypothesis, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class ReadingBack:
    """A translator of the other direction, and how much its word counts beside the search's."""

    reader: Translator
    weight: float = WEIGHT

    def __post_init__(self) -> None:
        if not 0 < self.weight <= HIGHEST:
            raise InputError(
                f"the weight of reading back is {self.weight}: give a number above 0, at most "
                f"{HIGHEST:g}; {WEIGHT} is usual"
            )

    def check(self, source: str, target: str, *, lowercase: bool) -> None:
        """Refuse a reader that does not translate the other way, or needs capitals to read."""
        if (target, source) not in self.reader.directions:
            known = ", ".join(f"{one}→{other}" for one, other in self.reader.directions)
            raise InputError(
                f"{self.reader.name} translates {known}: to read back what was translated from "
                f"{source} into {target}, it must translate {target}→{source}"
            )
        if lowercase and not self.reader.generation.lowercase:
            raise InputError(
                f"{self.reader.name} was trained on text with capitals, and is to read what is all "
                "in lower case: take a reader that was trained with --lowercase too"
            )

    def rescored(
        self, parts: Sequence[Found], settings: SearchConfig, batch_size: int, emit: Emit
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each part with their new scores.

        Where one is too long for the reader, those of its part keep the scores of the search.
        """
        unread = 0
        found: list[list[Hypothesis]] = []
        for begin in range(0, len(parts), _PARTS_AT_A_TIME):
            emit(Progress("read back", begin, len(parts), "sentences"))
            some = parts[begin : begin + _PARTS_AT_A_TIME]
            pairs = [self._pairs(part) for part in some]
            flat = [pair for each in pairs for pair in each]
            log_probs = iter(self.reader.log_probs(flat, batch_size))
            for part, each in zip(some, pairs, strict=True):
                unread += not each
                found.append(self._rescored(part, list(islice(log_probs, len(each))), settings))
        emit(Progress("read back", len(parts), len(parts), "sentences"))
        if unread:
            emit(Notice(f"{unread:,} of {len(parts):,} sentences were too long to be read back"))
        return found

    def _rescored(
        self, part: Found, log_probs: Sequence[list[float]], settings: SearchConfig
    ) -> list[Hypothesis]:
        """Return the hypotheses of one part, given log P of the source's tokens for each."""
        if not log_probs:
            return list(part.hypotheses)
        read = [score_of(math.fsum(one), len(one), settings) for one in log_probs]
        pairs = zip(part.hypotheses, read, strict=True)
        return [replace(one, score=one.score + self.weight * back) for one, back in pairs]

    def _pairs(self, part: Found) -> list[Pair]:
        """Return what is read: hypothesis and source of each; nothing where one is too long."""
        encode = self.reader.tokenizer.encode
        tag, source = self.reader.tag(part.language), tuple(self.reader.writer.encode(part.source))
        pairs = [Pair((*tag, *encode(nfc(text).strip()), EOS), source) for text in part.texts]
        longest = most_tokens(self.reader.members)
        return pairs if all(pair.length <= longest for pair in pairs) else []


def all_of_the_beam(settings: SearchConfig) -> SearchConfig:
    """Return a search that gives all hypotheses of the beam; refuse one that has only one."""
    if settings.method not in _METHODS or settings.beam < 2:
        method = f"beam of {settings.beam}" if settings.method in _METHODS else settings.method
        raise InputError(
            f"reading back chooses among the hypotheses of a beam, and the search is {method}: "
            f"search with {' or '.join(_METHODS)}, and a beam of 2 or more"
        )
    return settings.replace(n_best=settings.beam)
