"""What an epoch is made of: every pair, as often as its corpus weighs, in every direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from translucid.data.shards import CorpusEntry, PreparedData, Split
from translucid.data.shuffle import scramble
from translucid.errors import DataError, InputError
from translucid.text.tokenizer import tag_id

MOST_EXAMPLES = 1 << 32  # in an epoch; their numbers are uint32

_PAIRS_AT_A_TIME = 1 << 18
_BINARY_PLACES = 32  # weights are numbers in fixed point, so that sums over epochs are exact
_ONE = 1 << _BINARY_PLACES
_NAMED_IN_A_MESSAGE = 5


@dataclass(frozen=True)
class Examples:
    """The examples of a split; an example is a sentence pair in one direction.

    `tags` holds, for each direction, the token that the source begins with, or None without tags.
    Source and target tokens are below `sizes`. `weights` says by corpus number how often a pair
    comes an epoch; None: each pair once.
    """

    split: Split
    directions: tuple[tuple[str, str], ...]
    tags: tuple[int | None, ...]
    sizes: tuple[int, int]
    corpora: tuple[CorpusEntry, ...]
    weights: tuple[float, ...] | None

    def lengths(
        self, direction: int, pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return source and target lengths, with the tag and EOS, and BOS or EOS, counted."""
        source, target = self.directions[direction]
        added = 1 if self.tags[direction] is None else 2
        return (
            self.split.lengths_of(source, pairs) + added,
            self.split.lengths_of(target, pairs) + 1,
        )

    def place(self, pair: int) -> str:
        """Say which file and line a pair came from."""
        corpus = int(_corpora(self, np.array([pair]))[0])
        return f"{', '.join(self.corpora[corpus].paths)}, line {self.split.origin(pair).line}"


def examples_of(data: PreparedData, split: str) -> Examples:
    """Return the examples of a split; weights count in ``train``, elsewhere a pair comes once."""
    manifest = data.manifest
    weights = tuple(corpus.weight for corpus in manifest.corpora)
    return Examples(
        split=data.split(split),
        directions=manifest.directions,
        tags=tuple(
            tag_id(manifest.languages[target]) if manifest.tagged else None
            for _, target in manifest.directions
        ),
        sizes=manifest.tokenizer.sizes,
        corpora=manifest.corpora,
        weights=weights if split == "train" and any(w != 1 for w in weights) else None,
    )


def blocks(split: Split, count: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers below `count` a block at a time, and give back pages read meanwhile."""
    for begin in range(0, count, _PAIRS_AT_A_TIME):
        yield np.arange(begin, min(begin + _PAIRS_AT_A_TIME, count))
        split.release()


def copies(examples: Examples, *, epoch: int, key: int) -> NDArray[np.uint32] | None:
    """Return the pair of every copy that an epoch holds, or None where each pair has one copy.

    A pair of weight w has floor(w) or floor(w) + 1 copies. Each pair has a phase of its own, which
    `key` and its number decide, so that after any number of epochs it has come within one of
    epochs × w times::

        weight 0.4, phase 0.3    0.3 → 0.7 → 1.1 → 1.5 → 1.9 → 2.3    a copy each time the sum
        copies in epoch               0     1     0     0     1       passes a whole number
    """
    if examples.weights is None:
        return None
    weights = [round(weight * _ONE) for weight in examples.weights]
    step = np.array(weights, np.uint64)
    before = np.array([weight * epoch % _ONE for weight in weights], np.uint64)
    found = [np.empty(0, np.uint32)]
    for pairs in blocks(examples.split, len(examples.split)):
        corpora = _corpora(examples, pairs)
        phases = scramble(pairs.astype(np.uint64), 64, key) >> np.uint64(64 - _BINARY_PLACES)
        start = phases + before[corpora]
        passed = (start + step[corpora]) // _ONE - start // _ONE
        found.append(np.repeat(pairs, passed.astype(np.int64)).astype(np.uint32))
    return np.concatenate(found)


def _corpora(examples: Examples, pairs: NDArray[np.int64]) -> NDArray[np.uint32]:
    corpora = examples.split.corpus_of(pairs)
    if corpora.max() >= len(examples.corpora):
        raise DataError(
            examples.split.folder / "origin",
            f"corpus number {corpora.max()}, but the manifest lists {len(examples.corpora)} "
            "corpora, counted from 0",
            remedy="The folder is damaged. Run `translucid prepare` again.",
        )
    return corpora


def longest(examples: Examples) -> int:
    """Return the greatest length, source or target, of all examples."""
    return max((int(lengths.max()) for _, lengths in _longer_sides(examples)), default=0)


def refuse_unusable(examples: Examples) -> None:
    """Raise InputError where an epoch would hold no example, or more than can be numbered."""
    folder, pairs = examples.split.folder, len(examples.split)
    if pairs == 0:
        raise InputError(f"{folder} holds no sentence pairs, so there is nothing to batch")
    expected = float(pairs * len(examples.directions))
    if examples.weights is not None:
        weights = np.array(examples.weights)
        sums = (weights[_corpora(examples, some)].sum() for some in blocks(examples.split, pairs))
        expected = float(sum(sums)) * len(examples.directions)
    if not 1 <= expected <= MOST_EXAMPLES:
        raise InputError(
            f"{folder}: {pairs:,} pairs with the weights {examples.weights} make {expected:,.3f} "
            f"examples an epoch; there must be from 1 to {MOST_EXAMPLES:,}. Change the weights "
            "(FILE@WEIGHT of `translucid prepare`)."
        )


def too_long(examples: Examples, max_tokens: int, needed: int) -> str:
    """Say how many pairs exceed a batch alone, and the lines of the first."""
    found = [pairs[lengths > max_tokens] for pairs, lengths in _longer_sides(examples)]
    pairs = np.unique(np.concatenate(found))
    places = [f"  {examples.place(int(pair))}" for pair in pairs[:_NAMED_IN_A_MESSAGE]]
    if len(pairs) > len(places):
        places.append(f"  and {len(pairs) - len(places):,} more")
    return (
        f"micro-batches of {max_tokens:,} tokens are too small for {len(pairs):,} of "
        f"{len(examples.split):,} pairs of {examples.split.folder}; the longest needs {needed:,}. "
        f"Raise micro_batch_tokens (and batch_tokens, if it is less) to {needed:,}, or prepare the "
        "data again with a lower limit of length (--max-tokens). The pairs:\n" + "\n".join(places)
    )


def _longer_sides(examples: Examples) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, block by block, pairs that take part and the longer side of each."""
    weights = None if examples.weights is None else np.array(examples.weights)
    for pairs in blocks(examples.split, len(examples.split)):
        used = pairs if weights is None else pairs[weights[_corpora(examples, pairs)] > 0]
        if used.size:
            for direction in range(len(examples.directions)):
                yield used, np.maximum(*examples.lengths(direction, used))
