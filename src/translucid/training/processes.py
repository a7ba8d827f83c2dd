"""The processes that torchrun has started: how they meet, and what they tell each other.

What they tell (sums, texts) goes over gloo from the CPU; gradients and weights go over NCCL where
they are on a GPU. A process whose others are gone says so in plain words.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from translucid.errors import TranslucidError
from translucid.training.place import Place

# The others wait so long while the main process validates and writes. A process that dies is
# noticed at once, by its closed connection or by torchrun.
_PATIENCE = timedelta(hours=2)
_MEETING = timedelta(minutes=10)  # within which all processes must have started


class LostProcessError(TranslucidError):
    """Another process of the run has ended, so that this one cannot go on."""


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Surround what needs all processes; say so in plain words where one is gone."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        reason = str(error).splitlines()[0].partition(". This is typically")[0]
        raise LostProcessError(
            "another process of this run has ended, or cannot be reached, so this one ends too. "
            "What the other one said tells why. Run the same command with --resume to go on from "
            f"the last checkpoint.\n  {reason}"
        ) from error


@contextlib.contextmanager
def group_of(place: Place, device: torch.device) -> Iterator[None]:
    """Meet the other processes, and part from them at the end."""
    with together():
        store, _, _ = next(rendezvous("env://", timeout=_MEETING))
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=_fresh(store, place),
            rank=place.rank,
            world_size=place.world,
            timeout=_PATIENCE,
        )
    try:
        yield
    finally:
        dist.destroy_process_group()


def _fresh(store: Store, place: Place) -> Store:
    """Agree on a part of the store to which no earlier life of these processes has written.

    torchrun keeps one store over all restarts, in which processes find each other's addresses: that
    of a dead one would be taken for that of its successor. So each process asks the main one under
    a new name, and only the living answer::

        process r    hello/r = question                 ◀ reply/question = part    heard/part/r ▶
        main one                  reply/question = part ▶                          ◀ all heard
    """
    name = uuid.uuid4().hex
    if not place.is_main:
        store.set(f"hello/{place.rank}", name)
        part = store.get(f"reply/{name}").decode()
        store.set(f"heard/{part}/{place.rank}", "")
        return PrefixStore(part, store)
    waiting, end = set(range(1, place.world)), time.monotonic() + _MEETING.total_seconds()
    while waiting:
        if time.monotonic() > end:
            raise dist.DistStoreError(f"processes {sorted(waiting)} have not come")
        for rank in sorted(waiting):
            if store.check([f"heard/{name}/{rank}"]):
                waiting.discard(rank)
            elif store.check([f"hello/{rank}"]):  # the question of a dead one is answered in vain
                store.set(f"reply/{store.get(f'hello/{rank}').decode()}", name)
        time.sleep(0.01)
    return PrefixStore(name, store)


class Processes:
    """One of several processes: what they tell each other, whatever they do with the weights."""

    def __init__(self, rank: int, world: int, device: torch.device) -> None:
        self.rank = rank
        self.world = world
        self.is_main = rank == 0
        self.device = device

    def close(self) -> None:
        """Let go of the other processes; what was wrapped cannot be trained any more."""

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of this tensor over all processes."""
        total = values.clone()
        with together():
            dist.all_reduce(total)
        return total

    def share(self, text: str) -> str:
        """Return the text that the main process gives here."""
        letters = _letters(text)
        size = torch.tensor([len(letters)])
        with together():
            dist.broadcast(size, src=0)
            if not self.is_main:
                letters = letters.new_empty(int(size))
            dist.broadcast(letters, src=0)
        return _text(letters)

    def gather(self, text: str) -> list[str]:
        """Return the texts that all processes give here, by rank."""
        letters = _letters(text)
        sizes = torch.zeros(self.world, dtype=torch.int64)
        sizes[self.rank] = len(letters)
        sizes = self.sum(sizes)
        padded = letters.new_zeros(int(sizes.max()))
        padded[: len(letters)] = letters
        found = [torch.empty_like(padded) for _ in range(self.world)]
        with together():
            dist.all_gather(found, padded)
        return [_text(each[:size]) for each, size in zip(found, sizes.tolist(), strict=True)]

    def barrier(self) -> None:
        """Wait until all processes have come here."""
        self.sum(torch.zeros(1))


def _letters(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def _text(letters: Tensor) -> str:
    return letters.numpy().tobytes().decode()
