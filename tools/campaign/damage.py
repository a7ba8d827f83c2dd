"""Flipped bits in files of every kind: refused, by the name of the file that was damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import translucid
from campaign.area import Area
from campaign.kills import jobs, run_for
from translucid.built_in import DEFAULT
from translucid.checkpoint.model_directory import is_shown
from translucid.checkpoint.store import CheckpointStore
from translucid.data.shards import open_data
from translucid.errors import DataError
from translucid.interpret.trace_file import read_trace


def flip(area: Area, path: Path) -> Callable[[], None]:
    """Flip a random bit of a file; return what flips it back."""
    data = path.read_bytes()
    place, bit = area.draw.randrange(len(data)), area.draw.randrange(8)
    path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
    return lambda: path.write_bytes(data) and None


def run(area: Area) -> None:
    """Damage a model, prepared data, a checkpoint and a trace, each a random bit at a time."""
    model = area.folder / "model"
    shutil.copytree(DEFAULT, model, dirs_exist_ok=True)
    trace = area.folder / "trace.safetensors"
    translucid.explain(translucid.load(model), "Le chat dort.", target="en").save(trace)
    training = next(job for job in jobs(area) if job.name == "train")
    code, errors = run_for(training.begin(area.folder), None)
    area.check(code == 0, f"train ended with {code}: {errors.decode()[-500:]}")
    checkpoints = CheckpointStore(area.folder / "run" / "checkpoints")
    step = checkpoints.steps()[-1]
    kinds: dict[str, tuple[Path, Callable[[], Any]]] = {
        "model": (model, lambda: translucid.load(model)),
        "data": (area.folder / "data", lambda: open_data(area.folder / "data")),
        "checkpoint": (checkpoints.path(step), lambda: checkpoints.open(step)),
        "trace": (trace, lambda: read_trace(trace, None)),
    }
    area.start_clock()
    while area.has_time:
        kind = area.draw.choice([*kinds])
        place, load = kinds[kind]
        files = [path for path in sorted(place.rglob("*")) if path.is_file()] or [place]
        path = area.draw.choice([file for file in files if file.stat().st_size])
        mend = flip(area, path)
        area.tried[f"{kind}: flipped bits"] += 1
        try:
            load()
            is_card = kind == "model" and is_shown(path.name)
            area.check(is_card, f"{kind}: a flipped bit in {path.name} was not seen")
        except DataError as error:
            area.check(error.path == path, f"{kind}: {path.name} was damaged, {error.path} blamed")
        except Exception as error:
            area.check(
                False, f"{kind}: a flipped bit in {path.name}: {type(error).__name__} {error}"
            )
        finally:
            mend()
    for kind, (_, load) in kinds.items():
        load()
        area.tried[f"{kind}: read again when whole"] += 1
