"""Faults for real: kill -9 at any moment, Ctrl-C, a full disk, a second process, broken files.

The real command runs as a process of its own. After each fault the same command must go on and
give, byte for byte, what a run that was never disturbed gives.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prepare_support import files, sentences, write_pairs

PAIRS = 1800
CHUNK = 150


class Command:
    """``translucid prepare`` on a small corpus, cut into a dozen chunks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.usual_seconds = 0.0
        train = write_pairs(folder, "train", [*sentences(PAIRS), *sentences(200)])
        dev = write_pairs(folder, "dev", sentences(30, seed=9))
        self.arguments = [*train, "--from", "fr", "--to", "en", "--split", "0,50", "--dev", *dev]

    def words(self, output: str, *options: str) -> list[str]:
        return [
            *(sys.executable, "-m", "translucid", "prepare", *self.arguments),
            *("--chunk-pairs", str(CHUNK), "--vocab-size", "600"),
            *("-o", str(self.folder / output), *options),
        ]

    def run(self, output: str, *options: str, **how: object) -> subprocess.CompletedProcess[str]:
        words = self.words(output, *options)
        return subprocess.run(words, capture_output=True, text=True, check=False, **how)

    @contextlib.contextmanager
    def start(self, output: str, *options: str) -> Iterator[subprocess.Popen[str]]:
        """Start the command in a session of its own; it never outlives the block."""
        process = subprocess.Popen(
            self.words(output, *options),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    return Command(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def undisturbed(command: Command) -> dict[str, bytes]:
    """Return the files of a run in one process that nothing disturbed."""
    begin = time.monotonic()
    done = command.run("undisturbed", "--workers", "1")
    command.usual_seconds = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    return files(command.folder / "undisturbed")


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    """Watch closely until something has happened; the process must still be running then."""
    while not happened():
        assert process.poll() is None, "the command ended before it could be disturbed"
        time.sleep(0.001)


def workers_of(pid: int) -> list[int]:
    """Return the worker processes among the children of a process."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_kill_9_at_every_stage_and_going_on_gives_the_same_bytes(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    """Kill one run after another, each further on than the one before, in the same folder."""
    data = command.folder / "killed"
    moments = [
        ("unfinished/cleaned/00004.npz", "2"),
        ("unfinished/selection.npy", "1"),
        ("unfinished/tokenizer.model", "1"),
        ("unfinished/lexicon.npz", "1"),
        ("unfinished/encoded/00004", "2"),
        ("unfinished/output/train.translucid-partial", "1"),
    ]
    for moment, workers in moments:
        with command.start("killed", "--workers", workers) as process:
            wait_for(process, (data / moment).exists)
            others = workers_of(process.pid)
            assert bool(others) is (workers == "2")
            process.kill()  # the main process alone: its workers must notice by themselves
            process.wait()
            while any(is_alive(other) for other in others):
                time.sleep(0.001)  # one that stays would never let this test end
        assert not (data / "manifest.json").exists()
        assert "was not finished" in (data / "unfinished" / "README.txt").read_text()
    done = command.run("killed", "--workers", "1")
    assert done.returncode == 0
    assert "Continuing where an earlier run was stopped." in done.stderr
    assert files(data) == undisturbed


def test_kill_9_while_target_pieces_are_put_first_gives_the_same_bytes(command: Command) -> None:
    only = ("--target-pieces-only", "--workers", "1")
    assert command.run("whole", *only).returncode == 0
    data = command.folder / "killed-first"
    for moment in ("tokenizer.first", "target_pieces.json", "tokenizer.model"):
        with command.start("killed-first", *only) as process:
            wait_for(process, (data / "unfinished" / moment).exists)
            process.kill()
    assert command.run("killed-first", *only).returncode == 0
    assert files(data) == files(command.folder / "whole")


def test_kill_9_at_random_moments_gives_the_same_bytes(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    draw = random.Random(3)
    for _ in range(3):
        with command.start("random", "--workers", "1") as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=draw.uniform(0.4, 1.0) * command.usual_seconds)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert command.run("random", "--workers", "1").returncode == 0
    assert files(command.folder / "random") == undisturbed


def test_a_killed_worker_ends_the_run_with_an_explanation(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    data = command.folder / "worker"
    with command.start("worker", "--workers", "2") as process:
        wait_for(process, (data / "unfinished" / "cleaned" / "00000.npz").exists)
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        _, errors = process.communicate()
    assert process.returncode == 1, errors
    assert "a worker process was killed from outside" in errors
    assert "What is done so far is kept: run it again" in errors
    assert "Traceback" not in errors
    assert command.run("worker", "--workers", "1").returncode == 0
    assert files(data) == undisturbed


def test_ctrl_c_ends_with_130_and_can_be_gone_on_with(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    """The second moment is in the middle of learning the vocabulary, which is not Python code."""
    data = command.folder / "interrupted"
    for moment in ("cleaned/00003.npz", "selection.npy"):
        with command.start("interrupted", "--workers", "2") as process:
            wait_for(process, (data / "unfinished" / moment).exists)
            os.killpg(process.pid, signal.SIGINT)  # to the whole group, as a terminal does
            _, errors = process.communicate()
        assert process.returncode == 130, errors
        assert "Stopped. Run the same command again to continue" in errors
        assert "Traceback" not in errors
    assert command.run("interrupted", "--workers", "1").returncode == 0
    assert files(data) == undisturbed


def test_a_full_disk_is_explained_and_nothing_half_written_counts(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    """A limit on the size of files fails a write as a full disk does: in a chunk, then later."""
    cases = {
        "full": ("cleaned", 8_000, ("--workers", "2")),
        "later": ("tokenizer.model", 40_000, ("--workers", "1")),
        "last": ("encoded/00011", 40_000, ("--workers", "1", "--placeholders", "0")),
    }
    for name, (reached, limit, words) in cases.items():
        done = command.run(
            name,
            *words,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),  # noqa: B023
        )
        assert done.returncode == 1, done.stderr
        assert "cannot write any more (File too large)" in done.stderr
        assert "run the same command again" in done.stderr
        assert "Traceback" not in done.stderr
        assert not (command.folder / name / "manifest.json").exists()
        assert (command.folder / name / "unfinished" / reached).exists()
    for name in ("full", "later"):
        assert command.run(name, "--workers", "1").returncode == 0
        assert files(command.folder / name) == undisturbed


def test_a_second_process_is_refused_while_the_first_goes_on(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    data = command.folder / "busy"
    with command.start("busy", "--workers", "1") as first:
        wait_for(first, (data / "unfinished" / "job.json").exists)
        first.send_signal(signal.SIGSTOP)  # so that it is surely still at work
        second = command.run("busy", "--workers", "1")
        first.send_signal(signal.SIGCONT)
        first.communicate()
    assert first.returncode == 0
    assert second.returncode == 1
    assert "is being written by another process" in second.stderr
    assert files(data) == undisturbed


def test_output_depends_neither_on_workers_nor_on_chunks(
    command: Command, undisturbed: dict[str, bytes]
) -> None:
    done = command.run("other", "--workers", "3", "--chunk-pairs", "333")
    assert done.returncode == 0
    assert files(command.folder / "other") == undisturbed


def test_a_broken_file_is_bad_data_and_leaves_nothing(command: Command, tmp_path: Path) -> None:
    """The file ends too early, which shows when a dozen chunks have been cleaned already."""
    whole = (command.folder / "train.fr").read_bytes()
    (tmp_path / "broken.fr.gz").write_bytes(gzip.compress(whole)[:-100])
    shutil.copy(command.folder / "train.en", tmp_path / "broken.en")
    paths = [str(tmp_path / "broken.fr.gz"), str(tmp_path / "broken.en")]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "translucid", "prepare", *paths),
            *("--from", "fr", "--to", "en", "-o", str(tmp_path / "data")),
            *("--chunk-pairs", str(CHUNK), "--workers", "2"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "cleaning: " in done.stderr
    assert f"error: {paths[0]}, line " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()
