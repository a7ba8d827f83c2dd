"""Training by several processes at once: what the trainer asks of them, and who answers.

The processes of a run are numbered by rank; rank 0, the *main* one, alone reads and writes the run
folder. All of them walk through the same steps, so every method that speaks of all processes must
be called by each of them, in the same order.

::

    SingleProcess    one process, as without torchrun
    Replicated       every process has all weights; gradients are summed (DDP)
    Sharded          every process has a part of weights, gradients and optimiser (FSDP2)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch import Tensor, nn

from translucid.model import Transformer
from translucid.training.loss import Objective
from translucid.training.place import Place

if TYPE_CHECKING:
    from translucid.training.sharded import Sharded


class Distribution(Protocol):
    """The processes that train together, seen from one of them."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def world(self) -> int:
        """How many processes there are."""

    @property
    def is_main(self) -> bool:
        """Whether this process reads and writes the run folder."""

    def wrap(self, objective: Objective) -> nn.Module:
        """Return the objective as a module to be called in its place.

        After the last backward pass of a step, each parameter's gradient is the *sum* of what all
        processes have computed. Wrapping may replace the parameters, never their names.
        """

    def accumulating(self, module: nn.Module, last: bool) -> AbstractContextManager[object]:
        """Surround the forward and backward pass of a micro-batch; `last` of its step or not."""

    def rounds(self, count: int) -> int:
        """Return how many micro-batches this process computes in a step, of which `count` are real.

        More than `count` where the others need company: the trainer fills up.
        """

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of this tensor, which is on the CPU, over all processes."""

    def share(self, text: str) -> str:
        """Return the text that the main process gives here."""

    def gather(self, text: str) -> list[str]:
        """Return the texts that all processes give here, by rank."""

    def barrier(self) -> None:
        """Wait until all processes have come here."""

    def whole(self, model: Transformer) -> AbstractContextManager[Transformer]:
        """Give a network with all its weights here, whose forward pass needs no other process.

        Only the main process may use it.
        """

    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return whole tensors, by name, for the main process to write; elsewhere maybe nothing."""

    def put(self, target: Tensor, value: Tensor | None) -> None:
        """Give `target` the whole tensor that the main process holds; the others pass None."""


class SingleProcess:
    """The one process of a run that is not distributed."""

    rank = 0
    world = 1
    is_main = True

    def wrap(self, objective: Objective) -> nn.Module:
        """Return the objective itself."""
        return objective

    def accumulating(self, module: nn.Module, last: bool) -> AbstractContextManager[object]:
        """Do nothing: gradients add up by themselves."""
        del module, last
        return contextlib.nullcontext()

    def rounds(self, count: int) -> int:
        """Return the real number: nobody waits."""
        return count

    def sum(self, values: Tensor) -> Tensor:
        """Return the tensor itself."""
        return values

    def share(self, text: str) -> str:
        """Return the text itself."""
        return text

    def gather(self, text: str) -> list[str]:
        """Return the text itself, alone."""
        return [text]

    def barrier(self) -> None:
        """Return at once."""

    def whole(self, model: Transformer) -> AbstractContextManager[Transformer]:
        """Give the network itself."""
        return contextlib.nullcontext(model)

    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors themselves."""
        return {name: tensor.detach() for name, tensor in tensors.items()}

    @torch.no_grad()
    def put(self, target: Tensor, value: Tensor | None) -> None:
        """Copy the value."""
        assert value is not None
        target.copy_(value)


@contextlib.contextmanager
def joined(
    place: Place, device: torch.device, sharding: Literal["none", "full"]
) -> Iterator[Distribution]:
    """Meet the other processes of this run, if there are any, and part from them at the end.

    The main process's word on `sharding` counts for all.
    """
    if place.world == 1:
        yield SingleProcess()
        return
    # Only here, because they take a second to import.
    from translucid.training.processes import Processes, group_of
    from translucid.training.replicated import Replicated

    with group_of(place, device):
        common = Processes(place.rank, place.world, device)
        processes: Replicated | Sharded = Replicated(place.rank, place.world, device)
        if common.share(sharding) == "full":
            from translucid.training.sharded import Sharded

            processes = Sharded(place.rank, place.world, device)
        with contextlib.closing(processes):
            yield processes
