"""A study: one network trained again and again, each time with one thing changed.

It is how the paper's table 3 came to be. The built-in study `table-3` has its rows at the scale of
the preset `tiny`; a file describes any other::

    about = "how much dropout?"
    preset = "tiny"

    [training]                      # the same for all rows
    max_steps = 2000

    [[row]]
    name = "dropout 0.3"
    group = "D"
    model = { dropout = 0.3 }

The row `base` changes nothing, and comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from translucid.errors import ConfigError, InputError, nearest
from translucid.presets import find_preset
from translucid.training.recipe import Recipe, Settings, complete, of_preset, read_toml

BASE = "base"
TABLE_3 = "table-3"
_AREAS = ("model", "training")
_ROW_KEYS = ("name", "group", *_AREAS)


@dataclass(frozen=True)
class Row:
    """A variation: its name, the group of rows that it stands in, and what it changes."""

    name: str
    group: str
    changes: Settings


@dataclass(frozen=True)
class Study:
    """What all rows share, and the rows; the first of them changes nothing."""

    about: str
    common: Settings
    rows: tuple[Row, ...]

    def recipe(self, row: Row, over: Sequence[Settings], sizes: tuple[int, int]) -> Recipe:
        """Return the complete settings of a row; `over` are settings that count for all rows."""
        preset = of_preset(find_preset(self.common.preset or "tiny"))
        return complete([preset, self.common, *over, row.changes], sizes)

    def only(self, names: Sequence[str]) -> Study:
        """Return the study with the base and these rows alone; without names, all of it."""
        known = [row.name for row in self.rows]
        for name in names:
            if name not in known:
                raise InputError(f"the study has no row {name!r}; {nearest(name, known)}")
        chosen = tuple(row for row in self.rows if not names or row.name in {BASE, *names})
        return replace(self, rows=chosen)


def table_3() -> Study:
    """Return the rows of the paper's table 3 around the preset `tiny`, and the order of norms.

    `tiny` has 4 layers, d_model 128, d_ff 256 and 4 heads of 32; a row halves or doubles what the
    paper's row halves or doubles.
    """
    return Study(
        about="The rows of the paper's table 3, at the scale of the preset tiny",
        common=Settings(preset="tiny"),
        rows=(
            Row(BASE, "", Settings()),
            Row("1 head of 128", "A", Settings({"heads": 1})),
            Row("2 heads of 64", "A", Settings({"heads": 2})),
            Row("8 heads of 16", "A", Settings({"heads": 8})),
            Row("16 heads of 8", "A", Settings({"heads": 16})),
            Row("d_k 8", "B", Settings({"d_k": 8, "d_v": 32})),
            Row("d_k 16", "B", Settings({"d_k": 16, "d_v": 32})),
            Row("1 layer", "C", Settings({"encoder_layers": 1, "decoder_layers": 1})),
            Row("2 layers", "C", Settings({"encoder_layers": 2, "decoder_layers": 2})),
            Row("6 layers", "C", Settings({"encoder_layers": 6, "decoder_layers": 6})),
            Row("d_model 64", "C", Settings({"d_model": 64})),
            Row("d_model 256", "C", Settings({"d_model": 256})),
            Row("d_ff 128", "C", Settings({"d_ff": 128})),
            Row("d_ff 512", "C", Settings({"d_ff": 512})),
            Row("dropout 0", "D", Settings({"dropout": 0.0})),
            Row("dropout 0.2", "D", Settings({"dropout": 0.2})),
            Row("smoothing 0", "D", Settings(training={"label_smoothing": 0.0})),
            Row("smoothing 0.2", "D", Settings(training={"label_smoothing": 0.2})),
            Row("learned positions", "E", Settings({"positions": "learned"})),
            Row("post-norm", "norm", Settings({"norm": "post"})),
        ),
    )


def read_study(path: Path) -> Study:
    """Read a study from its file; one ConfigError lists all that is wrong with it."""
    values = read_toml(path)
    known = ("about", "preset", *_AREAS, "row")
    faults = [f"unknown {key!r}; {nearest(key, known)}" for key in values if key not in known]
    faults += _wrong_kinds(values, "")
    rows = values.get("row", [])
    if not isinstance(rows, list) or not rows:
        faults.append("it has no [[row]]: a study needs at least one")
        rows = []
    faults += [
        fault for number, row in enumerate(rows, start=1) for fault in _row_faults(row, number)
    ]
    faults += _twice([row["name"] for row in rows if isinstance(row.get("name"), str)])
    if faults:
        raise ConfigError(f"{path}", faults)
    common = Settings(values.get("model", {}), values.get("training", {}), values.get("preset"))
    return Study(
        values.get("about", path.stem), common, (Row(BASE, "", Settings()), *map(_row, rows))
    )


def _row(values: Mapping[str, Any]) -> Row:
    changes = Settings(values.get("model", {}), values.get("training", {}))
    return Row(values["name"], values.get("group", ""), changes)


def _row_faults(row: Mapping[str, Any], number: int) -> list[str]:
    where = f"row {number}: "
    faults = [
        f"{where}unknown {key!r}; {nearest(key, _ROW_KEYS)}" for key in row if key not in _ROW_KEYS
    ]
    if not isinstance(row.get("name"), str) or not row["name"].strip():
        faults.append(f"{where}it needs a name")
    if not any(row.get(area) for area in _AREAS):
        faults.append(f"{where}it changes nothing: give model = {{…}} or training = {{…}}")
    return faults + _wrong_kinds(row, where)


def _wrong_kinds(values: Mapping[str, Any], where: str) -> list[str]:
    texts = [
        key for key in ("about", "preset", "group") if not isinstance(values.get(key, ""), str)
    ]
    tables = [key for key in _AREAS if not isinstance(values.get(key, {}), dict)]
    return [f"{where}{key} = {values[key]!r}: must be a text" for key in texts] + [
        f"{where}{key} = {values[key]!r}: must be a table of settings" for key in tables
    ]


def _twice(names: Sequence[str]) -> list[str]:
    names = [BASE, *names]
    return [
        f"two rows are called {name!r}"
        + (", which is the row that changes nothing" * (name == BASE))
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
