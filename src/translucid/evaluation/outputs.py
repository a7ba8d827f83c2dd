"""The translations of a reference set: from a model, or from a file that somebody gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from translucid.evaluation.reference_set import ReferenceSet
from translucid.events import Emit, Notice, Progress
from translucid.text.normalization import join_lines
from translucid.translator import Translation, Translator
from translucid.translator.translation import Flags

_PAIRS_AT_A_TIME = 2048  # between two events while references are scored


@dataclass(frozen=True)
class Likelihood:
    """How probable a model finds the references.

    `perplexity` is that of a token of the model's vocabulary, the end symbol counted; models with
    different vocabularies can be compared by `bits_per_character` only. Pairs with a blank side
    are left out, and those too long to be scored at once.
    """

    log_prob: float
    tokens: int
    characters: int
    pairs: int

    @property
    def perplexity(self) -> float:
        """The exponential of the mean loss a token."""
        return math.exp(min(-self.log_prob / self.tokens, 700.0))  # beyond it a float overflows

    @property
    def bits_per_character(self) -> float:
        """The loss in bits over the characters of the references, a line's end counted as one."""
        return -self.log_prob / math.log(2) / self.characters


@dataclass(frozen=True)
class Outputs:
    """Translations in the order of the sources, and what is known of each.

    `confidences` are `calibrated` where the model can tell how probable it is that a translation is
    acceptable; else they are the geometric mean of the probabilities of its tokens.
    """

    texts: tuple[str, ...]
    confidences: tuple[float | None, ...]
    flags: tuple[Flags, ...]
    likelihood: Likelihood | None
    calibrated: bool = False


def given_outputs(texts: Sequence[str]) -> Outputs:
    """Take translations of which nothing but the text is known."""
    return Outputs(tuple(texts), (None,) * len(texts), (Flags(),) * len(texts), likelihood=None)


def model_outputs(translations: Sequence[Translation], likelihood: Likelihood | None) -> Outputs:
    """Take what a model made of the sources."""
    calibrated = any(translation.confidence is not None for translation in translations)
    return Outputs(
        texts=tuple(join_lines(translation.text) for translation in translations),
        confidences=tuple(
            translation.confidence if calibrated else _mean_probability(translation)
            for translation in translations
        ),
        flags=tuple(translation.flags for translation in translations),
        likelihood=likelihood,
        calibrated=calibrated,
    )


def _mean_probability(translation: Translation) -> float | None:
    log_probs = translation.log_probs
    return math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else None


def reference_likelihood(
    translator: Translator, given: ReferenceSet, target: str | None, batch_size: int, emit: Emit
) -> Likelihood | None:
    """Measure the probability of the first references, or None where no pair can be scored."""
    pairs = _scorable_pairs(translator, given, target, emit)
    log_probs: list[float] = []
    tokens = 0
    for begin in range(0, len(pairs), _PAIRS_AT_A_TIME):
        emit(Progress("scoring references", begin, len(pairs), "pairs"))
        sources, targets = zip(*pairs[begin : begin + _PAIRS_AT_A_TIME], strict=True)
        scored = translator.score(sources, targets, target=target, batch_size=batch_size)
        log_probs += [one.log_prob for one in scored]
        tokens += sum(len(one.log_probs) for one in scored)
    emit(Progress("scoring references", len(pairs), len(pairs), "pairs"))
    if not pairs:
        return None
    characters = sum(len(reference) + 1 for _, reference in pairs)
    return Likelihood(math.fsum(log_probs), tokens, characters, len(pairs))


def _scorable_pairs(
    translator: Translator, given: ReferenceSet, target: str | None, emit: Emit
) -> list[tuple[str, str]]:
    """Return the pairs without a blank side; tell of those that are too long, and leave them out.

    Their translations were made in parts, which references are not in.
    """
    pairs = [
        (source, reference)
        for source, reference in zip(given.sources, given.references[0], strict=True)
        if source.strip() and reference.strip()
    ]
    short = [pair for pair in pairs if translator.can_score(*pair, target=target)]
    if too_long := len(pairs) - len(short):
        plural = "" if too_long == 1 else "s"
        emit(
            Notice(f"perplexity leaves out {too_long:,} pair{plural} too long to be scored at once")
        )
    return short
