"""How fast is translating? Ours with both engines against bare CTranslate2, interleaved in one run.

    python benchmarks/engines.py -m fr-en --source test.fr --rounds 5

Several models (-m A -m B) take turns, and their names stand in the table. Each round measures every
way once, so that drift of the machine meets all alike; the table has medians with the lowest and
highest round. "Bare" is CTranslate2 itself, which gets tokens and returns tokens:

    cold start      `translucid translate "…"` as a command, with either engine
    one sentence    one at a time, one thread, milliseconds for each (p50 over the sentences)
    file            all sentences, two threads, sentences per second

`--identical N` compares the engines' translations of N sentences instead: greedy and beam, float32
and int8, alone and in batches. `--cells N` compares the greedy tokens of N random sources in
float32, by a random network for each cell of positions × order of norms × activation × tying; where
they differ, it says how far apart log P of the two is where they part.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import torch

from translucid.checkpoint.model_directory import named_weights
from translucid.config import Activation, ModelConfig, NormOrder, Positions, Tying
from translucid.decoding.config import SearchConfig
from translucid.engines.base import DecoderInput, Pair, SearchOptions
from translucid.engines.ctranslate2 import CTranslate2Engine
from translucid.engines.heads import default_heads
from translucid.engines.pytorch import Member, PyTorchEngine
from translucid.machine import set_thread_count
from translucid.model import Transformer
from translucid.text.tokenizer import BOS, EOS, PAD, UNK
from translucid.translator import Translator, load

COLD = "je suis étudiant"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--model", dest="models", action="append")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--to", default="en")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--identical", type=int, default=0)
    parser.add_argument("--cells", type=int, default=0)
    options = parser.parse_args()
    if options.cells:
        compare_cells(options.cells)
        return
    if options.source is None:
        parser.error("--source FILE is needed: sentences, one per line")
    lines = options.source.read_text(encoding="utf-8").splitlines()
    models = options.models or ["fr-en"]
    if options.identical:
        for model in models:
            compare(model, lines[: options.identical], options.to)
        return
    texts = lines[: options.sentences]
    ways = {
        name if len(models) == 1 else f"{model}: {name}": measure
        for model in models
        for name, measure in {
            **cold_starts(model),
            **single_sentences(model, texts, options.to),
            **files(model, texts, options.to),
        }.items()
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


def compare_cells(count: int) -> None:
    """Print for each cell of settings how many random sources get the same greedy tokens."""
    draw = random.Random(1)
    sources = [(*draw.choices(range(20, 64), k=draw.randint(2, 12)), EOS) for _ in range(count)]
    inputs = [DecoderInput(source, (), ()) for source in sources]
    batches = [inputs[start : start + 100] for start in range(0, count, 100)]
    search = SearchConfig(method="greedy", max_length=12, loop_guard=False)
    options = SearchOptions(search, (), (PAD, UNK, BOS), (), str, token_scores=False)
    names = ("positions", "norm", "activation", "tying")
    cells = itertools.product(
        get_args(Positions), get_args(NormOrder), get_args(Activation), get_args(Tying)
    )
    total = differ = varied = 0
    for number, cell in enumerate(cells):
        fast, slow = random_engines(number, **dict(zip(names, cell, strict=True)))
        found = [one[0].tokens[:12] for batch in batches for one in fast._search(batch, options)]
        expected = [one[0].tokens for batch in batches for one in slow.search(batch, options)]
        others = [
            Pair(source, tokens)
            for source, ours, theirs in zip(sources, expected, found, strict=True)
            if ours != theirs
            for tokens in (ours[: common(ours, theirs) + 1], theirs[: common(ours, theirs) + 1])
        ]
        scores = [
            sum(log_probs[: len(pair.target)])
            for pair, log_probs in zip(others, slow.score(others), strict=True)
        ]
        gaps = [f"{abs(a - b):.0e}" for a, b in zip(scores[::2], scores[1::2], strict=True)]
        total, differ = total + count, differ + len(gaps)
        print(" ".join(cell), f"{count - len(gaps)} of {count} the same", *gaps)
        varied += len(set(expected))
    print(f"{total - differ:,} of {total:,} the same, {varied:,} of them different from each other")


def random_engines(seed: int, **settings: Any) -> tuple[CTranslate2Engine, PyTorchEngine]:
    """Return both engines with the same small network of random weights."""
    torch.manual_seed(seed)
    sizes = {"source_vocab_size": 64, "target_vocab_size": 64, "max_positions": 32}
    layers = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 32, "d_ff": 64, "heads": 4}
    network = Transformer(ModelConfig(**settings, **sizes, **layers)).eval()
    with torch.no_grad():
        for parameter in network.parameters():  # so that translations vary, and biases count
            parameter.add_(torch.randn_like(parameter) * 0.3)
    weights = {name: tensor.numpy() for name, tensor in named_weights(network).items()}
    heads, path = default_heads(network.config), Path("random")
    fast = CTranslate2Engine(
        network.config, weights, heads, precision="float32", threads=2, path=path
    )
    return fast, PyTorchEngine((Member(network, heads),))


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens at the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


if __name__ == "__main__":
    main()
