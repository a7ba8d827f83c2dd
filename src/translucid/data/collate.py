"""From token rows to the tensors of one batch: right padding, shift right, labels; only here.

::

    source_BS          ┌ tag, where the data has tags
        12  7  431  55  3  0  0        [tag] tokens EOS, then PAD
        98  3   0    0  0  0  0
         5  9   60  61 62 63  3

    target_BT                          labels_BT
         2  17   8  0                      17   8   3   0      the label at a position is the token
         2  40   0  0                      40   3   0   0      that comes next: the target, shifted
         2  21  22 23                      21  22  23   3      right by BOS, predicts the labels

Every row has at least one token that is not padding (EOS on the source side, BOS on the target
side), and padding is only at its end: attention relies on both, so both are checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translucid.data.batches import Examples, MicroBatch
from translucid.errors import InputError
from translucid.text.tokenizer import BOS, EOS, PAD


class Rows(NamedTuple):
    """Token rows of different lengths, concatenated, without special tokens; and their lengths."""

    tokens: NDArray[np.integer]
    lengths: NDArray[np.int64]

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Rows:
        """Return the rows of a list of lists."""
        tokens = np.fromiter(itertools.chain.from_iterable(rows), np.int64)
        return cls(tokens, np.fromiter(map(len, rows), np.int64, len(rows)))


@dataclass(frozen=True, eq=False)
class Batch:
    """What the network reads and what it must predict: B rows, S source and T target positions.

    `tokens` counts the labels that are not padding; a summed loss is divided by it. Row r is pair
    ``examples[r]`` in direction ``directions[r]``, so that it can be traced to its line.
    """

    source_BS: Tensor
    target_BT: Tensor
    labels_BT: Tensor
    tokens: int
    examples: NDArray[np.int64]
    directions: NDArray[np.int64]

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch with its tensors on a device; from pinned memory without waiting."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def pin(self) -> Batch:
        """Return the batch in pinned memory if there is a GPU, otherwise as it is."""
        return self._each(Tensor.pin_memory) if torch.cuda.is_available() else self

    def _each(self, move: Callable[[Tensor], Tensor]) -> Batch:
        return replace(
            self,
            source_BS=move(self.source_BS),
            target_BT=move(self.target_BT),
            labels_BT=move(self.labels_BT),
        )


def load_rows(batch: MicroBatch, examples: Examples) -> tuple[Rows, Rows]:
    """Return the stored source and target tokens of a micro-batch."""
    sources, targets = [], []
    for number, (source, target) in enumerate(examples.directions):
        pairs = batch.pairs[batch.directions == number]  # which are sorted by direction
        sources.append(Rows(*examples.split.rows(source, pairs)))
        targets.append(Rows(*examples.split.rows(target, pairs)))
    return _concatenate(sources), _concatenate(targets)


def _concatenate(parts: Sequence[Rows]) -> Rows:
    tokens, lengths = zip(*parts, strict=True)
    return Rows(np.concatenate(tokens), np.concatenate(lengths))


def collate(batch: MicroBatch, sources: Rows, targets: Rows, examples: Examples) -> Batch:
    """Return the tensors of a micro-batch from the tokens of its rows."""
    for rows, size in zip((sources, targets), examples.sizes, strict=True):
        _check(rows, size, batch, examples)
    tags = [examples.tags[direction] for direction in batch.directions.tolist()]
    starts = None if None in tags else np.array(tags)
    begins = np.full(len(tags), BOS)
    return Batch(
        source_BS=_pad(sources, begin=starts, end=EOS),
        target_BT=_pad(targets, begin=begins, end=None),
        labels_BT=_pad(targets, begin=None, end=EOS),
        tokens=int(targets.lengths.sum()) + len(tags),
        examples=batch.pairs,
        directions=batch.directions,
    )


def _pad(rows: Rows, *, begin: NDArray[np.int64] | None, end: int | None) -> Tensor:
    """Return rows as a matrix, with a token before or after each, filled up with PAD."""
    first = 0 if begin is None else 1
    width = int(rows.lengths.max()) + first + (end is not None)
    block = np.full((len(rows.lengths), width), PAD, np.int64)
    places, ends = np.arange(width), (rows.lengths + first)[:, None]
    block[(places >= first) & (places < ends)] = rows.tokens
    if begin is not None:
        block[:, 0] = begin
    if end is not None:
        np.put_along_axis(block, ends, end, axis=1)
    return torch.from_numpy(block)


def _check(rows: Rows, size: int, batch: MicroBatch, examples: Examples) -> None:
    """Refuse a batch without rows, and tokens that are padding or outside the vocabulary."""
    if len(rows.lengths) == 0 or len(rows.lengths) != len(batch.pairs):
        raise InputError(
            f"a batch of {len(batch.pairs)} examples cannot be made of {len(rows.lengths)} rows; "
            "there must be as many rows as examples, and at least one"
        )
    wrong = np.flatnonzero((rows.tokens <= PAD) | (rows.tokens >= size))
    if wrong.size:
        row = int(np.searchsorted(np.cumsum(rows.lengths), wrong[0], side="right"))
        raise InputError(
            f"token {rows.tokens[wrong[0]]} cannot be in a sentence, where tokens go from "
            f"{PAD + 1} to {size - 1} ({examples.describe_origin(int(batch.pairs[row]))}): the "
            "shards are damaged or belong to another tokenizer. Run `translucid prepare` again."
        )
