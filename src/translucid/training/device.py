"""Where to compute, in which precision, and how fast the machine could be.

bfloat16 halves the memory and the time of matrix products where a processor really has it. Some
only say so: on a virtual machine that shows AMX and does not let it run, the first product kills
the process by an illegal instruction. So a child process tries it, and tells how fast it was::

    this process ── python -m translucid.training.device cpu ──▶ child: bf16, fp32
         ◀── two times, or the way in which it died ──────────────┘
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from translucid.anatomy import anatomy
from translucid.config import ModelConfig
from translucid.errors import InputError

DeviceName = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "fp32", "bf16"]

_PATIENCE = 120.0  # seconds that the child may take
_ROUNDS = 5
_ENOUGH = 0.5  # seconds of measuring: without hardware for it, bfloat16 is slow beyond measure
_PEAK_SIZE, _PEAK_SECONDS = 1024, 0.3
_WORTHWHILE = 1.1  # times as fast, from which on fewer digits are a good bargain
_WIDE = 256  # d_model on a CPU; a narrower network learned less in bfloat16 (docs/how-to-train.md)


def choose_device(name: DeviceName, local_rank: int) -> torch.device:
    """Return where this process computes; `auto` takes a GPU where there is one.

    The processes of a machine take its GPUs in turn, one each.
    """
    found = _available()
    if name == "auto":
        name = found[0]
    if name not in found:
        raise InputError(
            f"device = {name!r}: PyTorch finds none here; there is {' and '.join(found)}. Choose "
            "one of them, or 'auto'."
        )
    if name != "cuda":
        return torch.device(name)
    count = torch.cuda.device_count()
    if local_rank >= count:
        raise InputError(
            f"this machine has {count} GPUs, too few for its process {local_rank + 1}: run "
            f"torchrun with --nproc-per-node {count}"
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def matrix_product_peak(device: torch.device) -> float:
    """Measure the FLOP/s of a large float32 matrix product: what training's speed is compared with.

    It is measured, because processors promise more than virtual machines give.
    """
    a = torch.randn(_PEAK_SIZE, _PEAK_SIZE, device=device)
    b = torch.randn(_PEAK_SIZE, _PEAK_SIZE, device=device)
    best, end = float("inf"), time.perf_counter() + _PEAK_SECONDS
    while True:
        start = time.perf_counter()
        float((a @ b)[0, 0])  # reading a number waits for the device
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return 2 * _PEAK_SIZE**3 / best


def training_flops(config: ModelConfig, source_length: float, target_length: float) -> float:
    """Return the FLOPs per target token of a training step, for sentences of these mean lengths."""
    source, target = (max(1, round(length)) for length in (source_length, target_length))
    encoder = sum(
        block.cost.training for block in anatomy(config, source) if _is_encoder(block.name)
    )
    decoder = sum(
        block.cost.training for block in anatomy(config, target) if not _is_encoder(block.name)
    )
    return encoder * source_length / target_length + decoder


def _available() -> list[DeviceName]:
    """Return the kinds of devices that PyTorch finds, the fastest first."""
    found: list[DeviceName] = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


@dataclass(frozen=True)
class Probe:
    """What a child process has found out: seconds in either precision, or what went wrong."""

    bf16: float | None
    fp32: float | None
    problem: str

    @property
    def safe(self) -> bool:
        """Whether bfloat16 products work."""
        return self.bf16 is not None

    @property
    def worthwhile(self) -> bool:
        """Whether they work, and are clearly faster than float32."""
        return (
            self.bf16 is not None and self.fp32 is not None and self.fp32 >= _WORTHWHILE * self.bf16
        )


def choose_bf16(precision: Precision, device: torch.device, d_model: int) -> bool:
    """Return whether to compute matrix products in bfloat16; `auto` asks a child process.

    On a CPU `auto` does so for wide networks alone. Where bfloat16 is demanded and does not work,
    InputError says why.
    """
    if precision == "fp32":
        return False
    may_gain = device.type != "cpu" or (d_model >= _WIDE and _cpu_has_bf16_products())
    if precision == "auto" and not may_gain:
        return False
    probe = probe_bf16(device)
    if precision == "bf16" and not probe.safe:
        raise InputError(
            f"precision = 'bf16' cannot be used on this machine's {device.type}: {probe.problem}. "
            "Choose 'fp32', or 'auto'."
        )
    return probe.safe if precision == "bf16" else probe.worthwhile


def probe_bf16(device: torch.device) -> Probe:
    """Try bfloat16 in a child process, which may die of it."""
    command = [sys.executable, "-m", __name__, str(device)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired:
        return Probe(None, None, f"trying it took longer than {_PATIENCE:.0f} seconds")
    return _read_probe(done.returncode, done.stdout, done.stderr)


def _read_probe(code: int, output: str, errors: str) -> Probe:
    """Understand how the child ended."""
    if code == 0:
        return Probe(**json.loads(output), problem="")
    if code < 0:
        name = signal.Signals(-code).name
        return Probe(
            None, None, f"a bfloat16 matrix product killed the process that tried ({name})"
        )
    last = errors.strip().splitlines()[-1:] or [f"exit code {code}"]
    return Probe(None, None, f"the process that tried failed ({last[0]})")


def _cpu_has_bf16_products() -> bool:
    """Whether the processor claims instructions for bfloat16; without, float32 is faster."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _main(name: str) -> None:
    """Be the child: bfloat16 first, because it may be the end."""
    device = torch.device(name)
    times = {"bf16": _seconds(device, bf16=True), "fp32": _seconds(device, bf16=False)}
    sys.stdout.write(json.dumps(times))


def _seconds(device: torch.device, *, bf16: bool) -> float:
    """Return the best time of a feed-forward layer of the paper's base model, there and back."""
    rows = 64 if device.type == "cpu" else 4096
    x_LD = torch.randn(rows, 512, device=device, requires_grad=True)
    w_1_DF = torch.randn(512, 2048, device=device, requires_grad=True)
    w_2_FD = torch.randn(2048, 512, device=device, requires_grad=True)
    best, end = float("inf"), time.perf_counter() + _ENOUGH
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        if began > end:
            break
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            out: Tensor = ((x_LD @ w_1_DF).relu() @ w_2_FD).float()
        out.sum().backward()  # type: ignore[no-untyped-call]
        assert w_1_DF.grad is not None
        if not bool(torch.isfinite(w_1_DF.grad).all()):  # reading waits for the device
            raise ArithmeticError("a bfloat16 product gave numbers that are not finite")
        best = min(best, time.perf_counter() - began)
    return best


def _is_encoder(block: str) -> bool:
    return block.startswith("encoder")


if __name__ == "__main__":
    _main(sys.argv[1])
