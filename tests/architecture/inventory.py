"""What the package offers, as sorted lists of names: commands, options, endpoints, fields …

``python tests/architecture/inventory.py`` prints it as JSON; ``version_1.json`` beside it is what
the first version offered, so that a redesign loses nothing without a word.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[2]


def commands() -> list[str]:
    """Every command with its arguments and options: ``translate --beam``."""
    from translucid.cli.main import app

    group: Any = typer.main.get_command(app)
    return [
        f"{name} {option}"
        for name, command in group.commands.items()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    ]


def endpoints() -> tuple[list[str], list[str]]:
    """Every endpoint, ``POST /v1/translate``, and the names of all that is sent and answered."""
    from served import both_models
    from translucid.serving.app import create_app
    from translucid.serving.config import ServingConfig

    app = create_app(both_models(), ServingConfig())
    document: dict[str, Any] = app.openapi()
    roads = [
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
    ]
    fields = [
        field
        for schema in document["components"]["schemas"].values()
        for field in schema.get("properties", {})
    ]
    return roads, fields


def settings() -> list[str]:
    """Every key of the settings of a network, of training, preparing, searching and serving."""
    from translucid.config import ModelConfig
    from translucid.data.prepare import PrepareConfig
    from translucid.decoding.config import SearchConfig
    from translucid.serving.config import ServingConfig
    from translucid.training.config import TrainingConfig

    configs = (ModelConfig, TrainingConfig, PrepareConfig, SearchConfig, ServingConfig)
    return [f"{config.__name__}.{field}" for config in configs for field in config.model_fields]


def inventory() -> dict[str, list[str]]:
    """Return everything, sorted."""
    import translucid
    from translucid.data.readers.corpus import known_formats
    from translucid.presets import PRESETS

    roads, fields = endpoints()
    panels = (ROOT / "web" / "src" / "panels" / "index.ts").read_text(encoding="utf-8")
    found = {
        "commands": commands(),
        "endpoints": roads,
        "fields": fields,
        "settings": settings(),
        "panels": re.findall(r'key: "(\w+)"', panels),
        "corpora": [
            name
            for format_name, entry in known_formats().items()
            for name in entry.extensions or (format_name,)
        ],
        "presets": list(PRESETS),
        "python": list(translucid.__all__),
    }
    return {name: sorted(set(values)) for name, values in found.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    sys.stdout.write(json.dumps(inventory(), indent=1) + "\n")
