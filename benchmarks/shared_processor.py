"""Training beside a busy program: threads as PyTorch sets them, and as `translucid` does.

    .venv/bin/python benchmarks/shared_processor.py --data FOLDER

FOLDER is prepared data. Each setting trains the preset `tiny` for a few steps in a process of its
own, first alone, then while another process, in a session of its own, holds one core. Threads share
every operation of a step, or have a micro-batch each, as `translucid train` gives them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

# How long threads spin (None: as PyTorch has it), and into how many parts a step is cut.
SETTINGS = {
    "shared, as PyTorch spins": (None, 1),
    "shared, as translucid spins": ("2000", 1),
    "a micro-batch each": ("2000", 2),
}
STEPS = 6


def train(data: Path, parts: int) -> None:
    """Print target tokens a second; called in a process with the setting in its environment."""
    import torch
    from train_speed import ours, steps_of

    from translucid.data.shards import open_data
    from translucid.presets import find_preset

    torch.set_num_threads(2)
    steps = steps_of(data, STEPS, parts)
    train_step = ours(find_preset("tiny").config(open_data(data).manifest.tokenizer.vocab_size))
    train_step(steps[0])
    began = time.perf_counter()
    for batches in steps:
        train_step(batches)
    tokens = sum(batch.tokens for batches in steps for batch in batches)
    print(round(tokens / (time.perf_counter() - began)))


def speed(data: Path, spins: str | None, parts: int) -> int:
    environment = {k: v for k, v in os.environ.items() if k != "GOMP_SPINCOUNT"}
    if spins is not None:
        environment["GOMP_SPINCOUNT"] = spins
    command = [sys.executable, __file__, "--data", str(data), "--parts", str(parts)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--parts", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.parts:
        train(arguments.data, arguments.parts)
        return
    print("target tokens/s               alone   beside a busy program")
    for name, (spins, parts) in SETTINGS.items():
        alone = speed(arguments.data, spins, parts)
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        try:
            beside = speed(arguments.data, spins, parts)
        finally:
            busy.kill()
            busy.wait()
        print(f"{name:27} {alone:7,} {beside:7,}", flush=True)


if __name__ == "__main__":
    main()
