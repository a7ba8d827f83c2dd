"""Real faults: SIGKILL at any moment, a disk that fills up, a signal in the middle of a step."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import resource
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from same_runs import assert_same
from short_runs import make_trainer, toy_settings, train

from translucid.data.shards import PreparedData
from translucid.errors import TranslucidError
from translucid.events import Saved, Stopped, Trained
from translucid.training.trainer import Trainer

SETTINGS: dict[str, Any] = {"max_steps": 20, "validate_every": 5, "checkpoint_every": 2}


@pytest.fixture(scope="module")
def context() -> Any:
    """Children are forked from a process that has imported everything and computed nothing."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["torch", "translucid.training.trainer", "short_runs"])
    return found


def child(data: PreparedData, run: Path, told: Any) -> None:
    """Train, resuming, by two threads; say each step and, when it is over, that it is."""
    torch.set_num_threads(2)
    for event in make_trainer(data, toy_settings(**SETTINGS), run, resume=True).events():
        if isinstance(event, Trained):
            told.send(event.step)
    told.send("over")


def train_and_kill(
    context: Any, data: PreparedData, run: Path, when: Callable[[int], bool]
) -> tuple[int, bool]:
    """Start a process and kill it in the step in which `when` agrees; (last step, killed)."""
    told, tell = context.Pipe(duplex=False)
    process: BaseProcess = context.Process(target=child, args=(data, run, tell))
    process.start()
    tell.close()
    step = 0
    while (word := told.recv()) != "over":
        step = word
        if when(step):
            process.kill()
            break
    process.join()
    killed = process.exitcode == -signal.SIGKILL
    assert killed or process.exitcode == 0
    process.close()
    told.close()
    return step, killed


def test_killed_at_random_moments_the_run_is_the_uninterrupted_one(
    context: Any, data: PreparedData, tmp_path: Path
) -> None:
    """Some kills come after a number of steps, some while a checkpoint is being written."""
    train(data, toy_settings(**SETTINGS), tmp_path / "whole")
    run, draw = tmp_path / "RUN", random.Random(20260114)
    last, kills = 0, 0
    for _ in range(4):
        goal, spin = last + draw.randint(1, 4), draw.randint(0, 3000)

        def reached(step: int, goal: int = goal, spin: int = spin) -> bool:
            if step < goal:
                return False
            for _ in range(spin):  # go on a little, into the step or the checkpoint after it
                (run / "checkpoints" / f"step-{step:06d}.translucid-partial").exists()
            return True

        last, killed = train_and_kill(context, data, run, reached)
        kills += killed
    assert kills >= 3
    for _ in range(2):

        def writing(step: int) -> bool:
            """Wait for a checkpoint that is half written."""
            partial = run / "checkpoints" / f"step-{step:06d}.translucid-partial"
            final = run / "checkpoints" / f"step-{step:06d}"
            while step % 2 == 0 and not final.exists():
                if partial.exists():
                    return True
            return False

        kills += train_and_kill(context, data, run, writing)[1]
    assert train_and_kill(context, data, run, lambda _: False) == (20, False)
    assert kills >= 4
    assert_same(run, tmp_path / "whole")
    assert not [path for path in run.rglob("*") if path.suffix.startswith(".translucid-")]


def train_on_a_disk_that_fills_up_after(step: int, trainer: Trainer) -> None:
    """Let no file grow beyond just less than what the checkpoint of this step has."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for event in trainer.events():
            if isinstance(event, Saved) and event.step == step:
                size = (Path(event.path) / "optimizer.safetensors").stat().st_size
                resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, limits[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_keeps_the_previous_checkpoint_and_says_what_is_needed(
    data: PreparedData, tmp_path: Path
) -> None:
    run, settings = tmp_path / "RUN", toy_settings()
    with pytest.raises(TranslucidError) as caught:
        train_on_a_disk_that_fills_up_after(3, make_trainer(data, settings, run))
    found = re.fullmatch(
        r".*step-000006: the checkpoint of step 6 cannot be written \(File too large\): it needs "
        r"([0-9,]+) bytes, and ([0-9,]+) are free there\.\n  The checkpoint of step 3 is kept\. "
        r"Free some space, or move the run to a larger disk, and resume it\.",
        str(caught.value),
    )
    assert found
    needed = int(found[1].replace(",", ""))
    folder = run / "checkpoints" / "step-000003"
    actual = sum(path.stat().st_size for path in folder.iterdir())
    assert 0 <= needed - actual < 20_000
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-000003"]
    train(data, settings, run, resume=True)
    train(data, settings, tmp_path / "whole")
    assert_same(run, tmp_path / "whole")


def test_a_signal_handler_may_ask_for_the_end(data: PreparedData, tmp_path: Path) -> None:
    trainer = make_trainer(data, toy_settings(), tmp_path / "RUN")
    before = signal.signal(signal.SIGTERM, lambda *_: trainer.request_stop())
    events = []
    try:
        for event in trainer.events():
            events.append(event)
            if isinstance(event, Trained) and event.step == 2:
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert isinstance(events[-1], Stopped)
    assert (events[-1].cause, events[-1].step) == ("interrupted", 2)
