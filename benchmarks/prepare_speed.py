"""Speed and memory of ``translucid prepare`` against a plain loop over sentencepiece, in one run.

    .venv/bin/python benchmarks/prepare_speed.py [--data-prefix PATH] [--rounds 3] [--repeat 1]

PATH.fr and PATH.en (plain or .gz; other languages by --from and --to) are a line-aligned corpus;
without it the built-in lesson is used. The plain loop is what one would write by hand: one process
that reads the lines, trains a BPE model on them, encodes them and writes the ids with their
offsets. `prepare` also cleans, finds duplicates, keeps the text with its lines, plans an epoch and
can be killed at any moment; it encodes in several processes. Both start as processes of their own
and take turns; the median of the rounds counts. Memory is the largest sum of the resident sets of
all their processes, watched through /proc (Linux).

--repeat N writes the corpus N times with a number in each line, to see how time and memory grow.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

VOCABULARY = 8_000


def plain_loop(source: Path, target: Path, output: Path) -> None:
    """Train and encode in one process, the whole corpus in memory."""
    import sentencepiece

    output.mkdir()
    sides = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in (source, target)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sides[0] + sides[1]),
        model_prefix=str(output / "tokenizer"),
        model_type="bpe",
        vocab_size=VOCABULARY,
        hard_vocab_limit=False,
        byte_fallback=True,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(output / "tokenizer.model"))
    for name, lines in zip(("source", "target"), sides, strict=True):
        with (output / f"{name}.tokens").open("wb") as file:
            lengths = []
            for line in lines:
                ids = processor.encode(line)
                lengths.append(len(ids))
                file.write(np.array(ids, np.uint16).tobytes())
        np.cumsum(lengths, dtype=np.uint64).tofile(output / f"{name}.offsets")


def commands(source: Path, target: Path, languages: tuple[str, str], output: Path, workers: int):
    """Return both competitors as command lines."""
    return {
        "plain loop": [sys.executable, __file__, "--plain", str(source), str(target), str(output)],
        "translucid prepare": [
            *(sys.executable, "-m", "translucid", "prepare", str(source), str(target)),
            *("--from", languages[0], "--to", languages[1], "-o", str(output)),
            *("--vocab-size", str(VOCABULARY), "--workers", str(workers), "--placeholders", "0"),
        ],
    }


def run(command: list[str], output: Path) -> tuple[float, float]:
    """Run a command and return its seconds and the peak of all its processes in MB."""
    shutil.rmtree(output, ignore_errors=True)
    begin = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(resident, family(process.pid))))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"failed with {process.returncode}: {' '.join(command)}")
    return time.monotonic() - begin, peak / 1e6


def family(pid: int) -> Iterator[int]:
    """Yield a process and all below it, as far as they still exist."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return
    for child in children:
        yield from family(int(child))


def resident(pid: int) -> int:
    """Return the bytes of a process that are in memory."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def corpus(
    prefix: Path | None, languages: tuple[str, str], repeat: int, folder: Path
) -> tuple[Path, Path]:
    """Write the corpus as two plain files."""
    paths = tuple(folder / f"corpus.{lang}" for lang in languages)
    for path, lines in zip(paths, sides(prefix, languages), strict=True):
        with path.open("w", encoding="utf-8") as file:
            for copy in range(repeat):
                file.writelines(f"{line} {copy}\n" if copy else f"{line}\n" for line in lines)
    return paths[0], paths[1]


def sides(prefix: Path | None, languages: tuple[str, str]) -> list[list[str]]:
    if prefix is None:
        from translucid.data.readers.built_in import lesson_pairs

        return [list(side) for side in zip(*lesson_pairs("train"), strict=True)]
    found = []
    for lang in languages:
        plain, packed = Path(f"{prefix}.{lang}"), Path(f"{prefix}.{lang}.gz")
        data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
        found.append(data.decode().split("\n")[:-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-prefix", type=Path, help="PATH of PATH.fr and PATH.en")
    parser.add_argument("--from", dest="source", default="fr")
    parser.add_argument("--to", dest="target", default="en")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=["plain loop", "translucid prepare"])
    parser.add_argument("--plain", nargs=3, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.plain:
        plain_loop(*chosen.plain)
        return
    languages = (chosen.source, chosen.target)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = corpus(chosen.data_prefix, languages, chosen.repeat, folder)
        with source.open("rb") as file:
            pairs = sum(1 for _ in file)
        measured: dict[str, list[tuple[float, float]]] = {}
        for _ in range(chosen.rounds):
            every = commands(source, target, languages, folder / "output", chosen.workers)
            for contender, command in every.items():
                if chosen.only in {None, contender}:
                    result = run(command, folder / "output")
                    measured.setdefault(contender, []).append(result)
    print(f"{pairs:,} pairs, {chosen.workers} workers, median of {chosen.rounds} rounds")
    print(f"{'':20} {'seconds':>8} {'sentences/s':>12} {'peak MB':>8}")
    for contender, rounds in measured.items():
        seconds = statistics.median(second for second, _ in rounds)
        peak = statistics.median(peak for _, peak in rounds)
        print(f"{contender:20} {seconds:8.1f} {2 * pairs / seconds:12,.0f} {peak:8,.0f}")


if __name__ == "__main__":
    main()
