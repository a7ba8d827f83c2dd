"""Translate a corpus of any size on many cores or machines, with Ray Data.

    pip install translucid 'ray[data]'
    python examples/ray_translate.py corpus.fr corpus.en --model fr-en --to en

The file is divided into blocks of lines. One actor per core loads the model and translates blocks;
their translations are written in the order of the file, line by line. What is in memory at a time
are the blocks under way, however long the file is. The translations are those of `translucid
translate`, all of them in float32; in int8, one in some thousands depends on what is computed
beside it, whatever computes it.

If an actor or its machine dies, Ray starts another one, which translates the block again. If this
program dies, the same command continues after the lines that are in OUTPUT.partial. On a cluster
(`ray start`), give `--address auto`; the input and the model must be at the same place on all
machines, the output only on this one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ray
import ray.data

import translucid
from translucid.config import Precision

BLOCK = 1 << 17  # bytes: about two thousand sentences, or some seconds of work for one core


class Done(NamedTuple):
    """A block that is translated: the process that did it, and the number of its lines."""

    worker: int
    lines: int


class BlockTranslator:
    """Translates blocks of a file; each actor has one."""

    def __init__(
        self, model: str, source: str, target: str | None, precision: Precision | None
    ) -> None:
        self.model = translucid.load(model, precision=precision)
        self.source, self.target = source, target

    def __call__(self, blocks: dict[str, Any]) -> dict[str, list[Any]]:
        """Return the translation of each block."""
        pairs = zip(blocks["begin"], blocks["end"], strict=True)
        texts = [self.translate(int(begin), int(end)) for begin, end in pairs]
        return {
            "text": texts,
            "lines": [text.count("\n") for text in texts],
            "worker": [os.getpid()] * len(texts),
        }

    def translate(self, begin: int, end: int) -> str:
        """Return the translations of the lines in a block, each with its line's end."""
        lines, ends = [], []
        for line in read_block(self.source, begin, end):
            text = line.rstrip("\n").removesuffix("\r")
            lines.append(text)
            ends.append(line[len(text) :])
        translated = self.model.translate(lines, target=self.target)
        return "".join(one.text + end for one, end in zip(translated, ends, strict=True))


def read_block(source: str, begin: int, end: int) -> Iterator[str]:
    """Yield the lines of a file that begin between two of its bytes."""
    with Path(source).open("rb") as file:
        if begin:
            file.seek(begin - 1)
            file.readline()  # to the end of a line that began before
        while file.tell() < end and (line := file.readline()):
            text = line.decode("utf-8")
            yield text.removeprefix("\ufeff") if file.tell() == len(line) else text


def translate_corpus(
    source: Path,
    output: Path,
    *,
    model: str,
    target: str | None = None,
    precision: Precision | None = None,
    workers: int | None = None,
    block: int = BLOCK,
    on_block: Callable[[Done], None] = lambda _: None,
) -> int:
    """Translate a file into another one; return the number of lines.

    There is one worker per core of the cluster, unless their number is given. `on_block` is called
    when a block is written.
    """
    partial = output.with_name(f"{output.name}.partial")
    lines = keep_whole_lines(partial)
    first, size = find_line(source, lines), source.stat().st_size
    begins = range(first, size, block)
    blocks = [{"begin": begin, "end": min(begin + block, size)} for begin in begins]
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    with partial.open("ab") as file:
        if blocks:
            translated = ray.data.from_items(blocks, override_num_blocks=len(blocks)).map_batches(
                BlockTranslator,
                fn_constructor_args=(model, str(source.absolute()), target, precision),
                batch_size=1,
                num_cpus=1,
                compute=ray.data.ActorPoolStrategy(size=workers or cores()),
            )
            for row in translated.iter_rows():
                file.write(row["text"].encode())
                file.flush()
                lines += row["lines"]
                on_block(Done(row["worker"], row["lines"]))
        os.fsync(file.fileno())
    partial.replace(output)
    return lines


def cores() -> int:
    """Return the number of cores of the cluster."""
    return int(ray.cluster_resources()["CPU"])


def keep_whole_lines(partial: Path) -> int:
    """Cut off a line that was written in part; return the number of the others."""
    if not partial.exists():
        return 0
    lines = length = 0
    with partial.open("rb+") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines, length = lines + 1, length + len(line)
        file.truncate(length)
    return lines


def find_line(source: Path, number: int) -> int:
    """Return the byte at which a line begins, counted from 0."""
    with source.open("rb") as file:
        return sum(len(file.readline()) for _ in range(number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, metavar="INPUT", help="a text file, UTF-8")
    parser.add_argument("output", type=Path, metavar="OUTPUT")
    parser.add_argument("--model", default="fr-en", help="model directory, or a built-in one")
    parser.add_argument("--to", dest="target", help="target language, of models with several")
    parser.add_argument("--precision", choices=["int8", "float32"], help="default: the model's")
    parser.add_argument("--workers", type=int, help="default: one per core of the cluster")
    parser.add_argument("--block", type=int, default=BLOCK, help="bytes of a block")
    parser.add_argument("--address", help="of a cluster; default: this machine")
    given = parser.parse_args()
    ray.init(address=given.address)
    started, blocks = time.monotonic(), 0

    def report(done: Done) -> None:
        nonlocal blocks
        blocks += done.lines
        speed = blocks / (time.monotonic() - started)
        print(f"{blocks:,} lines, {speed:,.0f} per second", end="\r", flush=True)

    lines = translate_corpus(
        given.source,
        given.output,
        model=given.model,
        target=given.target,
        precision=given.precision,
        workers=given.workers,
        block=given.block,
        on_block=report,
    )
    print(f"\n{lines:,} lines in {given.output}")


if __name__ == "__main__":
    main()
