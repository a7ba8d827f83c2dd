"""The folder of a run.

::

    RUN/run.json           settings of the network and of training, and which data: what was asked
        metrics.jsonl      the course of the run, a line an event
        checkpoints/       what is needed to go on (see `checkpoint.store`)
        best/              model directory of the best validation
        model/             model directory at the end
        bad-batch-….json   the lines of the data on which training failed, if it did
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from translucid.atomic import settle, sync_folder
from translucid.checkpoint.store import CheckpointStore
from translucid.checkpoint.writing import write_file
from translucid.config import ModelConfig
from translucid.data.shards import PreparedData
from translucid.errors import ConfigError, DataError, InputError
from translucid.training.metrics import MetricsFile
from translucid.training.settings import ENDING, FREE_TO_CHANGE, TrainingConfig

VERSION = 1


@dataclass(frozen=True)
class RunRecord:
    """What a run was asked for: the content of run.json.

    `fingerprint` is that of the data (see `fingerprint_of`), and `data` the folder it was in.
    """

    model: ModelConfig
    training: TrainingConfig
    data: str
    fingerprint: str

    def to_json(self) -> str:
        """Return the content of run.json."""
        content = {
            "version": VERSION,
            "model": self.model.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
            "data": {"folder": self.data, "fingerprint": self.fingerprint},
        }
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True)
class RunFolder:
    """The places of a run's files."""

    path: Path

    @property
    def record(self) -> Path:
        """What the run was asked for."""
        return self.path / "run.json"

    @property
    def best(self) -> Path:
        """The model directory of the best validation."""
        return self.path / "best"

    @property
    def model(self) -> Path:
        """The model directory at the end."""
        return self.path / "model"

    @property
    def metrics(self) -> MetricsFile:
        """The course of the run."""
        return MetricsFile(self.path / "metrics.jsonl")

    @property
    def checkpoints(self) -> CheckpointStore:
        """What is needed to go on."""
        return CheckpointStore(self.path / "checkpoints")

    def bad_batch(self, step: int) -> Path:
        """Return where the lines of a step that failed are saved."""
        return self.path / f"bad-batch-step-{step:06d}.json"

    def settle(self) -> None:
        """Clear away what a killed process has left."""
        self.checkpoints.settle()
        for folder in (self.best, self.model):
            settle(folder)


def fingerprint_of(data: PreparedData) -> str:
    """Return what tells one prepared data folder from another: the SHA-256 of its manifest.

    The manifest has the tokenizer's fingerprint, and pairs, tokens and bytes of every split.
    """
    return hashlib.sha256(data.manifest.to_json().encode()).hexdigest()


def read_record(run: Path) -> RunRecord:
    """Read what a run was asked for."""
    path = RunFolder(run).record
    if not path.is_file():
        raise InputError(f"{run} holds no training run (no {path.name})")
    remedy = "Restore the file, or begin a new run in another folder."
    try:
        content = json.loads(path.read_bytes())
        if content["version"] > VERSION:
            raise DataError(
                path,
                f"the run has version {content['version']}; this translucid reads up to {VERSION}",
                remedy="Update translucid, or go on with the one that began the run.",
            )
        return RunRecord(
            ModelConfig(**content["model"]),
            TrainingConfig(**content["training"]),
            content["data"]["folder"],
            content["data"]["fingerprint"],
        )
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ConfigError) as error:
        raise DataError(path, f"not the record of a run: {error}", remedy=remedy) from error


def begin(run: RunFolder, record: RunRecord, *, resume: bool) -> None:
    """Write what the run is asked for; refuse where that does not fit with what is there.

    With `resume`, a run that is there goes on, if only settings differ that may; where there is
    none, one begins.
    """
    if run.record.exists() or run.checkpoints.steps():
        if not resume:
            raise InputError(
                f"{run.path} already holds a training run. Go on with it (--resume), or choose "
                "another folder."
            )
        if run.record.exists():
            _refuse_differences(run, read_record(run.path), record)
    draft = run.record.with_suffix(".json.partial")
    write_file(draft, record.to_json().encode())
    draft.replace(run.record)
    sync_folder(run.path)


def _refuse_differences(run: RunFolder, before: RunRecord, now: RunRecord) -> None:
    """Raise InputError that lists all that would make the resumed run another one."""
    faults = []
    free = set(FREE_TO_CHANGE)
    if now.training.schedule not in ENDING:
        free.add("total_steps")  # other schedules do not look at it
    if now.training.schedule != "wsd":
        free.add("decay_steps")
    else:
        decay = min(before.training.decay_start, now.training.decay_start)
        if max(run.checkpoints.steps(), default=0) <= decay:
            free |= {"total_steps", "decay_steps"}  # the steps taken so far do not depend on them
    if now.training.metric != "loss":
        free.discard("validation_sample")  # scores of other sentences cannot be compared
    for area, old, new in (
        ("model", before.model.model_dump(), now.model.model_dump()),
        ("training", before.training.model_dump(), now.training.model_dump()),
    ):
        faults += [
            f"{area}.{name} was {old[name]!r} and is now {new[name]!r}"
            for name in new
            if old[name] != new[name] and name not in free
        ]
    if before.fingerprint != now.fingerprint:
        faults.append(f"the data, {now.data}, is not what the run began with in {before.data}")
    if faults:
        raise InputError(
            f"{run.path} cannot be resumed with other settings than it began with:\n"
            + "\n".join(f"  - {fault}" for fault in faults)
            + "\n  Take them back, or begin a new run in another folder."
        )
