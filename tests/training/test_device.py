"""Devices and precision: what is chosen, and what a child process may die of."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from translucid.errors import InputError
from translucid.training import device
from translucid.training.device import Probe, choose_bf16, choose_device, probe_bf16

CPU = torch.device("cpu")
PYTHON = sys.executable
GPU = torch.cuda.is_available() or torch.backends.mps.is_available()


def test_the_cpu_is_always_there() -> None:
    assert choose_device("cpu", 0) == CPU
    assert choose_device("cpu", 7) == CPU
    assert (choose_device("auto", 0) == CPU) is not GPU


@pytest.mark.parametrize(
    ("there", "name", "chosen"),
    [
        (["cuda", "cpu"], "auto", "cuda:1"),
        (["mps", "cpu"], "auto", "mps"),
        (["cpu"], "auto", "cpu"),
    ],
)
def test_auto_takes_the_fastest_and_each_process_its_own_gpu(
    there: list[str], name: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in there)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in there)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    assert choose_device(name, 1) == torch.device(chosen)  # type: ignore[arg-type]


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(InputError) as caught:
        choose_device("cuda", 0)
    assert str(caught.value) == (
        "device = 'cuda': PyTorch finds none here; there is mps and cpu. Choose one of them, or "
        "'auto'."
    )


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError) as caught:
        choose_device("cuda", 2)
    assert str(caught.value) == (
        "this machine has 2 GPUs, too few for its process 3: run torchrun with --nproc-per-node 2"
    )


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put another program in the place of Python, so that the child does something else."""
    path = folder / "python"
    path.write_text(f"#!{PYTHON}\nimport os, signal, sys, json\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    monkeypatch.setattr(device, "_cpu_has_bf16_products", lambda: True)


def told(bf16: float, fp32: float) -> str:
    return f"print(json.dumps({json.dumps({'bf16': bf16, 'fp32': fp32})}))"


def test_bfloat16_that_kills_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that shows AMX and does not let it run: the child gets SIGILL."""
    stand_in(tmp_path, monkeypatch, "os.kill(os.getpid(), signal.SIGILL)")
    assert choose_bf16("auto", CPU, 512) is False
    with pytest.raises(InputError) as caught:
        choose_bf16("bf16", CPU, 512)
    assert str(caught.value) == (
        "precision = 'bf16' cannot be used on this machine's cpu: a bfloat16 matrix product killed "
        "the process that tried (SIGILL). Choose 'fp32', or 'auto'."
    )


@pytest.mark.parametrize(
    ("bf16", "fp32", "chosen"), [(1.0, 2.0, True), (2.0, 1.0, False), (1.0, 1.05, False)]
)
def test_auto_wants_bfloat16_to_be_clearly_faster(
    bf16: float, fp32: float, chosen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, told(bf16, fp32))
    assert choose_bf16("auto", CPU, 512) is chosen
    assert choose_bf16("bf16", CPU, 512) is True  # who demands it gets it


def test_a_child_that_fails_or_hangs_means_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "sys.exit('ValueError: nothing works')")
    problem = "the process that tried failed (ValueError: nothing works)"
    assert probe_bf16(CPU) == Probe(None, None, problem)
    stand_in(tmp_path, monkeypatch, "sys.exit(4)")
    assert probe_bf16(CPU).problem == "the process that tried failed (exit code 4)"
    monkeypatch.setattr(device, "_PATIENCE", 0.05)
    stand_in(tmp_path, monkeypatch, "signal.pause()")
    assert probe_bf16(CPU).problem == "trying it took longer than 0 seconds"
    assert choose_bf16("auto", CPU, 512) is False


def test_fp32_and_processors_without_bfloat16_ask_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, told(1.0, 9.0))
    assert choose_bf16("fp32", CPU, 512) is False
    monkeypatch.setattr(device, "_cpu_has_bf16_products", lambda: False)
    assert choose_bf16("auto", CPU, 512) is False


def test_narrow_networks_stay_in_float32_unless_bfloat16_is_demanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, told(1.0, 9.0))
    assert [choose_bf16("auto", CPU, d_model) for d_model in (128, 256)] == [False, True]
    assert choose_bf16("bf16", CPU, 64) is True


def test_this_machine_is_asked_by_a_real_child() -> None:
    """It may die, but only it; what is measured is measured in both precisions."""
    probe = probe_bf16(CPU)
    if probe.safe:
        assert probe.problem == ""
        assert probe.bf16 is not None
        assert probe.fp32 is not None
        assert min(probe.bf16, probe.fp32) > 0
    else:
        assert "SIGILL" in probe.problem
