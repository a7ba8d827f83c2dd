"""How fast is translating? Ours with both engines against bare CTranslate2, interleaved in one run.

    python benchmarks/engines.py -m fr-en --source test.fr --rounds 5

Each round measures every way once, so that drift of the machine meets all alike; the table has
medians with the lowest and highest round, and ratios to bare CTranslate2, which gets tokens and
returns tokens:

    cold start      `translucid translate "…"` as a command, with either engine
    one sentence    one at a time, one thread, milliseconds for each (p50 over the sentences)
    file            all sentences, two threads, sentences per second

`--identical N` compares the engines' translations of N sentences instead: greedy and beam, float32
and int8, alone and in batches.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from translucid.machine import set_thread_count
from translucid.translator import Translator, load

COLD = "je suis étudiant"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--model", default="fr-en")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--to", default="en")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--identical", type=int, default=0)
    options = parser.parse_args()
    lines = options.source.read_text(encoding="utf-8").splitlines()
    if options.identical:
        compare(options.model, lines[: options.identical], options.to)
        return
    texts = lines[: options.sentences]
    ways = {
        **cold_starts(options.model),
        **single_sentences(options.model, texts, options.to),
        **files(options.model, texts, options.to),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, measure in ways.items():
            found[name].append(measure())
    for name, values in found.items():
        print(f"{name:48} {statistics.median(values):10.3f}  ({min(values):.3f}-{max(values):.3f})")


def cold_starts(model: str) -> dict[str, Callable[[], float]]:
    def measure(engine: str) -> float:
        command = [sys.executable, "-m", "translucid", "translate", COLD, "-m", model]
        begin = time.perf_counter()
        subprocess.run([*command, "--engine", engine], check=True, capture_output=True)
        return time.perf_counter() - begin

    return {
        f"cold start, {engine}, s": lambda engine=engine: measure(engine)
        for engine in ("ctranslate2", "pytorch")
    }


def single_sentences(model: str, texts: list[str], to: str) -> dict[str, Callable[[], float]]:
    ways: dict[str, Callable[[], float]] = {}
    for beam in (1, 4):
        for precision in ("float32", "int8"):
            translator = quick(model, precision, threads=1)
            name = f"one sentence, beam {beam}, {precision}"
            ways[f"{name}, ours, ms"] = one_by_one(ours(translator, to, beam), texts)
            tokens = [words(translator, text, to) for text in texts]
            ways[f"{name}, bare ctranslate2, ms"] = one_by_one(bare(translator, beam), tokens)
        slow = load(model, engine="pytorch")
        ways[f"one sentence, beam {beam}, pytorch, ms"] = one_by_one(
            ours(slow, to, beam), texts, threads=1
        )
    return ways


def files(model: str, texts: list[str], to: str) -> dict[str, Callable[[], float]]:
    ways: dict[str, Callable[[], float]] = {}
    for precision in ("float32", "int8"):
        translator = quick(model, precision, threads=2)
        tokens = [words(translator, text, to) for text in texts]
        ways[f"file, beam 4, {precision}, ours, sentences/s"] = rate(
            lambda t=translator: t.translate(texts, target=to, beam=4), len(texts)
        )
        ways[f"file, beam 4, {precision}, bare, sentences/s"] = rate(
            lambda t=translator, rows=tokens: search(t, rows, 4, max_batch_size=64), len(texts)
        )
    slow = load(model, engine="pytorch")
    ways["file, beam 4, pytorch, sentences/s"] = rate(
        lambda: slow.translate(texts, target=to, beam=4), len(texts)
    )
    return ways


def quick(model: str, precision: Any, threads: int) -> Translator:
    set_thread_count(threads)
    return load(model, engine="ctranslate2", precision=precision)


def words(translator: Translator, text: str, to: str) -> list[str]:
    """Return what the engine reads for a line."""
    batch = translator.encode([text], translator.build_request(target=to))
    return [str(token) for item in batch.inputs for token in item.source]


def ours(translator: Translator, to: str, beam: int) -> Callable[[str], Any]:
    method = "greedy" if beam == 1 else "beam"
    options = {} if beam == 1 else {"beam": beam}
    return lambda text: translator.translate(text, target=to, method=method, **options)


def bare(translator: Translator, beam: int) -> Callable[[list[str]], Any]:
    return lambda row: search(translator, [row], beam)


def search(translator: Translator, rows: list[list[str]], beam: int, **options: Any) -> Any:
    engine = translator.engines.fast
    assert engine is not None
    return engine._translator.translate_batch(
        rows, beam_size=beam, length_penalty=0.6, max_decoding_length=250, **options
    )


def one_by_one(
    work: Callable[[Any], Any], items: list[Any], threads: int | None = None
) -> Callable[[], float]:
    """Measure the median time of an item, in milliseconds."""

    def measure() -> float:
        if threads is not None:
            set_thread_count(threads)
        times = []
        for item in items:
            begin = time.perf_counter()
            work(item)
            times.append(time.perf_counter() - begin)
        if threads is not None:
            set_thread_count(2)
        return 1000 * statistics.median(times)

    return measure


def rate(work: Callable[[], Any], count: int) -> Callable[[], float]:
    def measure() -> float:
        begin = time.perf_counter()
        work()
        return count / (time.perf_counter() - begin)

    return measure


def compare(model: str, texts: list[str], to: str) -> None:
    """Print how many translations are the same as PyTorch's, and as those made alone."""
    slow = load(model, engine="pytorch")
    for method in ("greedy", "beam"):
        expected = [one.text for one in slow.translate(texts, target=to, method=method)]
        for precision in ("float32", "int8"):
            fast = load(model, engine="ctranslate2", precision=precision)
            found = [one.text for one in fast.translate(texts, target=to, method=method)]
            alone = [fast.translate(text, target=to, method=method).text for text in texts]
            same = sum(a == b for a, b in zip(found, expected, strict=True))
            steady = sum(a == b for a, b in zip(found, alone, strict=True))
            print(
                f"{method}, {precision}: {same} of {len(texts)} as PyTorch, "
                f"{steady} as when translated alone"
            )


if __name__ == "__main__":
    main()
