"""Processes that answer in order, pass on errors, and do not leave their caller waiting."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from translucid.data.prepare.workers import Workers
from translucid.errors import DataError, TranslucidError
from translucid.text.tokenizer import load_tokenizer


def test_results_come_in_order_and_tasks_are_not_taken_too_early(tmp_path: Path) -> None:
    taken: list[int] = []

    def tasks() -> Iterator[float]:
        for number in range(30):
            taken.append(number)
            yield 0.02 if number % 7 == 0 else 0.0

    with Workers(2) as workers:
        results = workers.map_in_order(time.sleep, tasks())
        next(results)
        assert len(taken) <= 6
        assert list(results) == [None] * 29
        assert list(workers.map_in_order(operator.neg, range(20))) == [-i for i in range(20)]
        assert list(workers.map_in_order(operator.neg, [5])) == [-5]
        assert list(workers.map_in_order(operator.neg, [])) == []
        assert workers.run_in_process(operator.neg, 3) == -3
        # An error in a worker is the caller's error, and the workers go on.
        with pytest.raises(FileNotFoundError):
            list(workers.map_in_order(os.stat, [tmp_path, tmp_path / "missing", tmp_path]))
        with pytest.raises(DataError, match="missing: the tokenizer cannot be read"):
            workers.run_in_process(load_tokenizer, tmp_path / "missing")
        assert list(workers.map_in_order(abs, [-1, -2])) == [1, 2]


def test_one_worker_is_this_process() -> None:
    with Workers(1) as workers:
        assert set(workers.map_in_order(lambda _: os.getpid(), range(5))) == {os.getpid()}
        assert workers.run_in_process(lambda _: os.getpid(), None) == os.getpid()


def test_a_worker_that_dies_is_noticed() -> None:
    with Workers(2) as workers:
        with pytest.raises(TranslucidError, match="a worker process was killed from outside"):
            list(workers.map_in_order(os._exit, [1, 1, 1]))
        with pytest.raises(TranslucidError, match="a worker process was killed from outside"):
            workers.run_in_process(os._exit, 1)


@pytest.mark.parametrize(
    "work", ["list(workers.map_in_order(abs, [1, 2]))", "workers.run_in_process(abs, 1)"]
)
def test_ctrl_c_while_a_process_is_started_waits_until_it_knows_its_task(work: str) -> None:
    """Where another thread receives the signal, as that of a progress display may."""
    program = f"""
import os, signal, sys, threading
from multiprocessing import resource_tracker, util
from translucid.data.prepare.workers import Workers

threading.Thread(target=threading.Event().wait, daemon=True).start()
resource_tracker.ensure_running()
received, wakes = os.pipe()
os.set_blocking(wakes, False)
signal.set_wakeup_fd(wakes)
start = util.spawnv_passfds

def start_and_interrupt(*arguments):
    child = start(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
    os.read(received, 1)  # the other thread has it
    return child

util.spawnv_passfds = start_and_interrupt
try:
    with Workers(2) as workers:
        {work}
except KeyboardInterrupt:
    sys.exit(130)
"""
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.stderr == ""
    assert process.returncode == 130
