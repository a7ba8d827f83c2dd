"""Training beside a busy program: threads as PyTorch sets them, and as `translucid` does.

    .venv/bin/python benchmarks/shared_processor.py --data FOLDER

FOLDER is prepared data. Each setting trains the preset `tiny` for a few batches in a process of its
own, first alone, then while another process, in a session of its own, holds one core.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = {"as PyTorch sets it": None, "as translucid sets it": "2000"}
BATCHES = 3


def train(data: Path) -> None:
    """Print target tokens a second; called in a process with the setting in its environment."""
    import torch
    from train_speed import batches_of, ours

    from translucid.data.shards import open_data
    from translucid.presets import find_preset

    torch.set_num_threads(2)
    batches = batches_of(data, BATCHES)
    step = ours(find_preset("tiny").config(open_data(data).manifest.tokenizer.vocab_size))
    step(batches[0])
    began = time.perf_counter()
    for batch in batches:
        step(batch)
    print(round(sum(batch.tokens for batch in batches) / (time.perf_counter() - began)))


def speed(data: Path, spins: str | None) -> int:
    environment = {k: v for k, v in os.environ.items() if k != "GOMP_SPINCOUNT"}
    if spins is not None:
        environment["GOMP_SPINCOUNT"] = spins
    command = [sys.executable, __file__, "--data", str(data), "--train"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.data)
        return
    print("target tokens/s          alone   beside a busy program")
    for name, spins in SETTINGS.items():
        alone = speed(arguments.data, spins)
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        try:
            beside = speed(arguments.data, spins)
        finally:
            busy.kill()
            busy.wait()
        print(f"{name:22} {alone:7,} {beside:7,}", flush=True)


if __name__ == "__main__":
    main()
