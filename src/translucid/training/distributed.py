"""Training by several processes at once: which process this is, and what it asks of the others.

The processes of a run are numbered by rank; rank 0, the *main* one, alone reads and writes the run
directory. All of them walk through the same steps, so every method that concerns all processes must
be called by each of them, in the same order.

::

    Distribution     one process, as without torchrun; what the others override
    Replicated       every process has all weights; gradients are summed (DDP)
    Sharded          every process has a part of weights, gradients and optimiser (FSDP2)

torchrun tells each process its place in the environment::

    machine 0, 2 processes           machine 1, 2 processes
    RANK 0         RANK 1            RANK 2         RANK 3           WORLD_SIZE 4
    LOCAL_RANK 0   LOCAL_RANK 1      LOCAL_RANK 0   LOCAL_RANK 1     LOCAL_WORLD_SIZE 2

Messages (sums, texts) go over gloo from the CPU; gradients and weights on a GPU go over NCCL.
"""

from __future__ import annotations

import contextlib
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from translucid.errors import TranslucidError
from translucid.model import Transformer
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer
from translucid.training.loss import Objective

# The others wait so long while the main process validates and writes. A process that dies is
# noticed at once, by its closed connection or by torchrun.
_PATIENCE = timedelta(hours=2)
_MEETING = timedelta(minutes=10)  # within which all processes must have started

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_RESTARTS = "TORCHELASTIC_RESTART_COUNT"
_THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class DistributedContext:
    """The place of a process in its run (`rank` of `world_size`) and on its machine.

    `restarted`: torchrun has started it again, after one of the processes had failed.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
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
        rank, world_size, local_rank, local_world_size = (
            int(environment[name]) for name in _VARIABLES
        )
        restarted = int(environment.get(_RESTARTS, "0")) > 0
        return cls(rank, world_size, local_rank, local_world_size, restarted)


SINGLE_PROCESS = DistributedContext(
    rank=0, world_size=1, local_rank=0, local_world_size=1, restarted=False
)


def choose_threads(
    context: DistributedContext, environment: Mapping[str, str], cores: int
) -> int | None:
    """Return the number of threads for this process; None: as many as it has now.

    Processes on one machine share its cores evenly, unless OMP_NUM_THREADS says otherwise. torchrun
    itself sets that to 1 where nobody has, so 1 does not count as a choice.
    """
    if context.local_world_size == 1 or environment.get(_THREADS, "1") != "1":
        return None
    return max(1, cores // context.local_world_size)


class Distribution:
    """The processes that train together, seen from one of them; this class is the only one."""

    def __init__(self, rank: int = 0, world_size: int = 1) -> None:
        self.rank = rank
        self.world_size = world_size

    @property
    def is_main(self) -> bool:
        """Whether this process reads and writes the run directory."""
        return self.rank == 0

    def wrap(self, objective: Objective) -> nn.Module:
        """Return a module to be called in place of the objective.

        After the last backward pass of a step, each parameter's gradient is the *sum* of what all
        processes have computed. Wrapping may replace the parameters, never their names.
        """
        return objective

    def accumulate(self, module: nn.Module, last: bool) -> AbstractContextManager[object]:
        """Surround the passes of a micro-batch; `last`: it is the last one of its step."""
        del module, last
        return contextlib.nullcontext()  # gradients add up by themselves

    def micro_batch_count(self, count: int) -> int:
        """Return the number of micro-batches that this process computes in a step.

        `count` of them are its own; more where the other processes need it to take part.
        """
        return count

    def all_sum(self, values: Tensor) -> Tensor:
        """Return the sum of a tensor on the CPU over all processes."""
        return values

    def broadcast(self, text: str) -> str:
        """Return the text that the main process passes."""
        return text

    def all_gather(self, text: str) -> list[str]:
        """Return the texts that all processes pass, by rank."""
        return [text]

    def barrier(self) -> None:
        """Wait for all processes."""

    def full_model(self, model: Transformer) -> AbstractContextManager[Transformer]:
        """Give the main process a network with all weights, which needs no other process."""
        return contextlib.nullcontext(model)

    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return whole tensors by name for the main process to write; elsewhere maybe nothing."""
        return {name: tensor.detach() for name, tensor in tensors.items()}

    @torch.no_grad()
    def copy_from_main(self, target: Tensor, value: Tensor | None) -> None:
        """Copy the main process's whole tensor into `target`; the others pass None."""
        assert value is not None
        target.copy_(value)

    def close(self) -> None:
        """Let go of the other processes; what was wrapped cannot be trained any more."""


@contextlib.contextmanager
def join_processes(
    context: DistributedContext, device: torch.device, sharding: Literal["none", "full"]
) -> Iterator[Distribution]:
    """Join the other processes of this run, if there are any, and leave them at the end.

    The main process's `sharding` counts for all.
    """
    if context.world_size == 1:
        yield Distribution()
        return
    with join_group(context, device):
        place = (context.rank, context.world_size, device)
        kind = Sharded if Processes(*place).broadcast(sharding) == "full" else Replicated
        with contextlib.closing(kind(*place)) as processes:
            yield processes


class LostProcessError(TranslucidError):
    """Another process of the run has ended, so that this one cannot continue."""


@contextlib.contextmanager
def explain_lost_process() -> Iterator[None]:
    """Surround what needs all processes; raise LostProcessError if one has ended."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        reason = str(error).splitlines()[0].partition(". This is typically")[0]
        raise LostProcessError(
            "another process of this run has ended, or cannot be reached, so this one ends too. "
            "The message of the other one says why. Run the same command with --resume to continue "
            f"from the last checkpoint.\n  {reason}"
        ) from error


@contextlib.contextmanager
def join_group(context: DistributedContext, device: torch.device) -> Iterator[None]:
    """Join the other processes, and leave them at the end."""
    with explain_lost_process():
        store, _, _ = next(rendezvous("env://", timeout=_MEETING))
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=_fresh_store(store, context),
            rank=context.rank,
            world_size=context.world_size,
            timeout=_PATIENCE,
        )
    try:
        yield
    finally:
        dist.destroy_process_group()


def _fresh_store(store: Store, context: DistributedContext) -> Store:
    """Agree on a part of the store to which no earlier life of these processes has written.

    torchrun keeps one store over all restarts, in which processes find each other's addresses: that
    of a dead one would be taken for that of its successor. So each process asks the main one under
    a new name, and only the living answer::

        process r    hello/r = question                 ◀ reply/question = part    heard/part/r ▶
        main one                  reply/question = part ▶                          ◀ all heard
    """
    name = uuid.uuid4().hex
    if not context.is_main:
        store.set(f"hello/{context.rank}", name)
        part = store.get(f"reply/{name}").decode()
        store.set(f"heard/{part}/{context.rank}", "")
        return PrefixStore(part, store)
    waiting, end = set(range(1, context.world_size)), time.monotonic() + _MEETING.total_seconds()
    while waiting:
        if time.monotonic() > end:
            raise dist.DistStoreError(f"processes {sorted(waiting)} have not joined")
        for rank in sorted(waiting):
            if store.check([f"heard/{name}/{rank}"]):
                waiting.discard(rank)
            elif store.check([f"hello/{rank}"]):  # the question of a dead one is answered in vain
                store.set(f"reply/{store.get(f'hello/{rank}').decode()}", name)
        time.sleep(0.01)
    return PrefixStore(name, store)


class Processes(Distribution):
    """One of several processes: what they tell each other, whatever they do with the weights."""

    def __init__(self, rank: int, world_size: int, device: torch.device) -> None:
        super().__init__(rank, world_size)
        self.device = device

    def all_sum(self, values: Tensor) -> Tensor:
        """Return the sum of this tensor over all processes."""
        total = values.clone()
        with explain_lost_process():
            dist.all_reduce(total)
        return total

    def broadcast(self, text: str) -> str:
        """Return the text that the main process gives here."""
        letters = _letters(text)
        size = torch.tensor([len(letters)])
        with explain_lost_process():
            dist.broadcast(size, src=0)
            if not self.is_main:
                letters = letters.new_empty(int(size))
            dist.broadcast(letters, src=0)
        return _text(letters)

    def all_gather(self, text: str) -> list[str]:
        """Return the texts that all processes give here, by rank."""
        letters = _letters(text)
        sizes = torch.zeros(self.world_size, dtype=torch.int64)
        sizes[self.rank] = len(letters)
        sizes = self.all_sum(sizes)
        padded = letters.new_zeros(int(sizes.max()))
        padded[: len(letters)] = letters
        found = [torch.empty_like(padded) for _ in range(self.world_size)]
        with explain_lost_process():
            dist.all_gather(found, padded)
        return [_text(each[:size]) for each, size in zip(found, sizes.tolist(), strict=True)]

    def barrier(self) -> None:
        """Wait until all processes have come here."""
        self.all_sum(torch.zeros(1))


def _letters(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def _text(letters: Tensor) -> str:
    return letters.numpy().tobytes().decode()


class Replicated(Processes):
    """Every process has the whole network; gradients are summed after a step's last micro-batch."""

    def __init__(self, rank: int, world_size: int, device: torch.device) -> None:
        super().__init__(rank, world_size, device)
        self._wrapped: list[DistributedDataParallel] = []

    def close(self) -> None:
        """Let go of the other processes; what was wrapped cannot be trained any more.

        DDP's reducer holds the group of processes from C++. Where it is the last to do so, it ends
        the group's threads without giving up Python's lock, for which one of them may be waiting.
        """
        while self._wrapped:
            module = self._wrapped.pop()
            del module.reducer, module.logger

    def wrap(self, objective: Objective) -> nn.Module:
        """Return the objective in DistributedDataParallel, its weights those of the main one."""
        with explain_lost_process(), warnings.catch_warnings():
            # PyTorch 2.13 has a new name for broadcast_buffers, which earlier ones do not know.
            warnings.simplefilter("ignore", FutureWarning)
            module = DistributedDataParallel(
                objective,
                device_ids=[self.device] if self.device.type == "cuda" else None,
                broadcast_buffers=False,  # they are tables that all processes compute alike
                gradient_as_bucket_view=True,
            )
            self._wrapped.append(module)
            # DDP reads a hook's annotations, which here are text: a lambda has none.
            module.register_comm_hook(None, lambda _, bucket: _sum_bucket(bucket))
            _settle_buckets(module, self.device)
        return module

    @contextlib.contextmanager
    def accumulate(self, module: nn.Module, last: bool) -> Iterator[None]:
        """Let gradients add up here until the last micro-batch, after which they are summed."""
        assert isinstance(module, DistributedDataParallel)
        with explain_lost_process(), contextlib.nullcontext() if last else module.no_sync():
            yield

    def micro_batch_count(self, count: int) -> int:
        """Return the real number, or 1 so that a process without work takes part in the sum."""
        return max(1, count)

    @torch.no_grad()
    def copy_from_main(self, target: Tensor, value: Tensor | None) -> None:
        """Copy the main process's value to all processes."""
        if value is not None:
            target.copy_(value)
        with explain_lost_process():
            dist.broadcast(target.detach(), src=0)


class _Bucket(Protocol):
    """Gradients that DDP sends in one message."""

    def buffer(self) -> Tensor:
        """Return them as one tensor."""


def _sum_bucket(bucket: _Bucket) -> torch.futures.Future[Tensor]:
    """Add up some gradients over all processes; DDP by itself would take the mean."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    assert work is not None
    future: torch.futures.Future[Tensor] = work.get_future().then(lambda done: done.value()[0])
    return future


def _settle_buckets(module: DistributedDataParallel, device: torch.device) -> None:
    """Let DDP order gradients as they become ready, which it learns in its first backward pass.

    Otherwise the first step after a start would add up in another order than the same step of a run
    that was not interrupted.
    """
    module.train()  # type: ignore[no-untyped-call]
    padding = module.module.model.config.padding_id
    ids = torch.full((2, 3), 0 if padding else 1, device=device)
    for _ in range(2):  # the order takes hold in the second forward pass
        module(ids, ids, ids)[0].backward()
        module.zero_grad(set_to_none=True)


class Sharded(Processes):
    """Every process has a part of each weight, its gradient and what the optimiser knows of it.

    A layer's weights are gathered when they are needed, in the forward and in the backward pass,
    and freed again. Gradients are summed after every micro-batch, so that none of them is
    ever whole for longer than its layer's turn.
    """

    def wrap(self, objective: Objective) -> nn.Module:
        """Return the objective, its weights shared out by FSDP2, layer by layer."""
        # Attention returns views of its projections, and nothing of ours writes into them.
        warnings.filterwarnings("ignore", message=r"FSDP2-wrapped module .* returned a view tensor")
        with explain_lost_process():
            mesh = init_device_mesh(self.device.type, (self.world_size,))
            for layer in list(objective.modules()):
                if isinstance(layer, DecoderLayer):
                    # The source is read before the layers run: cross-attention is its own part.
                    fully_shard(layer.cross_attention, mesh=mesh)
                    for method in ("keys_values", "attend"):
                        register_fsdp_forward_method(layer.cross_attention, method)
                if isinstance(layer, DecoderLayer | EncoderLayer):
                    fully_shard(layer, mesh=mesh)
            fully_shard(objective, mesh=mesh)
        for part in objective.modules():
            if isinstance(part, FSDPModule):
                part.set_gradient_divide_factor(1.0)
                part.set_force_sum_reduction_for_comms(True)
        return objective

    @contextlib.contextmanager
    def accumulate(self, module: nn.Module, last: bool) -> Iterator[None]:
        """Sum the gradients of every micro-batch: that is what saves memory."""
        del module, last
        with explain_lost_process():
            yield

    def micro_batch_count(self, count: int) -> int:
        """Return the greatest number of any process: each forward pass needs all of them."""
        counts = torch.zeros(self.world_size, dtype=torch.int64)
        counts[self.rank] = count
        return int(self.all_sum(counts).max())

    @contextlib.contextmanager
    def full_model(self, model: Transformer) -> Iterator[Transformer]:
        """Give the main process a copy with all weights; the others wait for nothing."""
        tensors = self.full_state(dict(model.named_parameters()))
        if not self.is_main:
            yield model
            return
        copy = Transformer(model.config)
        with torch.no_grad():
            for name, parameter in copy.named_parameters():
                parameter.copy_(tensors[name])
        yield copy.to(self.device)

    @torch.no_grad()
    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Gather whole tensors, one after another, in the main process's CPU memory."""
        found = {}
        for name, tensor in tensors.items():
            with explain_lost_process():
                full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            if self.is_main:
                found[name] = full.detach().cpu()
        return found

    @torch.no_grad()
    def copy_from_main(self, target: Tensor, value: Tensor | None) -> None:
        """Give each process its part of the main process's value."""
        full = torch.empty(target.shape, dtype=target.dtype, device=self.device)
        if value is not None:
            full.copy_(value)
        with explain_lost_process():
            if isinstance(target, DTensor):
                target.copy_(distribute_tensor(full, target.device_mesh, target.placements))
            else:
                dist.broadcast(full, src=0)
                target.copy_(full)
