"""Training by several processes at once: which process this is, and what it asks of the others.

The processes of a run are numbered by rank; rank 0, the *main* one, alone reads and writes the run
directory. All of them walk through the same steps, so every method that concerns all processes must
be called by each of them, in the same order.

::

    SingleProcess    one process, as without torchrun
    Replicated       every process has all weights; gradients are summed (DDP)
    Sharded          every process has a part of weights, gradients and optimiser (FSDP2)

The last two are in `process_group`. torchrun tells each process its place in the environment::

    machine 0, 2 processes           machine 1, 2 processes
    RANK 0         RANK 1            RANK 2         RANK 3           WORLD_SIZE 4
    LOCAL_RANK 0   LOCAL_RANK 1      LOCAL_RANK 0   LOCAL_RANK 1     LOCAL_WORLD_SIZE 2
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from translucid.model import Transformer
from translucid.training.loss import Objective

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_RESTARTS = "TORCHELASTIC_RESTART_COUNT"
_THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class DistributedContext:
    """The place of a process in its run (`rank` of `world`) and on its machine.

    `restarted`: torchrun has started it again, after one of the processes had failed.
    """

    rank: int
    world: int
    local_rank: int
    local_world: int
    restarted: bool

    @property
    def is_main(self) -> bool:
        """Whether this process reads and writes the run directory."""
        return self.rank == 0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> DistributedContext:
        """Return what torchrun says; without torchrun, the only process there is."""
        if any(name not in environment for name in _VARIABLES):
            return SINGLE_PROCESS
        rank, world, local_rank, local_world = (int(environment[name]) for name in _VARIABLES)
        restarted = int(environment.get(_RESTARTS, "0")) > 0
        return cls(rank, world, local_rank, local_world, restarted)


SINGLE_PROCESS = DistributedContext(rank=0, world=1, local_rank=0, local_world=1, restarted=False)


def choose_threads(
    context: DistributedContext, environment: Mapping[str, str], cores: int
) -> int | None:
    """Return the number of threads for this process; None: as many as it has now.

    Processes on one machine share its cores evenly, unless OMP_NUM_THREADS says otherwise. torchrun
    itself sets that to 1 where nobody has, so 1 does not count as a choice.
    """
    if context.local_world == 1 or environment.get(_THREADS, "1") != "1":
        return None
    return max(1, cores // context.local_world)


class Distribution(Protocol):
    """The processes that train together, seen from one of them."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def world(self) -> int:
        """The number of processes."""

    @property
    def is_main(self) -> bool:
        """Whether this process reads and writes the run directory."""

    def wrap(self, objective: Objective) -> nn.Module:
        """Return a module to be called in place of the objective.

        After the last backward pass of a step, each parameter's gradient is the *sum* of what all
        processes have computed. Wrapping may replace the parameters, never their names.
        """

    def accumulate(self, module: nn.Module, last: bool) -> AbstractContextManager[object]:
        """Surround the passes of a micro-batch; `last`: it is the last one of its step."""

    def micro_batch_count(self, count: int) -> int:
        """Return the number of micro-batches that this process computes in a step.

        `count` of them are its own; more where the other processes need it to take part.
        """

    def all_sum(self, values: Tensor) -> Tensor:
        """Return the sum of a tensor on the CPU over all processes."""

    def broadcast(self, text: str) -> str:
        """Return the text that the main process passes."""

    def all_gather(self, text: str) -> list[str]:
        """Return the texts that all processes pass, by rank."""

    def barrier(self) -> None:
        """Wait for all processes."""

    def full_model(self, model: Transformer) -> AbstractContextManager[Transformer]:
        """Give the main process a network with all weights, which needs no other process."""

    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return whole tensors by name for the main process to write; elsewhere maybe nothing."""

    def copy_from_main(self, target: Tensor, value: Tensor | None) -> None:
        """Copy the main process's whole tensor into `target`; the others pass None."""


class SingleProcess:
    """The one process of a run that is not distributed."""

    rank = 0
    world = 1
    is_main = True

    def wrap(self, objective: Objective) -> nn.Module:
        """Return the objective itself."""
        return objective

    def accumulate(self, module: nn.Module, last: bool) -> AbstractContextManager[object]:
        """Do nothing: gradients add up by themselves."""
        del module, last
        return contextlib.nullcontext()

    def micro_batch_count(self, count: int) -> int:
        """Return the real number: nobody waits."""
        return count

    def all_sum(self, values: Tensor) -> Tensor:
        """Return the tensor itself."""
        return values

    def broadcast(self, text: str) -> str:
        """Return the text itself."""
        return text

    def all_gather(self, text: str) -> list[str]:
        """Return the text itself, alone."""
        return [text]

    def barrier(self) -> None:
        """Return at once."""

    def full_model(self, model: Transformer) -> AbstractContextManager[Transformer]:
        """Give the network itself."""
        return contextlib.nullcontext(model)

    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors themselves."""
        return {name: tensor.detach() for name, tensor in tensors.items()}

    @torch.no_grad()
    def copy_from_main(self, target: Tensor, value: Tensor | None) -> None:
        """Copy the value."""
        assert value is not None
        target.copy_(value)


@contextlib.contextmanager
def join_processes(
    context: DistributedContext, device: torch.device, sharding: Literal["none", "full"]
) -> Iterator[Distribution]:
    """Join the other processes of this run, if there are any, and leave them at the end.

    The main process's `sharding` counts for all.
    """
    if context.world == 1:
        yield SingleProcess()
        return
    # Only here, because they take a second to import.
    from translucid.training.process_group import Processes, Replicated, Sharded, join_group

    with join_group(context, device):
        place = (context.rank, context.world, device)
        kind = Sharded if Processes(*place).broadcast(sharding) == "full" else Replicated
        with contextlib.closing(kind(*place)) as processes:
            yield processes
