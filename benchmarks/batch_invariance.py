"""Does a translation depend on what else is in its batch? Count those that do.

    .venv/bin/python benchmarks/batch_invariance.py --model MODEL --source FILE [--sentences 2000]

Translates the first sentences of FILE in batches of 64 with two threads, by greedy and by beam
search; then again in batches of 7 and of 1, in shuffled order, and with one thread; and counts the
translations that differ. Where any does, it is shown with both scores: a tie in float32.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

import translucid
from translucid.translator import Translation, Translator

THREADS = 2


def variants(
    translator: Translator, texts: Sequence[str], method: str
) -> Iterator[tuple[str, list[Translation]]]:
    search = translator.default_search.replace(method=method)

    def translated(some: Sequence[str], batch_size: int, threads: int) -> list[Translation]:
        torch.set_num_threads(threads)
        return translator.translate(some, search=search, batch_size=batch_size)

    yield "batches of 64", translated(texts, 64, THREADS)
    yield "batches of 7", translated(texts, 7, THREADS)
    yield "batches of 1", translated(texts, 1, THREADS)
    yield "one thread", translated(texts, 64, 1)
    order = random.Random(1).sample(range(len(texts)), len(texts))
    found = translated([texts[place] for place in order], 64, THREADS)
    back = dict(zip(order, found, strict=True))
    yield "shuffled", [back[place] for place in range(len(texts))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True, help="text, plain or .gz")
    parser.add_argument("--sentences", type=int, default=2000)
    arguments = parser.parse_args()
    opened = gzip.open if arguments.source.suffix == ".gz" else open
    with opened(arguments.source, "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in itertools.islice(file, arguments.sentences)]
    translator = translucid.load(arguments.model)
    for method in ("greedy", "beam"):
        first: list[Translation] = []
        began = time.perf_counter()
        for name, found in variants(translator, texts, method):
            first = first or found
            pairs = [
                pair for pair in zip(first, found, strict=True) if pair[0].text != pair[1].text
            ]
            seconds = time.perf_counter() - began
            print(f"{method:7} {name:14} {len(pairs)} of {len(texts)} differ  ({seconds:.0f} s)")
            for one, other in pairs:
                print(f"    {one.score:.6f} {one.text!r}\n    {other.score:.6f} {other.text!r}")
            began = time.perf_counter()


if __name__ == "__main__":
    main()
