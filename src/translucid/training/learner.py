"""The network that learns: its objective, its optimiser and its averaged weights.

Randomness is a function of (seed, step, micro-batch), never of what happened before. Each
micro-batch draws from generators that are seeded anew for it, so a resumed run drops out the same
units as one that was not interrupted, and the number of processes and threads does not matter. A
micro-batch is identified by its rows, because subword sampling may cut it into pieces, which must
not draw the same.

On a CPU, each micro-batch is computed by one thread. The operations of a small network are short:
threads that share each of them wait for each other in each; threads that have a micro-batch each do
so once per step::

    step ─┬─ micro-batch 0 ─ thread 0 ─ forward, backward ─▶ gradients ─┐
          ├─ micro-batch 1 ─ thread 1 ─ forward, backward ─▶ gradients ─┼─ added in this order
          ├─ micro-batch 2 ─ the first that is free ─ …                 │
          └─ …                                                          ┘

The weights are the same for all, and nothing of a micro-batch depends on which thread computes it:
the result is, bit for bit, what one such thread computes alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from translucid.checkpoint.model_directory import check_weights
from translucid.checkpoint.store import Checkpoint
from translucid.config import ModelConfig
from translucid.data.loader import Batch
from translucid.data.shuffle import derive_seed
from translucid.model import Transformer
from translucid.model.dropout import dropout_generator
from translucid.training.config import TrainingConfig
from translucid.training.distributed import Distribution
from translucid.training.loss import Objective
from translucid.training.optimizer import (
    WeightAverage,
    allocate_optimizer_state,
    build_optimizer,
    optimizer_tensors,
    scale_and_clip,
    set_learning_rate,
)

_WEIGHTS, _DROPOUT = 16, 17  # what numbers are drawn for: `data` uses smaller ones


def initial_model(config: ModelConfig, seed: int) -> Transformer:
    """Return a network with its first weights, which `seed` decides."""
    torch.manual_seed(derive_seed(seed, _WEIGHTS))
    return Transformer(config)


def derive_dropout_seed(seed: int, step: int, batch: Batch) -> int:
    """Return the seed of a micro-batch of a step, a pure function of the arguments."""
    rows = batch.examples.astype("<i8").tobytes() + batch.directions.astype("<i8").tobytes()
    digest = hashlib.blake2b(rows, digest_size=7).digest()
    return derive_seed(seed, _DROPOUT, step, int.from_bytes(digest, "little"))


class Learner:
    """A network and all that changes with it in a step.

    `bf16` computes matrix products in bfloat16; weights and gradients stay in float32. `parallel`
    micro-batches are computed at the same time.
    """

    def __init__(
        self,
        model: Transformer,
        settings: TrainingConfig,
        distribution: Distribution,
        *,
        device: torch.device,
        bf16: bool,
    ) -> None:
        self.model = model
        self.settings = settings
        self.distribution = distribution
        self.device = device
        self.bf16 = bf16
        self.objective = Objective(
            model, settings.label_smoothing, rdrop_alpha=0.0, loss=settings.loss
        ).to(device)
        if settings.compile:
            self.objective.compile(dynamic=True)
        self.module = distribution.wrap(self.objective)
        self.parameters = dict(model.named_parameters())
        self.optimizer = build_optimizer(self.parameters, settings, bf16=bf16)
        self.average = (
            WeightAverage(self.parameters, settings.ema_decay) if settings.ema_decay else None
        )
        can = can_run_in_parallel(settings, device=device, world_size=distribution.world_size)
        self.parallel = count_parallel(settings, torch.get_num_threads()) if can else 1
        self._threads = ThreadPool(self.parallel) if self.parallel > 1 else None

    def forward_backward(self, batches: Sequence[Batch], step: int, own: int) -> Tensor:
        """Add up the gradients of a step's summed loss over this process's micro-batches.

        Only the first `own` of them count; where other processes need this one to take part, those
        after them, or the last once more, are computed and add nothing. Return the (smoothed,
        plain) loss sums, one row for each that counts, in float64 on the CPU.
        """
        self.module.train()
        rdrop = step >= self.settings.rdrop_start
        self.objective.rdrop_alpha = self.settings.rdrop_alpha if rdrop else 0.0
        if self._threads is not None and own > 1:
            return self._forward_backward_in_parallel(self._threads, batches[:own], step)
        count = self.distribution.micro_batch_count(own)
        sums = [torch.empty(0, 2, device=self.device)]
        for number in range(count):
            batch = batches[min(number, len(batches) - 1)].to(self.device)
            torch.manual_seed(derive_dropout_seed(self.settings.seed, step, batch))
            with self.distribution.accumulate(self.module, last=number == count - 1):
                smoothed, plain = self._forward(batch)
                counted = smoothed if number < own else smoothed * 0
                counted.backward()  # type: ignore[no-untyped-call]
            if number < own:
                sums.append(torch.stack([smoothed.detach(), plain.detach()])[None])
        return torch.cat(sums).cpu().double()

    def _forward_backward_in_parallel(
        self, threads: ThreadPool, batches: Sequence[Batch], step: int
    ) -> Tensor:
        parameters = [p for p in self.parameters.values() if p.requires_grad]

        def compute(batch: Batch) -> tuple[Tensor, tuple[Tensor, ...]]:
            seed = derive_dropout_seed(self.settings.seed, step, batch)
            with dropout_generator(torch.Generator().manual_seed(seed)):
                smoothed, plain = self._forward(batch)
            gradients = torch.autograd.grad(smoothed, parameters)
            return torch.stack([smoothed.detach(), plain.detach()])[None], gradients

        sums = [torch.empty(0, 2)]
        for losses, gradients in threads.map(compute, batches):
            sums.append(losses)
            _add_gradients(parameters, gradients)
        return torch.cat(sums).double()

    def _forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the (smoothed, plain) loss sums of a micro-batch."""
        with self._precision():
            smoothed, plain = self.module(batch.source_BS, batch.target_BT, batch.labels_BT)
        return smoothed, plain

    def clip_gradients(self, tokens: int) -> float:
        """Divide the gradients by the number of tokens, clip them and return their norm."""
        return scale_and_clip(
            self.parameters.values(), tokens=tokens, max_norm=self.settings.clip_norm
        )

    def update(self, step: int, rate: float) -> None:
        """Change the weights by the gradients."""
        set_learning_rate(self.optimizer, rate)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(step)

    def zero_gradients(self) -> None:
        """Drop the gradients, after a step or instead of one."""
        self.optimizer.zero_grad(set_to_none=True)

    def try_step(self, batches: Sequence[Batch], step: int) -> None:
        """Take a whole step that changes next to nothing, to see what time and memory it needs."""
        self.forward_backward(batches, step, len(batches))
        self.clip_gradients(sum(batch.tokens for batch in batches))
        self.update(step, 1e-9)
        self.zero_gradients()

    @contextlib.contextmanager
    def best_weights(self) -> Iterator[Transformer]:
        """Give the network with the weights to use: the averaged ones where there are any."""
        with contextlib.ExitStack() as stack:
            if self.average is not None:
                stack.enter_context(self.average.in_use())
            yield stack.enter_context(self.distribution.full_model(self.model))

    def weights_to_use(self) -> dict[str, Tensor]:
        """Return the weights that `best_weights` gives, whole, by name."""
        tensors = self.parameters if self.average is None else self.average.tensors
        return self.distribution.full_state(tensors)

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Return all tensors of a checkpoint, whole, by file and name."""
        files: dict[str, Mapping[str, Tensor]] = {
            "model": self.parameters,
            "optimizer": optimizer_tensors(self.optimizer, self.parameters),
        }
        if self.average is not None:
            files["average"] = self.average.tensors
        return {name: self.distribution.full_state(tensors) for name, tensors in files.items()}

    def restore(self, checkpoint: Checkpoint | None) -> None:
        """Load a checkpoint, which the main process has; the others pass None."""
        self._load(self.parameters, self._read(checkpoint, "model", self.parameters))
        if self.average is not None:
            tensors = self.average.tensors
            self._load(tensors, self._read(checkpoint, "average", tensors))
        found = checkpoint.tensors("optimizer") if checkpoint else {}
        shapes = json.loads(
            self.distribution.broadcast(json.dumps({n: list(t.shape) for n, t in found.items()}))
        )
        self._load(allocate_optimizer_state(self.optimizer, self.parameters, shapes), found)

    def load_weights(self, weights: Mapping[str, Tensor], path: str | Path) -> None:
        """Begin with weights from `path`, which the main process has; the others pass none."""
        if self.distribution.is_main:
            check_weights(self.parameters, weights, Path(path))
        self._load(self.parameters, weights)
        if self.average is not None:
            self._load(self.average.tensors, weights)

    def _load(self, targets: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
        for name, target in targets.items():
            self.distribution.copy_from_main(target, values.get(name))

    def _read(
        self, checkpoint: Checkpoint | None, name: str, expected: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        if checkpoint is None:
            return {}
        tensors = checkpoint.tensors(name)
        check_weights(expected, tensors, checkpoint.folder / f"{name}.safetensors")
        return tensors

    def _precision(self) -> AbstractContextManager[object]:
        if not self.bf16:
            return contextlib.nullcontext()
        # Threads would share autocast's cache of weights, which a step needs once or twice each.
        return torch.autocast(self.device.type, dtype=torch.bfloat16, cache_enabled=False)


def _add_gradients(parameters: Sequence[nn.Parameter], gradients: tuple[Tensor, ...]) -> None:
    """Add to the gradients of parameters as a backward pass does, in the parameters' layout."""
    known = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if known:
        torch._foreach_add_(known, gradients)
        return
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.contiguous()


MIN_TOKENS = 1024  # per side of a micro-batch; with fewer, the matrix products become slow
PARALLEL_TOKENS = 4096  # per side of all parallel micro-batches, unless settings say how many

Item = TypeVar("Item")
Result = TypeVar("Result")


def can_run_in_parallel(settings: TrainingConfig, *, device: torch.device, world_size: int) -> bool:
    """Tell whether threads of this process may compute micro-batches in parallel.

    With several processes, DDP reduces gradients in the order of a single backward pass; a GPU is
    busy with one micro-batch; a compiled network keeps state that threads would have to share.
    """
    return device.type == "cpu" and world_size == 1 and not settings.compile


def count_threads(tokens: int, allowed: int) -> int:
    """Return the number of threads among which this many tokens are best divided.

    >>> count_threads(4096, allowed=2), count_threads(4096, allowed=16)
    (2, 4)
    >>> count_threads(1500, allowed=2)
    1
    """
    return max(1, min(allowed, tokens // MIN_TOKENS))


def count_parallel(settings: TrainingConfig, allowed: int) -> int:
    """Return the number of micro-batches that `allowed` threads compute in parallel.

    >>> step = TrainingConfig(batch_tokens=25_000, micro_batch_tokens=2048)
    >>> count_parallel(step, allowed=1), count_parallel(step, allowed=16)
    (1, 2)
    >>> count_parallel(step.replace(parallel_micro_batches=8), allowed=16)
    8
    """
    wanted = settings.parallel_micro_batches or PARALLEL_TOKENS // settings.micro_batch_tokens
    return max(1, min(wanted, allowed, settings.micro_batches))


class ThreadPool:
    """Threads that divide among themselves the threads which PyTorch may use here."""

    def __init__(self, count: int) -> None:
        self.count = count
        allowed = torch.get_num_threads()
        each = max(1, allowed // count)
        self._pool = ThreadPoolExecutor(
            count, "micro-batch", initializer=_limit_threads, initargs=(each,)
        )
        all_there = threading.Barrier(count)
        list(self._pool.map(lambda _: all_there.wait(), range(count)))
        torch.set_num_threads(allowed)  # for threads that are started later

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Do some work on each item; yield the results in their order.

        At most one item per thread, and one more, is begun before the first result is fetched.
        """
        begun: deque[Future[Result]] = deque()
        try:
            for item in items:
                begun.append(self._pool.submit(work, item))
                if len(begun) > self.count:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()


def _limit_threads(threads: int) -> None:
    """Limit the threads with which PyTorch computes for the calling thread, from now on."""
    torch.set_num_threads(threads)
    torch.get_num_threads()  # makes PyTorch keep the limit: otherwise a later thread's one counts
