"""The directory of a training run: the one place that knows its layout.

::

    RUN/run.json           settings of the network and of training, and which data (RunRecord)
        metrics.jsonl      the course of the run, one event per line (MetricsFile)
        checkpoints/       what is needed to continue (see `checkpoint.store`)
        best/              model directory of the best validation
        model/             model directory at the end
        tensorboard/       figures for TensorBoard, if they were wanted
        bad-batch-….json   the sentences on which training failed, if it did
        .lock              held while a process trains (see `files`)

Training writes it; serving, explaining and averaging read it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from translucid.built_in import MODEL_FOLDERS
from translucid.checkpoint.model_directory import build_network, read_generation, read_provenance
from translucid.checkpoint.store import CheckpointStore, explain_full_disk, write_file
from translucid.config import GenerationConfig, ModelConfig
from translucid.errors import ConfigError, DataError, InputError
from translucid.events import Skipped, Trained, Validated
from translucid.files import is_locked, recover_folder, sync_folder

if TYPE_CHECKING:
    from translucid.model import Transformer

VERSION = 1
MetricsEvent = Trained | Validated | Skipped

_EVENTS: dict[str, type[MetricsEvent]] = {
    "trained": Trained,
    "validated": Validated,
    "skipped": Skipped,
}
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError)
_NAMES = {kind: name for name, kind in _EVENTS.items()}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in _EVENTS.items()}


@dataclass(frozen=True)
class Parent:
    """The model that a run starts from: its name, its directory and what it says of its languages.

    `sha256` is that of its weights, the file ``model.safetensors``.
    """

    name: str
    folder: str
    sha256: str
    generation: GenerationConfig

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "generation": self.generation.model_dump(mode="json")}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Parent:
        """Read what `to_json` returned."""
        generation = GenerationConfig(**GenerationConfig.upgrade(values["generation"]))
        return cls(values["name"], values["folder"], values["sha256"], generation)


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json: the settings of a run and the data it is trained on.

    `training` holds the values of a ``TrainingConfig``, as they were written. `fingerprint` tells
    this data from any other, and `data` is the folder it was in; of several, the first, and
    `folders` has all of them with their weights. `parent` is the model that it started from. `plan`
    says for how many minutes the settings were chosen, if they were, and why they are so.
    """

    model: ModelConfig
    training: Mapping[str, Any]
    data: str
    fingerprint: str
    folders: tuple[tuple[str, float], ...] = ()
    parent: Parent | None = None
    plan: Mapping[str, Any] | None = None

    def to_json(self) -> str:
        """Return the content of run.json."""
        data: dict[str, Any] = {"folder": self.data, "fingerprint": self.fingerprint}
        if self.folders:
            data["folders"] = [
                {"folder": folder, "weight": weight} for folder, weight in self.folders
            ]
        content = {
            "version": VERSION,
            "model": self.model.model_dump(mode="json"),
            "training": dict(self.training),
            "data": data,
        }
        if self.parent is not None:
            content["parent"] = self.parent.to_json()
        if self.plan is not None:
            content["plan"] = dict(self.plan)
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True)
class RunDirectory:
    """Where the files of a run are, and what they say."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the run: that of its directory."""
        return self.path.resolve().name

    @property
    def record_path(self) -> Path:
        """run.json: it appears first, and makes a directory that of a run."""
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
    def models(self) -> list[Path]:
        """The existing model directories: the best one first, then the last one."""
        return [self.path / name for name in MODEL_FOLDERS if (self.path / name).is_dir()]

    @property
    def tensorboard(self) -> Path:
        """The figures for TensorBoard."""
        return self.path / "tensorboard"

    @property
    def metrics(self) -> MetricsFile:
        """The course of the run."""
        return MetricsFile(self.path / "metrics.jsonl")

    @property
    def checkpoints(self) -> CheckpointStore:
        """What is needed to continue."""
        return CheckpointStore(self.path / "checkpoints")

    def bad_batch(self, step: int) -> Path:
        """Return where the sentences of a step that failed are saved."""
        return self.path / f"bad-batch-step-{step:06d}.json"

    def exists(self) -> bool:
        """Tell whether the directory holds a run."""
        return self.record_path.is_file()

    def is_training(self) -> bool:
        """Tell whether a process trains in it now."""
        return is_locked(self.path)

    def is_finished(self, step: int) -> bool:
        """Tell whether its last model was written after `step` or later."""
        try:
            written = read_provenance(self.model)["step"]
        except (DataError, KeyError, TypeError):
            return False  # not there, or not whole
        return isinstance(written, int) and written >= step

    def started(self) -> datetime:
        """Return when the run began or was last resumed."""
        return datetime.fromtimestamp(self.record_path.stat().st_mtime, UTC)

    def directions(self) -> list[tuple[str, str]]:
        """Return source and target languages of its models; none where there is no model yet."""
        for folder in self.models:
            try:
                return list(read_generation(folder).directions)
            except DataError:
                continue  # being replaced, or not whole
        return []

    def read_record(self) -> RunRecord:
        """Read run.json; DataError where it is damaged, InputError where there is none."""
        path = self.record_path
        if not path.is_file():
            raise InputError(f"{self.path} holds no training run (no {path.name})")
        try:
            content = json.loads(path.read_bytes())
            if content["version"] > VERSION:
                raise DataError(
                    path,
                    f"the run has version {content['version']}; this translucid reads up to "
                    f"{VERSION}",
                    remedy="Update translucid, or continue with the one that began the run.",
                )
            return RunRecord(
                ModelConfig(**ModelConfig.upgrade(content["model"])),
                dict(content["training"]),
                content["data"]["folder"],
                content["data"]["fingerprint"],
                tuple(
                    (part["folder"], float(part["weight"]))
                    for part in content["data"].get("folders", ())
                ),
                Parent.from_json(content["parent"]) if "parent" in content else None,
                content.get("plan"),
            )
        except (*_UNREADABLE, KeyError, TypeError, ConfigError) as error:
            raise DataError(
                path,
                f"not the record of a run: {error}",
                remedy="Restore the file, or begin a new run in another folder.",
            ) from error

    def write_record(self, record: RunRecord) -> None:
        """Replace run.json as a whole."""
        draft = self.record_path.with_suffix(".json.partial")
        write_file(draft, record.to_json().encode())
        draft.replace(self.record_path)
        sync_folder(self.path)

    def load_network(self, step: int) -> Transformer:
        """Return the network of a checkpoint, on the CPU and in evaluation mode."""
        checkpoint = self.checkpoints.open(step)
        config = self.read_record().model
        return build_network(config, checkpoint.weights(), checkpoint.folder).eval()

    def recover(self) -> None:
        """Remove what a killed process has left."""
        self.checkpoints.recover()
        for folder in (self.best, self.model):
            recover_folder(folder)


class MetricsFile:
    """metrics.jsonl: the events that describe the course of a run, with their kind.

    ::

        {"event": "trained", "step": 120, "loss": 4.1, "perplexity": 31.2, …}
        {"event": "validated", "step": 200, "loss": 3.2, "bleu": 12.5, …}
        {"event": "skipped", "step": 207, "reason": …}

    A resumed run first drops the lines after its checkpoint, so that the file always tells the
    story of an uninterrupted run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, event: MetricsEvent) -> None:
        """Append an event; the operating system has it when this returns."""
        values = {"event": _NAMES[type(event)], **dataclasses.asdict(event)}
        line = (json.dumps(values, ensure_ascii=False) + "\n").encode()
        remedy = "The last checkpoint is kept. Free some space, and resume."
        with (
            explain_full_disk(self.path, "a line of metrics", needed=len(line), remedy=remedy),
            self.path.open("ab") as file,
        ):
            file.write(line)

    def read(self) -> Iterator[MetricsEvent]:
        """Yield the events in order; a last line that was not finished is left out."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                try:
                    values = json.loads(line)
                    yield _ADAPTERS[values.pop("event")].validate_python(values)
                except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
                    raise DataError(
                        self.path,
                        f"not a line of metrics: {error}",
                        line=number,
                        remedy="Delete the line, or the file: training continues without it.",
                    ) from error

    def validations(self) -> list[Validated]:
        """Return the validations so far, oldest first."""
        return [event for event in self.read() if isinstance(event, Validated)]

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        with self.path.open("ab") as file:
            os.fsync(file.fileno())

    def cut(self, step: int) -> None:
        """Drop the lines after a step, and a last line that was not finished."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            end = 0
            for line in file:
                if not line.endswith(b"\n") or _parse_step(line) > step:
                    break
                end += len(line)
            file.truncate(end)
            file.flush()
            os.fsync(file.fileno())


def _parse_step(line: bytes) -> float:
    """Return the step of a line; one that cannot be read comes after all others."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
