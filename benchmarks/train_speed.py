"""Training speed against a plain PyTorch loop over Hugging Face's MarianMTModel, in one run.

    .venv/bin/python benchmarks/train_speed.py --data FOLDER [--preset tiny --preset small …]
    .venv/bin/python benchmarks/train_speed.py --data FOLDER --preset tiny --changes

FOLDER is prepared data (`translucid prepare`). Both sides train networks of the same sizes, 4,096
tokens per side in a step, with Adam in float32 and two threads. Ours cuts a step into a micro-batch
for each thread; the peer computes it at once. Each lives in a process of its own, so that its peak
memory can be told; the processes take turns, five rounds, and the median of the rounds counts. The
machine's own matrix-product peak is measured beside them in every round.

`--bf16` lets both take turns in bfloat16 too, on a processor that has products for it.

`--changes` measures ours against itself with one change taken back at a time, to tell what each
gave, and with `torch.compile`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from peers import Marian, logits
from torch import Tensor
from torch.nn import functional as F
from turns import take_turns

from translucid.config import ModelConfig
from translucid.data.batches import START, Batches, load_examples
from translucid.data.loader import Batch, Loader
from translucid.data.shards import open_data
from translucid.machine import keep_freed_memory
from translucid.model import Transformer
from translucid.model.attention import MultiHeadAttention, sdpa
from translucid.model.dropout import Dropout
from translucid.presets import find_preset
from translucid.training import loss
from translucid.training.config import TrainingConfig
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner

TOKENS = 4096
THREADS = 2
ROUNDS = 5
STEPS_A_ROUND = {"tiny": 8, "small": 5, "base": 2}
SMOOTHING = 0.1

Step = Callable[[Sequence[Batch]], None]


def ours(config: ModelConfig) -> Step:
    return stepping(learner_of(config))


def ours_in_bf16(config: ModelConfig) -> Step:
    return stepping(learner_of(config, bf16=True))


def giving_back(config: ModelConfig) -> Step:
    """What is freed goes back to the system, as the C library would have it."""
    return stepping(learner_of(config, keep=False))


def compiled(config: ModelConfig) -> Step:
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # a contender may not have processes itself
    return stepping(learner_of(config, compiled=True))


def with_plain_loss(config: ModelConfig) -> Step:
    """The output projection as a module, and PyTorch's own loss over all logits."""
    learner = learner_of(config)

    def objective(source: Tensor, target: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        scores = learner.model(source, target).flatten(0, 1)
        smoothed, plain = (
            F.cross_entropy(
                scores, labels.flatten(), ignore_index=0, label_smoothing=smoothing, reduction="sum"
            )
            for smoothing in (SMOOTHING, 0.0)
        )
        return smoothed, plain.detach()

    learner.module.forward = objective
    return stepping(learner)


def with_small_chunks(config: ModelConfig) -> Step:
    """The fused loss in chunks of 4 MB."""
    loss.CHUNK_ELEMENTS = 1 << 20
    return ours(config)


def with_fused_attention(config: ModelConfig) -> Step:
    """PyTorch's fused attention for short sequences too."""
    learner = learner_of(config)
    for module in learner.model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = sdpa
    return stepping(learner)


def with_plain_dropout(config: ModelConfig) -> Step:
    """PyTorch's dropout, a random number for each element."""
    learner = learner_of(config)
    for module in learner.model.modules():
        for name, child in module.named_children():
            if isinstance(child, Dropout):
                setattr(module, name, torch.nn.Dropout(child.p))
    return stepping(learner)


def with_plain_adam(config: ModelConfig) -> Step:
    """Adam as a loop over parameters."""
    learner = learner_of(config)
    learner.optimizer = torch.optim.Adam(
        learner.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, foreach=False
    )
    return stepping(learner)


def learner_of(
    config: ModelConfig, *, keep: bool = True, compiled: bool = False, bf16: bool = False
) -> Learner:
    if keep:
        keep_freed_memory()
    settings = TrainingConfig(
        label_smoothing=SMOOTHING,
        batch_tokens=TOKENS,
        micro_batch_tokens=TOKENS // THREADS,
        compile=compiled,
    )
    return Learner(
        Transformer(config), settings, Distribution(), device=torch.device("cpu"), bf16=bf16
    )


def stepping(learner: Learner) -> Step:
    steps = itertools.count(1)

    def train(batches: Sequence[Batch]) -> None:
        step = next(steps)
        learner.forward_backward(batches, step, len(batches))
        learner.clip_gradients(sum(batch.tokens for batch in batches))
        learner.update(step, 1e-4)
        learner.zero_gradients()

    return train


def marian_in_bf16(config: ModelConfig) -> Step:
    return marian(config, bf16=True)


def marian(config: ModelConfig, *, bf16: bool = False) -> Step:
    peer = Marian(config)
    peer.module.train()
    optimizer = torch.optim.Adam(peer.module.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def train(batches: Sequence[Batch]) -> None:
        (batch,) = batches
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            loss = F.cross_entropy(
                logits(peer, batch.source_BS, batch.target_BT).flatten(0, 1),
                batch.labels_BT.flatten(),
                ignore_index=0,
                label_smoothing=SMOOTHING,
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(peer.module.parameters(), 1.0)
        optimizer.step()

    return train


PEERS: dict[str, Callable[[ModelConfig], Step]] = {"translucid": ours, "MarianMTModel": marian}
IN_BF16: dict[str, Callable[[ModelConfig], Step]] = {
    "translucid, bf16": ours_in_bf16,
    "MarianMTModel, bf16": marian_in_bf16,
}
CHANGES: dict[str, Callable[[ModelConfig], Step]] = {
    "translucid": ours,
    "a step at once": ours,
    "freed memory given back": giving_back,
    "loss over all logits": with_plain_loss,
    "loss in chunks of 4 MB": with_small_chunks,
    "fused attention": with_fused_attention,
    "PyTorch's dropout": with_plain_dropout,
    "Adam, not fused": with_plain_adam,
    "torch.compile": compiled,
}
AT_ONCE = ("MarianMTModel", "MarianMTModel, bf16", "a step at once", "torch.compile")


def steps_of(data: Path, count: int, parts: int) -> list[Sequence[Batch]]:
    examples = load_examples(open_data(data), "train")
    loader = Loader(Batches(examples, TOKENS // parts, 1), None, 2, False)
    with loader.steps(START, per_step=parts, rank=0, world_size=1) as steps:
        return [next(steps).batches for _ in range(count)]


def make(name: str, config: ModelConfig, data: Path, count: int) -> Callable[[], float]:
    """In a process of its own: return what trains a round and tells its target tokens."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    steps = steps_of(data, count, parts=1 if name in AT_ONCE else THREADS)
    train = {**PEERS, **IN_BF16, **CHANGES}[name](config)
    for batches in steps[:2]:
        train(batches)

    def work() -> float:
        for batches in steps:
            train(batches)
        return sum(batch.tokens for batches in steps for batch in batches)

    return work


def machine_peak() -> float:
    """Float32 GFLOP/s of a matrix product of 2,048."""
    torch.set_num_threads(THREADS)
    a, b = torch.randn(2, 2048, 2048)
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - began)
    return 2 * 2048**3 / best / 1e9


def measure(preset: str, data: Path, contenders: Iterable[str]) -> dict[str, Any]:
    """Let the contenders take turns; return medians and spreads by name."""
    config = find_preset(preset).config(open_data(data).manifest.tokenizer.vocab_size)
    count = STEPS_A_ROUND[preset]
    rounds, peaks = [], []
    for found in take_turns(make, {n: (n, config, data, count) for n in contenders}, ROUNDS):
        rounds.append(found)
        peaks.append(machine_peak())
    speeds = {name: [found[name].speed for found in rounds] for name in rounds[0]}
    return {
        "preset": preset,
        "peak": statistics.median(peaks),
        "speed": {name: statistics.median(values) for name, values in speeds.items()},
        "spread": {name: (min(values), max(values)) for name, values in speeds.items()},
        "memory": {name: last.memory for name, last in rounds[-1].items()},
    }


def show_peers(preset: str, data: Path, contenders: Iterable[str]) -> None:
    found = measure(preset, data, contenders)
    for name, speed in found["speed"].items():
        low, high = found["spread"][name]
        print(
            f"{preset:7} {name:24} {speed:7,.0f} ({low:,.0f}-{high:,.0f}) "
            f"{speed / found['speed']['MarianMTModel']:5.2f} {found['memory'][name]:7,.0f} MB "
            f"{found['peak']:7.0f} GFLOP/s",
            flush=True,
        )


def show_changes(preset: str, data: Path) -> None:
    found = measure(preset, data, CHANGES)
    for name, speed in found["speed"].items():
        low, high = found["spread"][name]
        print(
            f"{preset:7} {name:24} {speed:7,.0f} ({low:,.0f}-{high:,.0f}) "
            f"{found['speed']['translucid'] / speed:5.2f} {found['memory'][name]:7,.0f} MB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--preset", action="append", choices=list(STEPS_A_ROUND))
    parser.add_argument("--changes", action="store_true", help="take back one change at a time")
    parser.add_argument("--bf16", action="store_true", help="both in bfloat16 too")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {THREADS} threads, {ROUNDS} rounds, medians (min-max)")
    ratio = "gain" if arguments.changes else "against MarianMTModel"
    print(f"preset  contender  target tokens/s  {ratio}  peak memory")
    for preset in arguments.preset or list(STEPS_A_ROUND):
        if arguments.changes:
            show_changes(preset, arguments.data)
        else:
            show_peers(preset, arguments.data, [*PEERS, *(IN_BF16 if arguments.bf16 else ())])


if __name__ == "__main__":
    main()
