"""Search for the translations of segments, with one network or an ensemble, in batches and threads.

Batches hold items of similar length. Several are processed at once, one per processor thread:
within a step of decoding the matrices are small, and threads that share one of them mostly wait for
each other.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

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
from translucid.translator.request import DecoderInput

Wrap: TypeAlias = Callable[[Stepper], Stepper]
OnFinished: TypeAlias = Callable[[int, list[Hypothesis]], None]

UNWANTED = math.log(0.01)  # a placeholder less probable than this is not the network's own choice
ALL_PLACEHOLDERS = range(FIRST_PIECE, FIRST_PIECE + len(PLACEHOLDERS))  # in a vocabulary with them
_SECOND_BEAM = 4  # at least, for the second search
_MOST_FORCED = 6  # placeholders for which a second search is worth its time


@dataclass(frozen=True)
class Searcher:
    """Searches for translations with one network or an ensemble.

    `placeholders` are tokens that a translation has exactly once if its source has them. A network
    that would leave one out is forced to write it before it ends. Then a second search follows
    hypotheses with every number of placeholders in parallel, and so finds a better position if
    there is one.
    """

    members: tuple[Member, ...]
    settings: SearchConfig
    forbidden: Tokens
    placeholders: Tokens
    decode: Callable[[Tokens], str]

    @torch.inference_mode()
    def search(
        self,
        inputs: Sequence[DecoderInput],
        recorder: Recorder | None,
        wrap: Wrap | None = None,
        on_finished: OnFinished | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first.

        A recorder builds the search trees; `wrap` puts something between search and network;
        `on_finished` is called with the hypotheses of an input as soon as they are certain (see
        :class:`SearchRequest`). With a recorder there is no second search.
        """

        def report_unless_forced(number: int, hypotheses: list[Hypothesis]) -> None:
            required = self._required_placeholders(inputs[number])
            if on_finished is not None and not find_forced_tokens(hypotheses[0], required):
                on_finished(number, hypotheses)

        request = replace(self.build_request(inputs), on_finished=report_unless_forced)
        start = partial(self._start, inputs, wrap)
        found = search(start, request, self.settings, recorder)
        if recorder is None:
            for number, hypotheses in self._search_again(inputs, wrap, found).items():
                found[number] = hypotheses
                if on_finished is not None:
                    on_finished(number, hypotheses)
        return found

    def _search_again(
        self, inputs: Sequence[DecoderInput], wrap: Wrap | None, found: Sequence[list[Hypothesis]]
    ) -> dict[int, list[Hypothesis]]:
        """Search again for inputs with a forced placeholder; return the better hypotheses."""
        forced = {
            number: replace(item, terms=(*item.terms, *((token,) for token in tokens)))
            for number, item in enumerate(inputs)
            if (tokens := find_forced_tokens(found[number][0], self._required_placeholders(item)))
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
        second = search(
            partial(self._start, again, wrap), self.build_request(again), settings, None
        )
        better = dict(zip(again, second, strict=True))
        return {
            number: self._choose_better(item, found[number], better.get(item, []))
            for number, item in forced.items()
        }

    def _choose_better(
        self, item: DecoderInput, first: list[Hypothesis], second: list[Hypothesis]
    ) -> list[Hypothesis]:
        """Return the hypotheses of the second search if its best is intact and more probable."""
        source = self.decode(item.source)
        intact = [one for one in second if is_intact(source, self.decode(one.tokens))]
        if not intact or intact[0].score <= first[0].score:
            return first
        known = {one.tokens for one in intact}
        others = [one for one in first if one.tokens not in known]
        ranked = sorted([*intact, *others], key=lambda one: (not one.finished, -one.score))
        return ranked[: self.settings.n_best]

    def _required_placeholders(self, item: DecoderInput) -> Tokens:
        return tuple(token for token in self.placeholders if token in item.source)

    def forbid(self, tokens: Tokens) -> Searcher:
        """Return a searcher that never writes these tokens either."""
        return replace(self, forbidden=(*self.forbidden, *tokens))

    def _start(self, inputs: Sequence[DecoderInput], wrap: Wrap | None, copies: int) -> Stepper:
        """Return the stepper of some inputs, with `copies` rows each."""
        sources = [item.source for item in inputs]
        attending = self.settings.coverage_penalty > 0
        steppers = [
            member.start(sources, copies=copies, attending=attending) for member in self.members
        ]
        stepper = steppers[0] if len(steppers) == 1 else Ensemble(steppers)
        return stepper if wrap is None else wrap(stepper)

    def build_request(self, inputs: Sequence[DecoderInput]) -> SearchRequest:
        """Return the search request for a batch of inputs."""
        limits = [self._limit(item) for item in inputs]
        required = tuple(map(self._required_placeholders, inputs))
        return SearchRequest(
            limits_B=torch.tensor(limits, device=self.members[0].device),
            begin=BOS,
            end=EOS,
            prefixes=tuple(item.prefix for item in inputs),
            terms=tuple(item.terms for item in inputs),
            forbidden=self.forbidden if any(required) else (*self.forbidden, *self.placeholders),
            once=OnceOnly(self.placeholders, _PAIRS, required) if any(required) else None,
            keys=tuple(map(sampling_key, inputs)),
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
        """Return the most tokens that a translation may have, the end symbol counted."""
        longest = self.settings.max_length
        if longest is None:
            required = len(item.prefix) + sum(map(len, item.terms))
            longest = max(len(item.source) - 1, required) + self.settings.extra_length
        return min(longest + 1, *(member.positions for member in self.members))


def sampling_key(item: DecoderInput) -> int:
    """Return a number that depends on the input alone: samples are the same in any batch."""
    content = repr((item.source, item.prefix, item.terms)).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def find_forced_tokens(hypothesis: Hypothesis, required: Tokens) -> Tokens:
    """Return the placeholders that a translation lacks, or that the network found improbable."""
    log_prob = dict(zip(hypothesis.tokens, hypothesis.log_probs, strict=False))
    return tuple(token for token in required if log_prob.get(token, -math.inf) < UNWANTED)


def placeholder_tokens(tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that stand for protected spans, if the vocabulary has them."""
    return tuple(ALL_PLACEHOLDERS) if tokenizer.has_placeholders else ()


def _first_of_family(family: str) -> int:
    return FIRST_PIECE + PLACEHOLDER_FAMILIES.index(family) * FAMILY_SIZE


_PAIRS = tuple(
    (_first_of_family("open") + slot, _first_of_family("close") + slot)
    for slot in range(FAMILY_SIZE)
)


def find_unwritable_tokens(tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that no translation may have: symbols and line breaks.

    A line break would shift every later line of a file.
    """
    breaks = (
        token
        for token in range(FIRST_PIECE, tokenizer.vocab_size)
        if not {"\n", "\r"}.isdisjoint(tokenizer.decode([token]))
    )
    return (*(token for token in range(FIRST_PIECE) if token != EOS), *breaks)


_TOKENS_PER_SLOT = 256  # longer items take several slots of a batch


def build_batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield numbers of items, `size` at a time, so that items of similar length are together.

    The longest come first, so that a lack of memory shows at once. Items of more than 256 tokens
    count as several.

    >>> list(build_batches([3, 9, 4, 8], size=2))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda item: (-lengths[item], item))
    begin = 0
    while begin < len(order):
        slots = -(-lengths[order[begin]] // _TOKENS_PER_SLOT)
        end = begin + max(1, size // max(1, slots))
        yield order[begin:end]
        begin = end


def map_in_batches(
    lengths: Sequence[int],
    size: int,
    work: Callable[[list[int]], Sequence[Result]],
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Apply `work` to batches of similar length, in threads; return the results in order.

    `progress` is called with the number of items done.
    """
    results: dict[int, Result] = {}
    each = list(build_batches(lengths, size))
    for numbers, found in zip(each, map_in_threads(work, each), strict=True):
        results.update(zip(numbers, found, strict=True))
        if progress is not None:
            progress(len(results))
    return [results[item] for item in range(len(lengths))]


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Apply `work` to each item in as many threads as PyTorch may use; yield the results in order.

    A single item has all threads to itself.
    """
    threads = min(torch.get_num_threads(), len(items))
    if threads < 2:
        yield from map(work, items)
        return
    allowed = torch.get_num_threads()
    try:
        # Each worker limits PyTorch to one thread for itself; this thread's limit does not change.
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(work, items)
    finally:
        torch.set_num_threads(allowed)  # for threads that are started later
