"""Training speed against a plain PyTorch loop over Hugging Face's MarianMTModel, in one run.

    .venv/bin/python benchmarks/train_speed.py --data FOLDER [--preset tiny --preset small …]

FOLDER is prepared data (`translucid prepare`). Both sides train networks of the same sizes on the
same batches (4,096 tokens a side) with Adam in float32 and two threads. Each lives in a process of
its own, so that its peak memory can be told; the processes take turns, five rounds, and the median
of the rounds counts. The machine's own matrix-product peak is measured beside them in every round.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import resource
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from translucid.config import ModelConfig
from translucid.data.batching import START, Batches
from translucid.data.collate import Batch
from translucid.data.examples import examples_of
from translucid.data.loader import Loader
from translucid.data.shards import open_data
from translucid.presets import find_preset

TOKENS = 4096
THREADS = 2
ROUNDS = 5
BATCHES_A_ROUND = {"tiny": 8, "small": 5, "base": 2}
SMOOTHING = 0.1

Step = Callable[[Batch], None]


def ours(config: ModelConfig) -> Step:
    from translucid.model import Transformer
    from translucid.training.distributed import SingleProcess
    from translucid.training.learner import Learner
    from translucid.training.settings import TrainingConfig

    learner = Learner(
        Transformer(config),
        TrainingConfig(label_smoothing=SMOOTHING),
        SingleProcess(),
        device=torch.device("cpu"),
        bf16=False,
    )
    step = 0

    def train(batch: Batch) -> None:
        nonlocal step
        step += 1
        learner.accumulate([batch], step, real=1)
        learner.clip(batch.tokens)
        learner.update(step, 1e-4)
        learner.forget_gradients()

    return train


def marian(config: ModelConfig) -> Step:
    from transformers import MarianConfig, MarianMTModel

    model = MarianMTModel(
        MarianConfig(
            vocab_size=config.target_vocab_size,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            dropout=config.dropout,
            scale_embedding=True,
            pad_token_id=0,
            eos_token_id=3,
            decoder_start_token_id=2,
            max_position_embeddings=1024,
        )
    ).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def train(batch: Batch) -> None:
        optimizer.zero_grad()
        logits = model(
            input_ids=batch.source_BS,
            attention_mask=(batch.source_BS != 0).long(),
            decoder_input_ids=batch.target_BT,
            use_cache=False,
        ).logits
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            batch.labels_BT.flatten(),
            ignore_index=0,
            label_smoothing=SMOOTHING,
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return train


CONTENDERS: dict[str, Callable[[ModelConfig], Step]] = {
    "translucid": ours,
    "MarianMTModel": marian,
}


def batches_of(data: Path, count: int) -> list[Batch]:
    loader = Loader(Batches(examples_of(open_data(data), "train"), TOKENS, 1), None, 2, False)
    with loader.steps(START, per_step=count, rank=0, world=1) as steps:
        return list(next(steps).batches)


def work(pipe: Connection, name: str, config: ModelConfig, data: Path, count: int) -> None:
    """In a process of its own: train a round whenever asked, and answer (tokens/s, peak MB)."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    batches = batches_of(data, count)
    train = CONTENDERS[name](config)
    for batch in batches[:2]:
        train(batch)
    while pipe.recv():
        began = time.perf_counter()
        for batch in batches:
            train(batch)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        pipe.send((sum(batch.tokens for batch in batches) / seconds, peak))


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


def measure(preset: str, data: Path) -> dict[str, Any]:
    vocab_size = open_data(data).manifest.tokenizer.vocab_size
    config = find_preset(preset).config(vocab_size)
    context = mp.get_context("spawn")
    pipes, processes = {}, []
    for name in CONTENDERS:
        pipes[name], theirs = context.Pipe()
        arguments = (theirs, name, config, data, BATCHES_A_ROUND[preset])
        process = context.Process(target=work, args=arguments, daemon=True)
        process.start()
        processes.append(process)
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
    peaks = []
    for _ in range(ROUNDS):
        for name, pipe in pipes.items():
            pipe.send(True)
            rounds[name].append(pipe.recv())
        peaks.append(machine_peak())
    for pipe in pipes.values():
        pipe.send(False)
    for process in processes:
        process.join()
    speeds = {name: [speed for speed, _ in found] for name, found in rounds.items()}
    return {
        "preset": preset,
        "peak": statistics.median(peaks),
        "speed": {name: statistics.median(values) for name, values in speeds.items()},
        "spread": {name: (min(values), max(values)) for name, values in speeds.items()},
        "memory": {name: found[-1][1] for name, found in rounds.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--preset", action="append", choices=list(BATCHES_A_ROUND))
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {THREADS} threads, {ROUNDS} rounds, medians (min-max)")
    print(
        "preset  target tokens/s: translucid        MarianMTModel      ratio  MB ours/peer   peak"
    )
    for preset in arguments.preset or list(BATCHES_A_ROUND):
        found = measure(preset, arguments.data)
        speed, spread, memory = found["speed"], found["spread"], found["memory"]
        cells = [
            f"{speed[name]:7,.0f} ({spread[name][0]:,.0f}-{spread[name][1]:,.0f})"
            for name in CONTENDERS
        ]
        print(
            f"{preset:7} {cells[0]:>32} {cells[1]:>22} "
            f"{speed['translucid'] / speed['MarianMTModel']:5.2f} "
            f"{memory['translucid']:7,.0f}/{memory['MarianMTModel']:,.0f} "
            f"{found['peak']:7.0f} GFLOP/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
