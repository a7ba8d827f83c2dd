"""From the options of ``translucid serve`` to its limits and times, and to who may call it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from translucid.errors import InputError, nearest, optional

if TYPE_CHECKING:
    from translucid.serving.config import ServingConfig

PACKAGES = ("fastapi", "uvicorn", "prometheus_client", "py3langid")


def check_packages() -> None:
    """Say which extra installs what serving needs, if something is missing."""
    for package in PACKAGES:
        optional(package, extra="serve", job="Serving")


def settings_of(
    file: Path | None, assignments: Sequence[str], given: Mapping[str, Any]
) -> ServingConfig:
    """Return limits and times: a file's, over them those of --set, over them single options."""
    from translucid.serving.config import ServingConfig

    if file is not None and not file.is_file():
        raise InputError(f"--config {file}: there is no such file")
    below = ServingConfig() if file is None else ServingConfig.from_file(file)
    changes = dict(_assigned(one, ServingConfig.model_fields) for one in assignments)
    changes |= {name: value for name, value in given.items() if value is not None}
    return below.replace(**changes) if changes else below


def _assigned(assignment: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    """Return name and value of KEY=VALUE; a value is written as in TOML."""
    name, equals, text = assignment.partition("=")
    name = name.strip()
    if not equals:
        raise InputError(f"--set {assignment}: give KEY=VALUE, such as max_texts=128")
    if name not in known:
        raise InputError(f"--set {assignment}: no limit is called {name!r}; {nearest(name, known)}")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"--set {assignment}: {text.strip()!r} is not a number") from error
    whole = isinstance(value, int) and not isinstance(value, bool)
    return name, float(value) if whole and name.endswith("_seconds") else value


def list_limits(settings: ServingConfig) -> None:
    """Print all limits and times, as -c FILE takes them."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        line = f"# {name} =" if value is None else f"{name} = {value}"
        typer.echo(f"{line:<36}# {field.description}")
