"""From a preset, a file and single settings to the complete settings of a run.

What comes later wins::

    defaults  ◀  preset  ◀  FILE.toml  ◀  --set key=value  ◀  options such as --max-steps
                 (or the run that goes on)

A file has a table for the network and one for training, and may name a preset::

    preset = "tiny"

    [model]
    dropout = 0.2

    [training]
    warmup_steps = 400

A file for `translucid recipe` has more in it, which training does not look at.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from translucid.config import Config, ModelConfig
from translucid.errors import ConfigError, InputError, nearest
from translucid.presets import Preset
from translucid.training.settings import TrainingConfig

_AREAS: dict[str, type[Config]] = {"model": ModelConfig, "training": TrainingConfig}
_TABLES = (*_AREAS, "data", "result", "expected")  # the last three are for `translucid recipe`
_TEXTS = {"preset": "the name of a preset", "about": "a text"}
FROM_DATA = ("source_vocab_size", "target_vocab_size")

# What has proved itself for the two small networks, which learn faster than the paper's large ones:
# the peak of the paper's schedule for their d_model and these warm-ups, on smaller batches.
_SMALL_MACHINES: dict[str, dict[str, Any]] = {
    "tiny": {
        "schedule": "inverse-sqrt",
        "learning_rate": 0.004,
        "warmup_steps": 400,
        "batch_tokens": 4096,
        "max_steps": 8000,
        "validate_every": 500,
        "checkpoint_every": 500,
    },
    "small": {
        "schedule": "inverse-sqrt",
        "learning_rate": 0.002,
        "warmup_steps": 1000,
        "batch_tokens": 8192,
        "max_steps": 30_000,
    },
}


class Recipe(NamedTuple):
    """The complete settings of a run."""

    model: ModelConfig
    training: TrainingConfig


@dataclass(frozen=True)
class Settings:
    """Some settings, by area; those not named stay as they are. `preset` is only named in files."""

    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None


def of_preset(preset: Preset) -> Settings:
    """Return what a preset says of the network and of training."""
    training = {"label_smoothing": preset.label_smoothing, "max_steps": preset.steps}
    return Settings(preset.changes, {**training, **_SMALL_MACHINES.get(preset.name, {})})


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}", [f"not valid TOML: {error}"]) from error


def of_file(path: Path) -> Settings:
    """Read the settings of a TOML file."""
    values = read_toml(path)
    faults = [
        f"unknown {'table' if isinstance(values[name], dict) else 'key'} {name!r}; "
        f"{_home_of(name) or nearest(name, (*_TEXTS, *_TABLES))}"
        for name in values
        if name not in {*_TEXTS, *_TABLES}
    ]
    faults += [
        f"{name} = {values[name]!r}: must be a table of settings, [{name}]"
        for name in _TABLES
        if not isinstance(values.get(name, {}), dict)
    ]
    faults += [
        f"{name} = {values[name]!r}: must be {kind}"
        for name, kind in _TEXTS.items()
        if not isinstance(values.get(name, ""), str)
    ]
    if faults:
        raise ConfigError(f"{path}", faults)
    return Settings(values.get("model", {}), values.get("training", {}), values.get("preset"))


def of_assignments(assignments: Sequence[str]) -> Settings:
    """Read settings such as ``training.warmup_steps=400``; the area may be left out.

    A value is written as in TOML; the quotes of a text may be left out too.
    """
    areas: dict[str, dict[str, Any]] = {"model": {}, "training": {}}
    faults = []
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        area, dot, key = name.partition(".")
        if not equals or not name:
            faults.append(f"{assignment!r}: must be key=value, such as training.warmup_steps=400")
        elif dot and area not in _AREAS:
            faults.append(f"{assignment!r}: no settings are called {area!r}; {_near(area)}")
        elif dot:
            areas[area][key] = _value(text)
        elif home := next((a for a, config in _AREAS.items() if name in config.model_fields), None):
            areas[home][name] = _value(text)
        else:
            every = [f"{a}.{key}" for a, config in _AREAS.items() for key in config.model_fields]
            faults.append(f"{assignment!r}: unknown key {name!r}; {nearest(name, every)}")
    if faults:
        raise ConfigError("--set", faults)
    return Settings(areas["model"], areas["training"])


def complete(layers: Sequence[Settings], sizes: tuple[int, int]) -> Recipe:
    """Put settings on top of each other, and return them complete and checked.

    The sizes of source and target vocabulary are those of the data. One ConfigError lists all that
    is wrong.
    """
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    for layer in layers:
        model |= layer.model
        training |= layer.training
    faults = [
        f"model.{name} = {model[name]!r}: that of the data is {size}; leave it out"
        for name, size in zip(FROM_DATA, sizes, strict=True)
        if model.get(name, size) != size
    ]
    model |= zip(FROM_DATA, sizes, strict=True)
    built: list[Any] = []
    for area, values in (("model", model), ("training", training)):
        try:
            built.append(_AREAS[area](**values))
        except ConfigError as error:
            faults += [f"[{area}] {fault}" for fault in error.faults]
    if not faults and (fault := _agreement_for_nothing(*built)):
        faults.append(fault)
    if faults:
        raise ConfigError("the settings of the run", faults)
    return Recipe(*built)


def _agreement_for_nothing(model: ModelConfig, training: TrainingConfig) -> str | None:
    dropped = (model.dropout, model.attention_dropout, model.feed_forward_dropout)
    if training.agreement and not any(dropped):
        return (
            f"training.agreement = {training.agreement} with model.dropout = 0: without dropout "
            "two passes are the same and always agree; raise dropout, or leave agreement out"
        )
    return None


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _near(area: str) -> str:
    return nearest(area, _AREAS)


def _home_of(key: str) -> str | None:
    """Say in which table a setting belongs that stands in none."""
    for area, config in _AREAS.items():
        if key in config.model_fields:
            return f"it belongs into the table [{area}]"
    return None
