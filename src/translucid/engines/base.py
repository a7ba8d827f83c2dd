"""What computes translations: the contract of an engine, and its input and output.

::

    text ─ translator ─▶ DecoderInput ─ Engine.search ─▶ Hypothesis ─ translator ─▶ text

    search    the best hypotheses of each input
    score     log P of given translations, token by token
    align     how much each token of a translation attends to each token of the source

`find_obstacle` says what an engine cannot do, so that another one is asked (`engines/__init__.py`).
Texts, sentences, placeholders and files are none of its business.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy.typing as npt

from translucid.config import ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.errors import needs_pytorch
from translucid.text.tokenizer import FAMILY_SIZE, FIRST_PIECE, PLACEHOLDER_FAMILIES, PLACEHOLDERS

Array: TypeAlias = npt.NDArray[Any]
OnFinished: TypeAlias = Callable[[int, list[Hypothesis]], None]
"""Called with the number of an input and its hypotheses, as soon as they are certain."""

ALL_PLACEHOLDERS = range(FIRST_PIECE, FIRST_PIECE + len(PLACEHOLDERS))  # in a vocabulary with them
UNWANTED = math.log(0.01)  # a placeholder less probable than this is not the network's own choice


@dataclass(frozen=True)
class DecoderInput:
    """A segment to translate, and what its translation must begin with and contain.

    `source` is what the network reads: the tag of a language if it has tags, tokens, end symbol.
    """

    source: Tokens
    prefix: Tokens
    terms: tuple[Tokens, ...]


@dataclass(frozen=True)
class Pair:
    """A source as the network reads it, and a target without start and end symbol."""

    source: Tokens
    target: Tokens

    @property
    def length(self) -> int:
        """Tokens of the longer side, symbols counted."""
        return max(len(self.source), len(self.target) + 1)


@dataclass(frozen=True)
class SearchOptions:
    """How to search, and which tokens no translation may have.

    Those are `unwritable` for every request, such as symbols and line breaks, or `forbidden` in
    this one. A translation has each of the `placeholders` exactly once if its source has it, else
    never. `decode` returns the text of tokens, for what is decided by text. With `token_scores`,
    log P of every token of the hypotheses is wanted, not only that of the whole.
    """

    settings: SearchConfig
    unwritable: Tokens
    forbidden: Tokens
    placeholders: Tokens
    decode: Callable[[Tokens], str]
    token_scores: bool = True

    def limit(self, item: DecoderInput, positions: int) -> int:
        """Return the most tokens that a translation may have, the end symbol counted."""
        longest = self.settings.max_length
        if longest is None:
            required = len(item.prefix) + sum(map(len, item.terms))
            longest = max(len(item.source) - 1, required) + self.settings.extra_length
        return min(longest + 1, positions)

    def has_room(self, item: DecoderInput, positions: int) -> bool:
        """Tell whether prefix and terms fit into a translation."""
        return self.count_required_tokens(item) < self.limit(item, positions)

    def count_required_tokens(self, item: DecoderInput) -> int:
        """Return the number of tokens in the prefix and in terms that it does not have yet."""
        if not item.terms:
            return len(item.prefix)
        with needs_pytorch("Searching with terms"):
            from translucid.decoding.terminology import count_missing_tokens

        return len(item.prefix) + count_missing_tokens(item.terms, item.prefix)

    def required_placeholders(self, item: DecoderInput) -> Tokens:
        """Return the placeholders of a source, which its translation must have."""
        return tuple(token for token in self.placeholders if token in item.source)


@dataclass(frozen=True)
class Snapshot:
    """Tokens that will not change, and the best hypothesis, which begins with them.

    `beams` are the hypotheses under way with their scores, best first, if they compete.
    """

    stable: Tokens
    best: Tokens
    beams: tuple[tuple[Tokens, float], ...] = ()


class Engine(ABC):
    """Computes with the networks of one model, or of an ensemble."""

    name: ClassVar[str]

    @abstractmethod
    def find_obstacle(self, options: SearchOptions, item: DecoderInput) -> str | None:
        """Return why the engine cannot do this search; None if it can."""

    @abstractmethod
    def search(
        self,
        inputs: Sequence[DecoderInput],
        options: SearchOptions,
        on_finished: OnFinished | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first."""

    @abstractmethod
    def score(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Return log P of every token of each target, and last that of its end."""

    @abstractmethod
    def align(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[Array]:
        """Return for each source and target how much each token attends to the source, (T, S).

        A source is as the network reads it, with tag and end symbol; a target has neither start nor
        end symbol.
        """


def count_positions(config: ModelConfig) -> int:
    """Return the most tokens that a network can read or write at once."""
    return config.max_positions if config.positions == "learned" else sys.maxsize


def find_forced_tokens(hypothesis: Hypothesis, required: Tokens) -> Tokens:
    """Return the placeholders that a translation lacks, or that the network found improbable."""
    if hypothesis.log_probs is None:
        return tuple(token for token in required if token not in hypothesis.tokens)
    log_prob = dict(zip(hypothesis.tokens, hypothesis.log_probs, strict=False))
    return tuple(token for token in required if log_prob.get(token, -math.inf) < UNWANTED)


def _first_of_family(family: str) -> int:
    return FIRST_PIECE + PLACEHOLDER_FAMILIES.index(family) * FAMILY_SIZE


PLACEHOLDER_PAIRS = tuple(
    (_first_of_family("open") + slot, _first_of_family("close") + slot)
    for slot in range(FAMILY_SIZE)
)
