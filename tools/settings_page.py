"""Write `docs/settings.md` from the config classes.

    python tools/settings_page.py        # or `make settings`: after a change of a setting

`tests/cli/test_settings_list.py` holds the page to what this writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from translucid.cli.info import Setting, describe_settings, list_settings
from translucid.cli.main import app
from translucid.cli.options import variable
from translucid.data.cleaning import CleaningConfig
from translucid.data.config import PrepareConfig
from translucid.decoding.config import SearchConfig
from translucid.presets import find_preset
from translucid.serving.config import ServingConfig

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """\
# Settings

This page is made from the config classes by `make settings`.

A settings file (`translucid train -c FILE`) and `--set` may change all of `[model]` and
`[training]`. The values are those of the paper's base model and, where they differ, of the preset
`tiny`; `translucid info PRESET --settings` prints them for any preset. Sizes of vocabularies come
from the data.

```toml
preset = "tiny"

[model]
dropout = 0.2

[training]
warmup_steps = 400
```
"""
# Further sections: heading, what they are for, settings.
OTHERS = (
    (
        "Search",
        "Options of `translucid translate`, keyword arguments of `Translator.translate`, and "
        "`search` of `POST /v1/translate`. A model has its own values; these are the defaults.",
        SearchConfig,
    ),
    ("Preparing data", "Options of `translucid prepare`, arguments of `prepare`.", PrepareConfig),
    ("Cleaning", "Likewise; `--no-…` switches a repair or a filter off.", CleaningConfig),
)
SERVING = """\
Limits and times: `translucid serve -c FILE` and `--set`, arguments of `serve`, and variables of the
environment. A variable comes before the file, the command line before a variable.
"""
SERVE_OPTIONS = """\
The other options of `translucid serve`. Those that may be repeated have their values with spaces
between them in a variable, `TRANSLUCID_RUN` with colons; keys, with commas, may be given as
`TRANSLUCID_API_KEYS`.
"""


def settings_page() -> str:
    """Return the page in Markdown."""
    parts = [HEAD]
    for table in ("model", "training"):
        base, tiny = (
            [setting for setting in list_settings(find_preset(name)) if setting.table == table]
            for name in ("base", "tiny")
        )
        rows = (
            (_key(one), f"`{one.value}`", f"`{two.value}`" * (one != two), one.description)
            for one, two in zip(base, tiny, strict=True)
        )
        heading = ("key", "`base`", "`tiny`", "what it is")
        parts.append(f"## `[{table}]`\n\n{_table(heading, rows)}")
    for title, about, config in OTHERS:
        settings = [one for one in describe_settings("", config()) if one.key != "cleaning"]
        values = ((_key(one), _shown(one.value), one.description) for one in settings)
        parts.append(f"## {title}\n\n{about}\n\n{_table(('key', 'default', 'what it is'), values)}")
    parts.append(f"## Serving\n\n{SERVING}\n{_limits()}\n{SERVE_OPTIONS}\n{_serve_options()}")
    return "\n".join(parts)


def _limits() -> str:
    rows = (
        (_key(one), f"`{variable(one.key)}`", _shown(one.value), one.description)
        for one in describe_settings("", ServingConfig())
    )
    return _table(("key", "variable", "default", "what it is"), rows)


def _serve_options() -> str:
    command: Any = typer.main.get_command(app)
    rows = (
        (f"`{', '.join(one.opts)}`", f"`{one.envvar}`", " ".join(str(one.help).split()))
        for one in command.commands["serve"].params
        if one.envvar is not None
    )
    return _table(("option", "variable", "what it is"), rows)


def _key(setting: Setting) -> str:
    return f"`{setting.key}`"


def _shown(value: str) -> str:
    return "" if value == "None" else f"`{value}`"


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
