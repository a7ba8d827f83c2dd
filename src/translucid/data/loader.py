"""Batches read ahead: while the network computes one step, a thread prepares the next ones.

What comes, and in which order, is decided in `batching` alone and does not depend on the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from translucid.data.augmentation import Sampling, sampled_rows
from translucid.data.batching import Batches, Cursor, MicroBatch, share_of_rank
from translucid.data.collate import Batch, collate, stored_rows
from translucid.data.prefetch import Prefetched
from translucid.errors import InputError


class LoadedStep(NamedTuple):
    """What one process computes in one optimiser step, and the place after the step.

    There is one batch for each of its micro-batches; with subword sampling, sometimes more.
    """

    batches: tuple[Batch, ...]
    after: Cursor


@dataclass(frozen=True)
class Loader:
    """Loads batches in a thread, up to `ahead` steps before they are needed.

    `pin` puts them into memory from which a GPU copies by itself.
    """

    batches: Batches
    sampling: Sampling | None
    ahead: int
    pin: bool

    def __post_init__(self) -> None:
        if self.ahead < 1:
            raise InputError(f"ahead = {self.ahead}: must be at least 1")

    def steps(
        self, cursor: Cursor, *, per_step: int, rank: int, world: int
    ) -> Prefetched[LoadedStep]:
        """Give the steps from a cursor on, without end, as process `rank` of `world` sees them.

        To be used in a ``with`` statement, which ends the thread.
        """
        return Prefetched(self._steps(cursor, per_step, rank, world), self.ahead)

    def epoch(self, number: int) -> Prefetched[Batch]:
        """Give the batches of one epoch, as validation wants them."""
        return Prefetched(self._epoch(number), self.ahead)

    def _steps(self, cursor: Cursor, per_step: int, rank: int, world: int) -> Iterator[LoadedStep]:
        for step in self.batches.steps(cursor, per_step):
            mine = share_of_rank(step.batches, rank=rank, world=world)
            yield LoadedStep(tuple(b for batch in mine for b in self._load(batch)), step.after)

    def _epoch(self, number: int) -> Iterator[Batch]:
        epoch = self.batches.epoch(number)
        for index in range(len(epoch)):
            yield from self._load(epoch.batch(index))

    def _load(self, batch: MicroBatch) -> Iterator[Batch]:
        """Yield the tensors of a micro-batch, in one piece or, with sampling, in several."""
        examples = self.batches.examples
        if self.sampling is None:
            pieces = iter([(batch, *stored_rows(batch, examples))])
        else:
            pieces = sampled_rows(batch, self.batches, self.sampling)
        for piece in pieces:
            tensors = collate(*piece, examples)
            yield tensors.pin() if self.pin else tensors
