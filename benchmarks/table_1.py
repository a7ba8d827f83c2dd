"""Table 1 of the paper, measured: time and memory of a layer against the length of the sequence.

    python benchmarks/table_1.py -o table-1

Each layer reads one sequence of n vectors of d = 512 numbers and is trained one step (forward and
backward). The paper's table says how the work of each grows; beside it, the multiplications of a
forward pass, projections counted:

    self-attention   O(n² · d)      2 · n² · d + 4 · n · d²   every position looks at every other
    recurrent        O(n · d²)      8 · n · d²                one position after another
    convolutional    O(k · n · d²)  k · n · d²                each position looks at k neighbours

Self-attention is measured twice: as the paper's equation 1 has it, with all n² weights at hand, and
by PyTorch's fused kernel, which never holds them all. The layers take turns; the shortest time of a
round and the median of the rounds count. Memory is the most that tensors made by the step took at
once, as PyTorch's profiler tells it. FOLDER/table-1.md and FOLDER/table-1.svg are written.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from translucid.config import ModelConfig
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, line, path, text
from translucid.model.attention import MultiHeadAttention, eager, sdpa

D_MODEL, HEADS, KERNEL = 512, 8, 3
ATTENTION, FUSED = "self-attention", "self-attention, fused"
RECURRENT, CONVOLUTION = "recurrent (LSTM)", f"convolution, k = {KERNEL}"
LAYERS = (ATTENTION, FUSED, RECURRENT, CONVOLUTION)
SHORTEST_MEASURED = 0.4  # seconds of work, at least, in one measurement
SHORTEST = 32  # vectors; each next sequence is twice as long
FITTED = 4  # of the longest lengths: the slope is that of a line through them

Layer = Callable[[Tensor], Tensor]


def layer(name: str) -> Layer:
    torch.manual_seed(0)
    if name == RECURRENT:
        recurrent = nn.LSTM(D_MODEL, D_MODEL, batch_first=True)
        return lambda x_BLD: recurrent(x_BLD)[0]
    if name == CONVOLUTION:
        convolution = nn.Conv1d(D_MODEL, D_MODEL, KERNEL, padding=KERNEL // 2)
        return lambda x_BLD: convolution(x_BLD.transpose(1, 2)).transpose(1, 2)
    sizes = {"source_vocab_size": 1, "target_vocab_size": 1, "d_model": D_MODEL, "heads": HEADS}
    attention = MultiHeadAttention(ModelConfig(**sizes, attention_dropout=0.0))
    attention.kernel = eager if name == ATTENTION else sdpa
    return lambda x_BLD: attention.attend(x_BLD, *attention.keys_values(x_BLD, None), None, None)


def multiplications(name: str, n: int) -> float:
    """Return those of a forward pass."""
    d = D_MODEL
    if name == RECURRENT:
        return 8 * n * d**2
    if name == CONVOLUTION:
        return KERNEL * n * d**2
    return 2 * n**2 * d + 4 * n * d**2


def numbers_kept(name: str, n: int) -> float:
    """Return how the numbers that a layer keeps for its gradients grow: n·d, and attention's n²."""
    return n * D_MODEL + (HEADS * n**2 if name == ATTENTION else 0)


def train_step(run: Layer, x_BLD: Tensor) -> None:
    run(x_BLD).sum().backward()


def seconds(run: Layer, x_BLD: Tensor) -> float:
    """Return the shortest time of a step."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < SHORTEST_MEASURED:
        began = time.perf_counter()
        train_step(run, x_BLD)
        times.append(time.perf_counter() - began)
    return min(times)


def megabytes(run: Layer, x_BLD: Tensor) -> float:
    """Return the most that tensors made by a step took at once; gradients are there before it."""
    train_step(run, x_BLD)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as told:
        train_step(run, x_BLD)
    events = [e for e in told.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most / 1e6


Found = dict[str, dict[str, list[float]]]


def measured(lengths: Sequence[int], rounds: int) -> Found:
    """Return for each layer its seconds and megabytes, one a length."""
    layers = {name: layer(name) for name in LAYERS}
    inputs = [torch.randn(1, length, D_MODEL, requires_grad=True) for length in lengths]
    memory = {name: [megabytes(run, x) for x in inputs] for name, run in layers.items()}
    times: dict[str, list[list[float]]] = {name: [[] for _ in lengths] for name in LAYERS}
    for number in range(rounds):
        for place, x_BLD in enumerate(inputs):
            for name, run in layers.items():
                times[name][place].append(seconds(run, x_BLD))
            print(f"round {number + 1} of {rounds}, n = {lengths[place]:,}", file=sys.stderr)
    return {
        name: {"seconds": [statistics.median(v) for v in times[name]], "megabytes": memory[name]}
        for name in LAYERS
    }


def table(lengths: Sequence[int], found: Found) -> str:
    names = list(found)
    lines = [
        "| n | " + " | ".join(f"{name}, ms" for name in names)
        + " | " + " | ".join(f"{name}, MB" for name in names) + " |",
        "|--:|" + "--:|" * (2 * len(names)),
    ]  # fmt: skip
    for place, length in enumerate(lengths):
        times = " | ".join(f"{1000 * found[name]['seconds'][place]:,.2f}" for name in names)
        sizes = " | ".join(f"{found[name]['megabytes'][place]:,.1f}" for name in names)
        lines.append(f"| {length:,} | {times} | {sizes} |")
    lines += [
        "",
        f"| exponent of n, from {lengths[-FITTED]:,} to {lengths[-1]:,} | time "
        "| multiplications | paper, for n ≫ d | memory |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, each in found.items():
        counts = [multiplications(name, n) for n in lengths]
        paper = 2 if name in (ATTENTION, FUSED) else 1
        lines.append(
            f"| {name} | {slope(lengths, each['seconds']):.2f} | {slope(lengths, counts):.2f} "
            f"| {paper} | {slope(lengths, each['megabytes']):.2f} |"
        )
    return "\n".join(lines) + "\n"


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    """Return the exponent of n over the longest lengths, by least squares of logarithms."""
    across, up = ([math.log(v) for v in each[-FITTED:]] for each in (lengths, values))
    return statistics.linear_regression(across, up).slope


def figure(lengths: Sequence[int], found: Found) -> Drawing:
    title = "Table 1 of the paper, measured"
    notes = [
        f"One layer of d = {D_MODEL}, one sequence, forward and backward. Dashed: theory, through "
        "the last point.",
        f"Time: multiplications, 2n²d + 4nd² (self-attention), 8nd² (LSTM), {KERNEL}nd² "
        f"(convolution). Memory: nd, and {HEADS}n² with all weights kept.",
    ]
    parts, top = heading(title, 900, notes)
    parts += _plot(lengths, {n: [1000 * v for v in f["seconds"]] for n, f in found.items()},
                   multiplications, (60, top + 24), "milliseconds")  # fmt: skip
    parts += _plot(lengths, {n: f["megabytes"] for n, f in found.items()},
                   numbers_kept, (510, top + 24), "megabytes of memory")  # fmt: skip
    words = "; ".join(
        f"{name}: {1000 * each['seconds'][-1]:.0f} ms, {each['megabytes'][-1]:.0f} MB "
        f"at n = {lengths[-1]}"
        for name, each in found.items()
    )
    return Drawing(900, top + 24 + 330 + 60 + MARGIN, title, words, "".join(parts))


def _plot(
    lengths: Sequence[int],
    values: dict[str, list[float]],
    theory: Callable[[str, int], float],
    at: tuple[float, float],
    unit: str,
) -> list[str]:
    """Draw lines over two logarithmic axes, each with what theory says of it."""
    left, top = at
    wide, high = 340.0, 330.0
    known = [v for each in values.values() for v in each]
    low, most = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    first, last = math.log2(lengths[0]), math.log2(lengths[-1])

    def x(length: float) -> float:
        return left + wide * (math.log2(length) - first) / (last - first)

    def y(value: float) -> float:
        return top + high * (1 - (math.log10(max(value, 10**low)) - low) / (most - low))

    def curve(over: Sequence[int], heights: Sequence[float], kind: str) -> str:
        points = (f"{x(n):.1f} {y(v):.1f}" for n, v in zip(over, heights, strict=True))
        return path("M" + "L".join(points), kind)

    parts = [text(left - 44, top - 10, unit, "muted")]
    for power in range(low, most + 1):
        parts.append(line(left, y(10**power), left + wide, y(10**power), "frame"))
        parts.append(text(left - 8, y(10**power) + 4, f"{10.0**power:g}", "muted", anchor="end"))
    parts += [
        text(x(length), top + high + 18, f"{length:,}", "muted", anchor="middle")
        for length in lengths[::2]
    ]
    parts.append(text(left + wide / 2, top + high + 38, "n", "muted", anchor="middle"))
    for number, (name, each) in enumerate(values.items()):
        expected = [each[-1] * theory(name, n) / theory(name, lengths[-1]) for n in lengths]
        parts.append(curve(lengths[-FITTED:], expected[-FITTED:], "gone"))
        parts.append(curve(lengths, each, f"s{number}"))
        parts.append(text(left + 10, top + 18 + 18 * number, name, f"t{number}"))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out/table-1"), metavar="FOLDER")
    parser.add_argument("--longest", type=int, default=4096, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    asked = parser.parse_args()
    if asked.longest < SHORTEST * 2 ** (FITTED - 1) or asked.rounds < 1:
        parser.error(f"--longest is at least {SHORTEST * 2 ** (FITTED - 1)}, --rounds at least 1")
    doublings = int(math.log2(asked.longest / SHORTEST))
    lengths = [SHORTEST * 2**power for power in range(doublings + 1)]
    found = measured(lengths, asked.rounds)
    asked.output.mkdir(parents=True, exist_ok=True)
    told = table(lengths, found)
    (asked.output / "table-1.md").write_text(told, encoding="utf-8")
    (asked.output / "table-1.svg").write_text(figure(lengths, found).svg, encoding="utf-8")
    print(told, end="")
    print(f"{torch.get_num_threads()} threads, PyTorch {torch.__version__}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
