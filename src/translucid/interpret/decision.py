"""One decision of a network: a step, and two tokens that compete there.

The margin of a decision is the difference of the two tokens' logits, and of their log P. Between
two translations, the decision is where they part, unless another step or other tokens are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from translucid.errors import InputError
from translucid.interpret.trace import SPACES, Trace
from translucid.translator import Translator


class Contrast(NamedTuple):
    """A step, and two tokens that compete there."""

    step: int
    first: int
    second: int


@dataclass(frozen=True)
class Decision:
    """The step where two translations part, and the tokens that they write there.

    `margins` are logit(first token) − logit(second token) in the first and in the second run.
    """

    step: int
    first: int
    second: int
    pieces: tuple[str, str]
    margins: tuple[float, float]

    @property
    def contrast(self) -> Contrast:
        """The step and the two tokens."""
        return Contrast(self.step, self.first, self.second)


def find_decision(first: Trace, second: Trace) -> Contrast:
    """Return the first step at which two translations part, and what each of them writes there."""
    written = [[step.token.id for step in trace.steps] for trace in (first, second)]
    for step, (one, other) in enumerate(zip(*written, strict=False)):
        if one != other:
            return Contrast(step, one, other)
    raise InputError(
        f"both translations are {first.translation!r}, so nothing is decided between them: give "
        "two sentences that are translated differently, or name a step and two tokens"
    )


def find_contrast(
    translator: Translator, first: Trace, second: Trace, words: tuple[str, str]
) -> Contrast:
    """Return the decision between two words: the first step that writes one of them.

    Each must be a single token of the vocabulary, and both translations the same up to there.
    """
    tokenizer = translator.target_tokenizer
    pieces = [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
    for step in range(_last_shared_step(first, second) + 1):
        for trace in (first, second):
            written = trace.steps[step].token.piece
            if _plain(written) not in words:
                continue
            spaced = written.startswith(SPACES)
            tokens = [
                next(
                    (
                        token
                        for token, piece in enumerate(pieces)
                        if _plain(piece) == word and piece.startswith(SPACES) == spaced
                    ),
                    None,
                )
                for word in words
            ]
            if tokens[0] is not None and tokens[1] is not None:
                return Contrast(step, tokens[0], tokens[1])
    raise InputError(
        f"nothing is decided between {words[0]!r} and {words[1]!r}: give two words that are single "
        f"tokens, one of which is in {first.translation!r} or {second.translation!r}, not after "
        "the place where these part"
    )


def check_contrast(
    translator: Translator, contrast: Contrast, first: Trace, second: Trace
) -> Contrast:
    """Return a decision that somebody chose; refuse one that the two runs do not share."""
    shared = _last_shared_step(first, second)
    if not 0 <= contrast.step <= shared:
        raise InputError(
            f"step = {contrast.step}: the two translations are the same up to step {shared} "
            f"(from 0), so the decision must be one of 0 to {shared}"
        )
    size = translator.target_tokenizer.vocab_size
    if contrast.first == contrast.second or not all(0 <= one < size for one in contrast[1:]):
        raise InputError(
            f"tokens = {contrast.first}, {contrast.second}: give two different token ids from 0 to "
            f"{size - 1}"
        )
    return contrast


def _last_shared_step(first: Trace, second: Trace) -> int:
    """Return the last step that both translations reach with the same tokens."""
    written = [[step.token.id for step in trace.steps] for trace in (first, second)]
    both = range(min(map(len, written)))
    return next((at for at in both if written[0][at] != written[1][at]), both[-1])


def _plain(piece: str) -> str:
    return piece.lstrip("".join(SPACES))
