"""Kills at random moments: what continues gives, byte for byte, the uninterrupted result."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.area import Area, command

SENTENCES = ("Le chat dort.", "Où est la gare ?", "Je ne sais pas.", "Elle lit un livre.", "Non.")
MOST_TRIES = 60  # of one result; then it is let finish
LIMIT = 600.0


@dataclass(frozen=True)
class Job:
    """A command that may be killed, what continues it, and the files that it leaves in a folder."""

    name: str
    begin: Callable[[Path], list[str]]
    more: tuple[str, ...]
    results: Sequence[str]  # patterns


def digest(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    files = sorted(
        {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    )
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def run_for(words: Sequence[str], seconds: float | None) -> tuple[int, bytes]:
    """Run a command, and kill it after some seconds."""
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        try:
            _, errors = process.communicate(timeout=LIMIT if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
    return process.returncode, errors


def write_inputs(area: Area) -> tuple[Path, Path]:
    """Write a text to translate and a small corpus, the same for one seed."""
    text, corpus = area.folder / "text.fr", area.folder / "corpus.tsv"
    lines = [area.draw.choice(SENTENCES) + f" {n}" for n in range(1500)]
    text.write_text("".join(f"{line}\n" for line in lines))
    pairs = [f"{area.draw.choice(SENTENCES)} {n}\tNumber {n} is here.\n" for n in range(2000)]
    corpus.write_text("".join(pairs))
    return text, corpus


def jobs(area: Area) -> list[Job]:
    text, corpus = write_inputs(area)
    data = area.folder / "data"
    prepare = ["prepare", str(corpus), "--from", "fr", "--to", "en", "--split", "50,50"]
    code, errors = run_for(command(*prepare, "-o", data), None)
    if code:
        raise RuntimeError(f"prepare ended with {code}: {errors.decode()}")
    train = ["train", str(data), "--preset", "tiny", "--max-steps", "12"]
    train += ["--set", "training.validate_every=4", "--set", "training.checkpoint_every=4"]
    sample = area.folder / "sample.txt"
    sample.write_text("".join(f"{sentence}\n" for sentence in SENTENCES))
    export = ["export", "fr-en", "--to", "ctranslate2", "--sample", str(sample)]
    return [
        Job(
            "translate",
            lambda to: command("translate", "-i", text, "-o", to / "out", "--beam", "1", "-q"),
            ("--resume",),
            ("out",),
        ),
        Job("prepare", lambda to: command(*prepare, "-o", to / "data"), (), ("data/**/*",)),
        Job(
            "train",
            lambda to: command(*train, "-o", to / "run"),
            ("--resume",),
            ("run/*/model.safetensors", "run/*/config.json", "run/*/tokenizer.model"),
        ),
        Job(
            "export",
            lambda to: command(*export, "-o", to / "ct2"),
            ("--overwrite",),
            ("ct2/model.bin", "ct2/*.json", "ct2/sentencepiece.model"),
        ),
    ]


def kill_until_done(area: Area, job: Job, whole: dict[str, str], seconds: float) -> None:
    """Kill a job again and again at random moments; compare what it leaves at last."""
    folder = area.folder / job.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    words = job.begin(folder)
    for attempt in range(MOST_TRIES):
        last = attempt == MOST_TRIES - 1 or not area.has_time
        code, errors = run_for(words, None if last else area.draw.uniform(0.05, 1.05) * seconds)
        words = [*job.begin(folder), *job.more]
        if code == -signal.SIGKILL:
            area.tried[f"{job.name}: kills"] += 1
            continue
        if not area.check(code == 0, f"{job.name} ended with {code}: {errors.decode()[-500:]}"):
            return
        break
    found = digest(folder, job.results)
    wrong = [name for name in {**whole, **found} if whole.get(name) != found.get(name)]
    area.check(not wrong, f"{job.name}: not as if it had never been killed: {sorted(wrong)[:5]}")
    area.tried[f"{job.name}: results compared"] += 1


def fill_disk(area: Area, job: Job, whole: dict[str, str]) -> None:
    """Let files grow to a random size only, as on a full disk, then continue without that limit."""
    folder = area.folder / f"{job.name}-full"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    size = int(10 ** area.draw.uniform(1, 5.5))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    full = subprocess.run(
        job.begin(folder), capture_output=True, preexec_fn=limit, timeout=LIMIT, check=False
    )
    area.tried[f"{job.name}: full disks"] += 1
    message = full.stderr.decode(errors="replace")
    is_told = full.returncode in (0, 1) and "Traceback" not in message
    area.check(is_told, f"{job.name}, {size} bytes: {full.returncode}: {message[-600:]}")
    more = job.more if full.returncode else ()
    code, errors = run_for([*job.begin(folder), *more], None) if full.returncode else (0, b"")
    area.check(code == 0, f"{job.name} after a full disk: {code}: {errors.decode()[-500:]}")
    area.check(digest(folder, job.results) == whole, f"{job.name} after a full disk: not the same")


def write_twice(area: Area, job: Job, whole: dict[str, str]) -> None:
    """Start the same command twice at once: one does it, and the other says that it is done."""
    folder = area.folder / f"{job.name}-twice"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    both = [
        subprocess.Popen(job.begin(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ends = [(one.communicate(timeout=LIMIT)[1], one.returncode) for one in both]
    area.tried[f"{job.name}: two writers"] += 1
    codes = sorted(code for _, code in ends)
    area.check(codes[0] == 0 and codes[1] in (0, 1, 2), f"{job.name} twice at once: {ends}")
    area.check(digest(folder, job.results) == whole, f"{job.name} twice at once: not the same")


def run(area: Area) -> None:
    """Kill jobs; now and then, fill the disk, or have two write at once."""
    os.environ["OMP_NUM_THREADS"] = "1"
    each: list[tuple[Job, dict[str, str], float]] = []
    for job in jobs(area):
        folder = area.folder / f"{job.name}-whole"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        begin = time.monotonic()
        code, errors = run_for(job.begin(folder), None)
        if area.check(code == 0, f"{job.name} ended with {code}: {errors.decode()[-500:]}"):
            whole = digest(folder, job.results)
            each.append((job, whole, time.monotonic() - begin))
    area.start_clock()
    while area.has_time and each:
        job, whole, seconds = area.draw.choice(each)
        if job.name == "train" or area.draw.random() < 0.6:
            kill_until_done(area, job, whole, seconds)
        else:
            area.draw.choice([fill_disk, write_twice])(area, job, whole)
