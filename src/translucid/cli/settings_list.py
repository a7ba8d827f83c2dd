"""All settings of a run with their values in a preset: for `translucid info --settings`."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo

from translucid.config import Config
from translucid.presets import PAPER_VOCABULARY, Preset
from translucid.training.recipe import FROM_DATA, build_recipe, preset_settings


class Setting(NamedTuple):
    """A key of a settings file, its value in a preset, and what it is."""

    table: str
    key: str
    value: str
    in_words: str


def settings_of(preset: Preset) -> list[Setting]:
    """Return the settings of network and training, in the order of their tables."""
    model, training = build_recipe([preset_settings(preset)], (PAPER_VOCABULARY, PAPER_VOCABULARY))
    return [*_settings("model", model), *_settings("training", training)]


def _settings(table: str, config: Config) -> list[Setting]:
    return [
        Setting(table, key, _in_toml(getattr(config, key)), _in_words(field))
        for key, field in type(config).model_fields.items()
        if key not in FROM_DATA
    ]


def _in_words(field: FieldInfo) -> str:
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return f"{field.description}{': ' if choices else ''}{', '.join(choices)}"


def _in_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value}"
