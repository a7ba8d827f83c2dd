"""Every process has the whole network: PyTorch's DistributedDataParallel (DDP)."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from translucid.model import Transformer
from translucid.training.loss import Objective
from translucid.training.processes import Processes, together


class Replicated(Processes):
    """Every process has the whole network; gradients are summed after a step's last micro-batch."""

    def __init__(self, rank: int, world: int, device: torch.device) -> None:
        super().__init__(rank, world, device)
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
        with together(), warnings.catch_warnings():
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
            module.register_comm_hook(None, lambda _, bucket: _summed(bucket))
            _settle_buckets(module, self.device)
        return module

    @contextlib.contextmanager
    def accumulating(self, module: nn.Module, last: bool) -> Iterator[None]:
        """Let gradients add up here until the last micro-batch, after which they are summed."""
        assert isinstance(module, DistributedDataParallel)
        with together(), contextlib.nullcontext() if last else module.no_sync():
            yield

    def rounds(self, count: int) -> int:
        """Return the real number, or 1 so that a process without work takes part in the sum."""
        return max(1, count)

    def whole(self, model: Transformer) -> AbstractContextManager[Transformer]:
        """Give the network itself, which all processes have."""
        return contextlib.nullcontext(model)

    def full_state(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors themselves, which all processes have."""
        return {name: tensor.detach() for name, tensor in tensors.items()}

    @torch.no_grad()
    def put(self, target: Tensor, value: Tensor | None) -> None:
        """Copy the main process's value to all processes."""
        if value is not None:
            target.copy_(value)
        with together():
            dist.broadcast(target.detach(), src=0)


class _Bucket(Protocol):
    """Gradients that DDP sends together."""

    def buffer(self) -> Tensor:
        """Return them as one tensor."""


def _summed(bucket: _Bucket) -> torch.futures.Future[Tensor]:
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
