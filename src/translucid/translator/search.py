"""Search for the translations of segments, in batches and threads.

Batches hold items of similar length. Several are processed at once, one per processor thread:
within a step of decoding the matrices are small, and threads that share one of them mostly wait for
each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.engines import Engines
from translucid.engines.base import (
    ALL_PLACEHOLDERS,
    DecoderInput,
    OnFinished,
    SearchOptions,
    Snapshot,
)
from translucid.errors import InputError
from translucid.machine import limit_own_threads, set_thread_count, thread_count
from translucid.text.tokenizer import EOS, FIRST_PIECE, Tokenizer

if TYPE_CHECKING:
    from translucid.engines.pytorch import Wrap


@dataclass(frozen=True)
class Searcher:
    """Searches for translations with the engines of a model, always with the same options."""

    engines: Engines
    options: SearchOptions

    @property
    def settings(self) -> SearchConfig:
        """How to search."""
        return self.options.settings

    def search(
        self,
        inputs: Sequence[DecoderInput],
        on_finished: OnFinished | None = None,
        wrap: Wrap | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first; see `Engines.search`."""
        return self.engines.search(inputs, self.options, on_finished, wrap)

    def stream(
        self, item: DecoderInput, report: Callable[[Snapshot], None]
    ) -> list[list[Hypothesis]]:
        """Search for one input, and report what there is of it while it grows."""
        return self.engines.stream(item, self.options, report)

    def limit(self, item: DecoderInput) -> int:
        """Return the most tokens that a translation may have, the end symbol counted."""
        return self.options.limit(item, self.engines.positions)

    def forbid(self, tokens: Tokens) -> Searcher:
        """Return a searcher that never writes these tokens either."""
        never = (*self.options.forbidden, *tokens)
        return replace(self, options=replace(self.options, forbidden=never))

    def with_settings(self, settings: SearchConfig) -> Searcher:
        """Return a searcher with other settings."""
        return replace(self, options=replace(self.options, settings=settings))

    def check_room(self, text: int, item: DecoderInput) -> None:
        """Refuse a prefix or terms that do not fit; `text` is the number of the text, from 0."""
        positions = self.engines.positions
        if not self.options.has_room(item, positions):
            terms = self.options.count_required_tokens(item) - len(item.prefix)
            most = self.options.limit(item, positions) - 1
            raise InputError(
                f"text {text + 1}: its prefix of {len(item.prefix)} tokens and its terms of "
                f"{terms} do not fit into a translation of at most {most}: "
                "shorten them, or raise max_length"
            )


def placeholder_tokens(tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that stand for protected spans, if the vocabulary has them."""
    return tuple(ALL_PLACEHOLDERS) if tokenizer.has_placeholders else ()


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
    """Apply `work` to each item in as many threads as may be used; yield the results in order.

    A single item has all threads to itself.
    """
    threads = min(thread_count(), len(items))
    if threads < 2:
        yield from map(work, items)
        return
    allowed = thread_count()
    try:
        # Each worker limits PyTorch to one thread for itself; this thread's limit does not change.
        with ThreadPoolExecutor(threads, initializer=limit_own_threads) as pool:
            yield from pool.map(work, items)
    finally:
        set_thread_count(allowed)  # for threads that are started later
