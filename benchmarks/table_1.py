"""Table 1 of the paper, measured: time and memory of a layer against the length of the sequence.

    python benchmarks/table_1.py -o table-1

Each layer reads one sequence of n vectors of 512 numbers and is trained one step (forward and
backward). The paper's table says what each should cost:

    self-attention   O(n² · d)      every position looks at every other
    recurrent        O(n · d²)      one position after another
    convolutional    O(k · n · d²)  each position looks at k neighbours

Every measurement is a process of its own, so that its peak of memory can be told; the layers take
turns. FOLDER/table-1.md and FOLDER/table-1.svg are written; dashed lines in the figure have the
slopes of the theory, n² and n.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, line, path, text
from translucid.model.attention import MultiHeadAttention, spelled_out

D_MODEL, HEADS, KERNEL = 512, 8, 3
LAYERS = {"self-attention": 2, "recurrent (LSTM)": 1, "convolution, k = 3": 1}  # slopes of theory
SHORTEST_MEASURED = 0.4  # seconds of work, at least, in one measurement


def layer(name: str) -> Callable[[Tensor], Tensor]:
    if name == "self-attention":
        sizes = {"source_vocab_size": 1, "target_vocab_size": 1, "d_model": D_MODEL, "heads": HEADS}
        attention = MultiHeadAttention(ModelConfig(**sizes, attention_dropout=0.0))
        attention.kernel = spelled_out  # the weights are n², as in the paper, and are kept
        return lambda x_BLD: attention.attend(
            x_BLD, *attention.keys_values(x_BLD, None), None, None
        )
    if name == "recurrent (LSTM)":
        recurrent = nn.LSTM(D_MODEL, D_MODEL, batch_first=True)
        return lambda x_BLD: recurrent(x_BLD)[0]
    convolution = nn.Conv1d(D_MODEL, D_MODEL, KERNEL, padding=KERNEL // 2)
    return lambda x_BLD: convolution(x_BLD.transpose(1, 2)).transpose(1, 2)


def measure(name: str, length: int) -> dict[str, float]:
    """Return the seconds of a training step of a layer, and what it added to the peak of memory."""
    torch.manual_seed(0)
    run = layer(name)
    x_BLD = torch.randn(1, length, D_MODEL, requires_grad=True)
    run(x_BLD[:, :8]).sum().backward()  # first calls prepare what later ones reuse
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times: list[float] = []
    while len(times) < 3 or sum(times) < SHORTEST_MEASURED:
        began = time.perf_counter()
        run(x_BLD).sum().backward()
        times.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": min(times), "megabytes": (after - before) / 1024}


def in_a_process(name: str, length: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", name, str(length)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured(lengths: Sequence[int], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return for each layer the medians of seconds and megabytes, one a length."""
    found: dict[str, dict[str, list[list[float]]]] = {
        name: {"seconds": [[] for _ in lengths], "megabytes": [[] for _ in lengths]}
        for name in LAYERS
    }
    for number in range(rounds):
        for place, length in enumerate(lengths):
            for name in LAYERS:
                for what, value in in_a_process(name, length).items():
                    found[name][what][place].append(value)
            print(f"round {number + 1} of {rounds}, n = {length:,}", file=sys.stderr)
    return {
        name: {what: [statistics.median(v) for v in values] for what, values in each.items()}
        for name, each in found.items()
    }


def table(lengths: Sequence[int], found: dict[str, dict[str, list[float]]]) -> str:
    names = list(found)
    lines = [
        "| n | " + " | ".join(f"{name}, ms" for name in names)
        + " | " + " | ".join(f"{name}, MB" for name in names) + " |",
        "|--:|" + "--:|" * (2 * len(names)),
    ]  # fmt: skip
    for place, length in enumerate(lengths):
        times = " | ".join(f"{1000 * found[name]['seconds'][place]:,.2f}" for name in names)
        sizes = " | ".join(f"{found[name]['megabytes'][place]:,.0f}" for name in names)
        lines.append(f"| {length:,} | {times} | {sizes} |")
    slopes = ", ".join(
        f"{name} {slope(lengths, found[name]['seconds']):.2f} (theory {LAYERS[name]})"
        for name in names
    )
    return "\n".join([*lines, "", f"Slope of the time over the last octave of n: {slopes}."]) + "\n"


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    return math.log(values[-1] / values[-2]) / math.log(lengths[-1] / lengths[-2])


def figure(lengths: Sequence[int], found: dict[str, dict[str, list[float]]]) -> Drawing:
    title = "Table 1 of the paper, measured"
    notes = [
        f"One layer of d = {D_MODEL}, one sequence, forward and backward. Dashed: the slope of "
        "theory, n² for self-attention and n for the others, through the last point."
    ]
    parts, top = heading(title, 900, notes)
    parts += _plot(lengths, {n: [1000 * v for v in f["seconds"]] for n, f in found.items()},
                   (60, top + 24), "milliseconds")  # fmt: skip
    parts += _plot(lengths, {n: f["megabytes"] for n, f in found.items()},
                   (510, top + 24), "megabytes of memory")  # fmt: skip
    words = "; ".join(
        f"{name}: {1000 * each['seconds'][-1]:.0f} ms, {each['megabytes'][-1]:.0f} MB "
        f"at n = {lengths[-1]}"
        for name, each in found.items()
    )
    return Drawing(900, top + 24 + 330 + 60 + MARGIN, title, words, "".join(parts))


def _plot(
    lengths: Sequence[int], values: dict[str, list[float]], at: tuple[float, float], unit: str
) -> list[str]:
    """Draw lines over two logarithmic axes, each with its theoretical slope."""
    left, top = at
    wide, high = 340.0, 330.0
    known = [max(v, 0.05) for each in values.values() for v in each]
    low, most = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    first, last = math.log2(lengths[0]), math.log2(lengths[-1])

    def x(length: float) -> float:
        return left + wide * (math.log2(length) - first) / (last - first)

    def y(value: float) -> float:
        return top + high * (1 - (math.log10(max(value, 10**low)) - low) / (most - low))

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
        points = " ".join(f"{x(n):.1f} {y(v):.1f}" for n, v in zip(lengths, each, strict=True))
        parts.append(path("M" + "L".join(_pairs(points)), f"s{number}"))
        begin = each[-1] * (lengths[len(lengths) // 2] / lengths[-1]) ** LAYERS[name]
        ideal = (x(lengths[len(lengths) // 2]), y(begin), x(lengths[-1]), y(each[-1]))
        parts.append(line(*ideal, "gone"))
        parts.append(text(left + 10, top + 18 + 18 * number, name, f"t{number}"))
    return parts


def _pairs(points: str) -> list[str]:
    numbers = points.split()
    return [f"{a} {b}" for a, b in zip(numbers[::2], numbers[1::2], strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out/table-1"), metavar="FOLDER")
    parser.add_argument("--longest", type=int, default=4096, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--measure", nargs=2, metavar=("LAYER", "N"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.measure[0], int(asked.measure[1]))))
        return
    lengths = [2**power for power in range(5, int(math.log2(asked.longest)) + 1)]
    found = measured(lengths, asked.rounds)
    asked.output.mkdir(parents=True, exist_ok=True)
    told = table(lengths, found)
    (asked.output / "table-1.md").write_text(told, encoding="utf-8")
    (asked.output / "table-1.svg").write_text(figure(lengths, found).svg, encoding="utf-8")
    print(told, end="")
    print(f"{torch.get_num_threads()} threads, PyTorch {torch.__version__}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
