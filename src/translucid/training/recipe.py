"""The complete settings of a run, from a preset, a file and single settings.

What comes later wins::

    defaults  ◀  preset  ◀  the plan  ◀  FILE.toml  ◀  key=value  ◀  options such as --max-steps
                 (or the run that continues, or the model that training starts from)

The plan is what the budget of a run decides (`training.budget`).

A file has a table for the network and one for training, and may name a preset::

    preset = "tiny"

    [model]
    dropout = 0.2

    [training]
    warmup_steps = 400

A file for `translucid recipe` has more in it, which training ignores.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from translucid.config import Config, ModelConfig
from translucid.errors import ConfigError, InputError, RenamedWarning, nearest
from translucid.presets import Preset, find_preset
from translucid.training.config import TrainingConfig

_AREAS: dict[str, type[Config]] = {"model": ModelConfig, "training": TrainingConfig}
_TABLES = (*_AREAS, "data", "result", "expected")  # the last three are for `translucid recipe`
_TEXTS = {"preset": "the name of a preset", "about": "a text"}
DEFAULT_PRESET = "tiny"
# What may differ between a network and the one whose weights it starts from.
ADJUSTABLE = ("dropout", "attention_dropout", "feed_forward_dropout", "attention")
FINE_TUNING_STEPS = 1000
_FINE_TUNING_SHARE = 0.1  # of the rate at which a network learns from the beginning
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
class Parentage:
    """The network that training starts from, the model's name, and settings it was trained with."""

    name: str
    network: ModelConfig
    training: Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """Some settings by area; the others keep their values. Only files name a `preset`."""

    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None


def preset_settings(preset: Preset) -> Settings:
    """Return the settings of a preset."""
    training = {"label_smoothing": preset.label_smoothing, "max_steps": preset.steps}
    return Settings(preset.changes, {**training, **_SMALL_MACHINES.get(preset.name, {})})


def peak_for_width(d_model: int, share: float = 1.0) -> float:
    """Return a peak learning rate for a width: that of the small presets, or a share of it.

    >>> peak_for_width(128), peak_for_width(256), peak_for_width(192, 0.1)
    (0.004, 0.002, 0.0003)
    """
    return float(f"{share * 0.512 / d_model:.1g}")


def fine_tuning_settings(network: ModelConfig, chosen: Mapping[str, Any]) -> Settings:
    """Return settings for a network that has learned already: small steps, and fewer of them.

    The peak is a tenth of that of the small presets for the same width, after a short warm-up; then
    the rate falls to zero. `chosen` are the settings of training that were given.
    """
    given = chosen.get("max_steps")
    steps = given if isinstance(given, int) else FINE_TUNING_STEPS
    total = chosen.get("total_steps", steps)
    training: dict[str, Any] = {
        "max_steps": steps,
        "schedule": "linear",
        "warmup_steps": min(100, total // 10) if isinstance(total, int) else 0,
        "batch_tokens": 2048,
        "validate_every": max(1, steps // 10),
        "checkpoint_every": max(1, steps // 10),
    }
    if chosen.get("schedule") != "paper":  # whose learning_rate is a factor
        training["learning_rate"] = peak_for_width(network.d_model, _FINE_TUNING_SHARE)
    return Settings(network.model_dump(exclude=set(FROM_DATA)), training)


def _refuse_other_networks(
    layers: Sequence[Settings], named: str | None, parent: Parentage
) -> None:
    """Refuse a preset or settings of the network that contradict the one to start from."""
    own = parent.network.model_dump()
    wanted: dict[str, tuple[Any, str]] = {}
    if named is not None:
        sizes = {name: own[name] for name in FROM_DATA}
        preset = ModelConfig(**{**sizes, **find_preset(named).changes}).model_dump()
        wanted = {name: (preset[name], f"the preset {named}") for name in preset}
    for layer in layers:
        given = ModelConfig.upgrade(layer.model)
        wanted |= {name: (value, "the settings") for name, value in given.items()}
    faults = [
        f"model.{name} is {value!r} in {source}, and {own[name]!r} in {parent.name}"
        for name, (value, source) in wanted.items()
        if name in own and name not in ADJUSTABLE and value != own[name]
    ]
    if faults:
        raise InputError(
            f"the network is that of {parent.name}, whose weights training starts from:\n"
            + "\n".join(f"  - {fault}" for fault in faults)
            + f"\n  Leave these settings out (only {', '.join(ADJUSTABLE)} can change), or train a "
            "new network without --from."
        )


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}", [f"not valid TOML: {error}"]) from error


def read_settings(path: Path) -> Settings:
    """Read the settings of a TOML file."""
    values = read_toml(path)
    faults = [
        f"unknown {'table' if isinstance(values[name], dict) else 'key'} {name!r}; "
        + (
            f"it belongs into the table [{home}]"
            if (home := _find_area(name))
            else nearest(name, (*_TEXTS, *_TABLES))
        )
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


def parse_assignments(assignments: Sequence[str]) -> Settings:
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
            faults.append(
                f"{assignment!r}: no settings are called {area!r}; {nearest(area, _AREAS)}"
            )
        elif dot:
            areas[area][key] = _value(text)
        elif home := _find_area(name):
            areas[home][name] = _value(text)
        else:
            every = [f"{a}.{key}" for a, config in _AREAS.items() for key in config.model_fields]
            faults.append(f"{assignment!r}: unknown key {name!r}; {nearest(name, every)}")
    if faults:
        raise ConfigError("--set", faults)
    return Settings(areas["model"], areas["training"])


def sort_settings(values: Mapping[str, Any]) -> Settings:
    """Sort settings by area, such as the keyword arguments of `train`."""
    areas: dict[str, dict[str, Any]] = {area: {} for area in _AREAS}
    faults = []
    for key, value in values.items():
        if home := _find_area(key):
            areas[home][key] = value
        else:
            every = [name for config in _AREAS.values() for name in config.model_fields]
            faults.append(f"unknown setting {key!r} (value {value!r}); {nearest(key, every)}")
    if faults:
        raise ConfigError("train", faults)
    return Settings(areas["model"], areas["training"])


def build_recipe(layers: Sequence[Settings], sizes: tuple[int, int]) -> Recipe:
    """Merge layers of settings, later ones on top, and return them complete and checked.

    The sizes of source and target vocabulary are those of the data. One ConfigError lists all that
    is wrong.
    """
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    for layer in layers:
        model |= _rename(ModelConfig, layer.model)
        training |= _rename(TrainingConfig, layer.training)
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
    if not faults and (fault := _rdrop_without_dropout(*built)):
        faults.append(fault)
    if faults:
        raise ConfigError("the settings of the run", faults)
    return Recipe(*built)


def resolve_recipe(
    layers: Sequence[Settings],
    sizes: tuple[int, int],
    *,
    preset: str | None,
    earlier: Recipe | None,
    fit_memory: bool,
    parent: Parentage | None = None,
    planned: Mapping[str, Any] = MappingProxyType({}),
) -> Recipe:
    """Return complete settings: a preset's, or those of the `earlier` run, with layers on top.

    With a `parent`, the network is its own, and the settings below the layers suit fine-tuning.
    Between both come the settings of training that the budget of the run has `planned`.

    A preset that is named counts in a resumed run too, so that a contradiction is seen. A resumed
    run keeps its micro-batches, which memory or processes may have cut smaller than the recipe
    says; smaller ones than it has are refused later.
    """
    named = preset or next((layer.preset for layer in layers if layer.preset), None)
    below: list[Settings] = []
    if parent is not None:
        _refuse_other_networks(layers, named, parent)
    if parent is not None and earlier is None:
        chosen: dict[str, Any] = {}
        for layer in layers:
            chosen |= TrainingConfig.upgrade(layer.training)
        below += [
            Settings(training=parent.training),
            fine_tuning_settings(parent.network, chosen),
        ]
        named = None
    if earlier is not None:
        model = earlier.model.model_dump(exclude=set(FROM_DATA))  # the data is compared later
        below.append(Settings(model, earlier.training.model_dump()))
    if named or (earlier is None and parent is None):
        below.append(preset_settings(find_preset(named or DEFAULT_PRESET)))
    recipe = build_recipe([*below, Settings(training=planned), *layers], sizes)
    if earlier is None:
        return recipe
    begun = earlier.training.micro_batch_tokens
    if fit_memory or recipe.training.micro_batch_tokens > begun:
        return recipe._replace(training=recipe.training.replace(micro_batch_tokens=begun))
    return recipe


def _rdrop_without_dropout(model: ModelConfig, training: TrainingConfig) -> str | None:
    dropped = (model.dropout, model.attention_dropout, model.feed_forward_dropout)
    if training.rdrop_alpha and not any(dropped):
        return (
            f"training.rdrop_alpha = {training.rdrop_alpha} with model.dropout = 0: without "
            "dropout two passes are the same; raise dropout, or leave rdrop_alpha out"
        )
    return None


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _find_area(key: str) -> str | None:
    """Return the area that a setting belongs to, under its present or its former name."""
    areas = (a for a, cls in _AREAS.items() if key in cls.model_fields or key in cls.renamed)
    return next(areas, None)


def _rename(config: type[Config], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under their present names; warn about former ones."""
    for old in config.renamed.keys() & values.keys():
        warnings.warn(f"{old} is now called {config.renamed[old]}", RenamedWarning, stacklevel=3)
    return config.upgrade(values)
