"""Peak memory and time of planning and reading one epoch of a large synthetic data set.

    python benchmarks/plan_memory.py --folder /tmp/plan-memory

writes a data folder of 20 million pairs in two directions (about 2 GB, removed afterwards), then,
in a process of its own, opens it, plans an epoch and reads every batch of another as tensors, which
takes about a quarter of an hour; `--batches N` reads the first N only. Memory is the peak of the
resident set, in which mapped pages of the files count. Lengths are log-normal with the mean and
spread of everyday sentences.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from translucid.data.batches import Batches, load_examples
from translucid.data.loader import Loader
from translucid.data.manifest import VERSION, CorpusEntry, Manifest, TokenizerEntry
from translucid.data.shards import (
    TOKENIZER,
    Record,
    merge_parts,
    open_data,
    write_manifest,
    write_part,
)

PART = 200_000
VOCABULARY = 8_000


def records(count: int) -> Iterator[Record]:
    random = np.random.default_rng(1)
    source = np.clip(random.lognormal(2.3, 0.45, count), 1, 100).astype(int)
    target = np.clip(source * random.lognormal(-0.1, 0.25, count), 1, 100).astype(int)
    for line, (s, t) in enumerate(zip(source.tolist(), target.tolist(), strict=True), start=1):
        ids = random.integers(20, VOCABULARY, s + t).tolist()
        yield Record("?", "!", ids[:s], ids[s:], 0, line)


def build(folder: Path, pairs: int) -> None:
    size = min(PART, pairs)
    tokenizer = b"a stand-in: this benchmark encodes nothing"
    manifest = Manifest(
        version=VERSION,
        source_lang="fr",
        target_lang="en",
        languages={"en": 0, "fr": 1},
        directions=(("fr", "en"), ("en", "fr")),
        tagged=True,
        tokenizer=TokenizerEntry("bpe", VOCABULARY, hashlib.sha256(tokenizer).hexdigest()),
        corpora=(CorpusEntry(("synthetic",), 1.0, pairs),),
        splits={},
        settings={},
    )
    write_part(folder / "part", records(size), manifest.layout)
    parts = [folder / "part"] * (pairs // size)
    entry = merge_parts(parts, folder / "train", manifest.layout)
    (folder / TOKENIZER).write_bytes(tokenizer)
    write_manifest(folder, Manifest(**{**vars(manifest), "splits": {"train": entry}}))


def peak() -> float:
    """The peak of this process's resident memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(folder: Path, max_tokens: int, most: int | None) -> dict[str, float]:
    start, before = time.perf_counter(), peak()
    data = open_data(folder)
    batches = Batches(load_examples(data, "train"), max_tokens=max_tokens, seed=1)
    opened = time.perf_counter()
    epoch = batches.epoch(0)
    planned, planning_peak = time.perf_counter(), peak()
    count, share = len(epoch), epoch.padding_share
    del epoch
    reading = time.perf_counter()
    read = tokens = 0
    with Loader(batches, sampling=None, ahead=4, pin=False).epoch(1) as loaded:
        for batch in itertools.islice(loaded, most):
            read, tokens = read + 1, tokens + batch.tokens
    done = time.perf_counter()
    return {
        "pairs": len(data.split("train")),
        "micro-batches": count,
        "padding share": share,
        "micro-batches read": read,
        "target tokens read": tokens,
        "seconds to open and check lengths": opened - start,
        "seconds to plan": planned - opened,
        "seconds to plan again and read": done - reading,
        "peak MB after imports": before,
        "peak MB after planning": planning_peak,
        "peak MB at the end": peak(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="a new folder for the shards")
    parser.add_argument("--pairs", type=int, default=20_000_000)
    parser.add_argument("--max-tokens", type=int, default=4096)
    parser.add_argument("--batches", type=int, help="how many to read (default: all)")
    parser.add_argument("--measure", action="store_true", help="only read a folder made before")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.folder, options.max_tokens, options.batches)))
        return
    start = time.perf_counter()
    options.folder.mkdir(parents=True)
    try:
        build(options.folder, options.pairs)
        size = sum(p.stat().st_size for p in (options.folder / "train").iterdir()) / 1e9
        print(f"wrote {size:.2f} GB in {time.perf_counter() - start:.0f} s, peak {peak():.0f} MB")
        command = [sys.executable, __file__, "--folder", str(options.folder), "--measure"]
        command += ["--max-tokens", str(options.max_tokens)]
        if options.batches is not None:
            command += ["--batches", str(options.batches)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        for name, value in json.loads(done.stdout).items():
            print(f"{name:36} {value:,.4g}" if value < 100 else f"{name:36} {value:,.0f}")
    finally:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
