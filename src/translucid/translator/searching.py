"""Searching for the translations of a batch of segments, by one network or an ensemble."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import torch

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.decoding.request import OnceOnly, SearchRequest
from translucid.decoding.search import search
from translucid.decoding.stepper import Ensemble, Stepper
from translucid.decoding.terminology import count_missing_tokens
from translucid.decoding.tree import Recorder
from translucid.errors import InputError
from translucid.text.placeholders import is_intact
from translucid.text.tokenizer import (
    BOS,
    EOS,
    FAMILY_SIZE,
    FIRST_PIECE,
    PLACEHOLDER_FAMILIES,
    PLACEHOLDERS,
    Tokenizer,
)
from translucid.translator.member import Member

Wrap: TypeAlias = Callable[[Stepper], Stepper]
Tell: TypeAlias = Callable[[int, list[Hypothesis]], None]

UNWANTED = math.log(0.01)  # a placeholder less probable than this is not the network's own choice
ALL_PLACEHOLDERS = range(FIRST_PIECE, FIRST_PIECE + len(PLACEHOLDERS))  # in a vocabulary with them
_SECOND_BEAM = 4  # at least, for the second search
_MOST_FORCED = 6  # placeholders for which a second search is worth its time


@dataclass(frozen=True)
class DecoderInput:
    """A segment to translate, and what its translation must begin with and contain.

    `source` is what the network reads: the tag of a language if it has tags, tokens, the end.
    """

    source: Tokens
    prefix: Tokens
    terms: tuple[Tokens, ...]


@dataclass(frozen=True)
class Searcher:
    """Searches for translations, by one network or by several together.

    `placeholders` are tokens that a translation has exactly once where its source has them. A
    network that would leave one out is forced to write it before it ends. Where that happens, a
    second search follows hypotheses with every number of placeholders in parallel, and so finds a
    better position if there is one.
    """

    members: tuple[Member, ...]
    settings: SearchConfig
    forbidden: Tokens
    placeholders: Tokens
    decode: Callable[[Tokens], str]

    @torch.inference_mode()
    def find(
        self,
        inputs: Sequence[DecoderInput],
        recorder: Recorder | None,
        wrap: Wrap | None = None,
        tell: Tell | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first.

        A recorder records the search trees; `wrap` puts something between search and network;
        `tell` is called with the hypotheses of an input as soon as they are certain (see
        `Job.tell`). With a recorder there is no second search.
        """

        def tell_unless_forced(number: int, hypotheses: list[Hypothesis]) -> None:
            wanted = self._wanted(inputs[number])
            if tell is not None and not forced_tokens(hypotheses[0], wanted):
                tell(number, hypotheses)

        job = replace(self.job(inputs), on_finished=tell_unless_forced)
        start = partial(self._start, inputs, wrap)
        found = search(start, job, self.settings, recorder)
        if recorder is None:
            for number, hypotheses in self._second(inputs, wrap, found).items():
                found[number] = hypotheses
                if tell is not None:
                    tell(number, hypotheses)
        return found

    def _second(
        self, inputs: Sequence[DecoderInput], wrap: Wrap | None, found: Sequence[list[Hypothesis]]
    ) -> dict[int, list[Hypothesis]]:
        """Search again where the network was made to write a placeholder; return what is best."""
        forced = {
            number: replace(item, terms=(*item.terms, *((token,) for token in tokens)))
            for number, item in enumerate(inputs)
            if (tokens := forced_tokens(found[number][0], self._wanted(item)))
        }
        again = [
            item
            for number, item in forced.items()
            if len(item.terms) - len(inputs[number].terms) <= _MOST_FORCED and self._has_room(item)
        ]
        if not again or self.settings.method not in ("greedy", "beam"):
            return {number: found[number] for number in forced}
        beam = max(self.settings.beam, _SECOND_BEAM)
        settings = self.settings.replace(method="beam", beam=beam)
        second = search(partial(self._start, again, wrap), self.job(again), settings, None)
        better = dict(zip(again, second, strict=True))
        return {
            number: self._better(item, found[number], better.get(item, []))
            for number, item in forced.items()
        }

    def _better(
        self, item: DecoderInput, first: list[Hypothesis], second: list[Hypothesis]
    ) -> list[Hypothesis]:
        """Return the hypotheses of the second search if its best is sound and more probable."""
        source = self.decode(item.source)
        sound = [one for one in second if is_intact(source, self.decode(one.tokens))]
        if not sound or sound[0].score <= first[0].score:
            return first
        known = {one.tokens for one in sound}
        others = [one for one in first if one.tokens not in known]
        ranked = sorted([*sound, *others], key=lambda one: (not one.finished, -one.score))
        return ranked[: self.settings.n_best]

    def _wanted(self, item: DecoderInput) -> Tokens:
        return tuple(token for token in self.placeholders if token in item.source)

    def without(self, tokens: Tokens) -> Searcher:
        """Return a searcher that writes none of these tokens either."""
        return replace(self, forbidden=(*self.forbidden, *tokens))

    def _start(self, inputs: Sequence[DecoderInput], wrap: Wrap | None, copies: int) -> Stepper:
        """Return the stepper of some inputs, with this many rows each."""
        sources = [item.source for item in inputs]
        attending = self.settings.coverage_penalty > 0
        steppers = [
            member.start(sources, copies=copies, attending=attending) for member in self.members
        ]
        stepper = steppers[0] if len(steppers) == 1 else Ensemble(steppers)
        return stepper if wrap is None else wrap(stepper)

    def job(self, inputs: Sequence[DecoderInput]) -> SearchRequest:
        """Return what is asked of the search."""
        limits = [self._limit(item) for item in inputs]
        wanted = tuple(map(self._wanted, inputs))
        return SearchRequest(
            limits_B=torch.tensor(limits, device=self.members[0].device),
            begin=BOS,
            end=EOS,
            prefixes=tuple(item.prefix for item in inputs),
            terms=tuple(item.terms for item in inputs),
            forbidden=self.forbidden if any(wanted) else (*self.forbidden, *self.placeholders),
            once=OnceOnly(self.placeholders, _PAIRS, wanted) if any(wanted) else None,
            keys=tuple(map(key, inputs)),
            decode=self.decode,
        )

    def check_room(self, text: int, item: DecoderInput) -> None:
        """Refuse a prefix or terms that do not fit; `text` is the number of the text, from 0."""
        if not self._has_room(item):
            terms = count_missing_tokens(item.terms, item.prefix)
            raise InputError(
                f"text {text + 1}: its prefix of {len(item.prefix)} tokens and its terms of "
                f"{terms} do not fit into a translation of at most {self._limit(item) - 1}: "
                "shorten them, or raise max_length"
            )

    def _has_room(self, item: DecoderInput) -> bool:
        terms = count_missing_tokens(item.terms, item.prefix)
        return len(item.prefix) + terms < self._limit(item)

    def _limit(self, item: DecoderInput) -> int:
        """Return the most tokens that the search may write, the end symbol counted."""
        longest = self.settings.max_length
        if longest is None:
            demanded = len(item.prefix) + sum(map(len, item.terms))
            longest = max(len(item.source) - 1, demanded) + self.settings.extra_length
        return min(longest + 1, *(member.positions for member in self.members))


def key(item: DecoderInput) -> int:
    """Return a number that depends on the input alone: samples are the same in any batch.

    The same sentence, sampled twice with one seed, has the same samples.
    """
    content = repr((item.source, item.prefix, item.terms)).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def forced_tokens(hypothesis: Hypothesis, wanted: Tokens) -> Tokens:
    """Return the placeholders that a translation lacks, or has where the network wanted none."""
    log_prob = dict(zip(hypothesis.tokens, hypothesis.log_probs, strict=False))
    return tuple(token for token in wanted if log_prob.get(token, -math.inf) < UNWANTED)


def placeholders_of(tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that stand for spans of text, if a vocabulary has any."""
    return tuple(ALL_PLACEHOLDERS) if tokenizer.has_placeholders else ()


def _first(family: str) -> int:
    return FIRST_PIECE + PLACEHOLDER_FAMILIES.index(family) * FAMILY_SIZE


_PAIRS = tuple((_first("open") + slot, _first("close") + slot) for slot in range(FAMILY_SIZE))


def never_written(tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that no translation has: symbols and ends of lines.

    A network can write any byte; a line break among them would shift every later line of a file.
    """
    breaks = (
        token
        for token in range(FIRST_PIECE, tokenizer.vocab_size)
        if not {"\n", "\r"}.isdisjoint(tokenizer.decode([token]))
    )
    return (*(token for token in range(FIRST_PIECE) if token != EOS), *breaks)
