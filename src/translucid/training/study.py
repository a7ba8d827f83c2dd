"""A study: one network trained again and again, with one thing changed each time.

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

The row `base` changes nothing, and comes first. :func:`study` runs it all.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any

from translucid.anatomy import anatomy
from translucid.checkpoint.run_directory import RunDirectory
from translucid.data.mixture import fingerprint_data
from translucid.data.shards import PreparedData, open_data
from translucid.errors import ConfigError, DataError, InputError, nearest
from translucid.events import Emit, Notice, Progress, Trained, TrainingEvent, Validated, silent
from translucid.files import new_file
from translucid.interpret.figures.charts import Dots, dot_chart
from translucid.presets import find_preset
from translucid.training.recipe import (
    Recipe,
    Settings,
    build_recipe,
    preset_settings,
    read_toml,
    sort_settings,
)
from translucid.training.state import read_run_recipe
from translucid.training.train import TrainingJob

BASE = "base"
TABLE, CHART, RESULTS = "table.md", "chart.svg", "results.json"  # files of a study's folder
LATEX, CSV = "table.tex", "results.csv"
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
        """Return the complete settings of a row; `over` are settings of all rows."""
        preset = preset_settings(find_preset(self.common.preset or "tiny"))
        return build_recipe([preset, self.common, *over, row.changes], sizes)

    def only(self, names: Sequence[str]) -> Study:
        """Return the study with the base and these rows alone; without names, all of it."""
        known = [row.name for row in self.rows]
        for name in names:
            if name not in known:
                raise InputError(f"the study has no row {name!r}; {nearest(name, known)}")
        chosen = tuple(row for row in self.rows if not names or row.name in {BASE, *names})
        return replace(self, rows=chosen)


@dataclass(frozen=True)
class StudyResult:
    """What a study found so far: one result per row and seed, in the order of the rows."""

    about: str
    folder: Path
    rows: tuple[RowResult, ...]
    is_complete: bool

    @property
    def table(self) -> str:
        """The results as a table in Markdown, as the paper's table 3 has them."""
        return format_table(self.about, self.rows)

    def save(self) -> None:
        """Write the table, a chart and the results as JSON into the folder."""
        dots = [Dots(row.name, row.group, row.bleus) for row in summarize(self.rows)]
        note = "A dot is a run; the line is the mean of the first row."
        files = {
            TABLE: self.table,
            LATEX: format_latex(self.rows),
            CSV: to_csv(self.rows),
            RESULTS: to_json(self.rows),
            CHART: dot_chart(self.about, note, "BLEU on the dev set", dots).svg,
        }
        for name, content in files.items():
            with new_file(self.folder / name) as file:
                file.write(content.encode())


def study(
    what: Study | str | Path,
    data: PreparedData | str | Path,
    *,
    output: str | Path,
    seeds: Sequence[int] = (1,),
    rows: Sequence[str] = (),
    config: Sequence[Settings] = (),
    emit: Emit = silent,
    stop: threading.Event | None = None,
    **settings: Any,
) -> StudyResult:
    """Train a network again and again, with one thing changed each time.

    ::

        found = study("table-3", "data", output="study", rows=["1 layer"], max_steps=2000)
        print(found.table)

    `what` is ``"table-3"``, the file of a study, or a :class:`Study`; `rows` chooses some of its
    rows, beside base. Each is trained with each of the `seeds`. Settings of ModelConfig and
    TrainingConfig given by name, or in `config`, are those of all rows. After each row
    ``table.md``, ``table.tex``, ``chart.svg``, ``results.csv`` and ``results.json`` in `output` are
    written anew; every row is a run in ``output/runs``, and equal rows are one. Once `stop` is set,
    training stops, and the same call continues.
    """
    prepared = data if isinstance(data, PreparedData) else open_data(Path(data))
    chosen = (what if isinstance(what, Study) else find_study(what)).only(rows)
    over = [*config, sort_settings(settings)]
    trials = build_trials(chosen, prepared, over, seeds, Path(output))
    result = StudyResult(chosen.about, Path(output), (), is_complete=not trials)
    for row in run_trials(trials, prepared, emit, stop or threading.Event()):
        found = (*result.rows, row)
        result = replace(result, rows=found, is_complete=len(found) == len(trials))
        result.save()
    return result


def find_study(what: str | Path) -> Study:
    """Return the built-in study of a name, or that of a file."""
    if what == TABLE_3:
        return table_3()
    if not Path(what).is_file():
        raise InputError(f"{str(what)!r} is neither {TABLE_3} nor an existing file")
    return read_study(Path(what))


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


@dataclass(frozen=True)
class Trial:
    """A row with one seed: its settings, and the directory of its run."""

    row: Row
    recipe: Recipe
    run: RunDirectory

    @property
    def steps(self) -> int:
        """The number of its optimiser steps."""
        return self.recipe.training.max_steps

    def is_finished(self, data: PreparedData) -> bool:
        """Tell whether it was trained to its end with these very settings, on this data.

        A run with others is not: training continues it, or refuses and says why.
        """
        if not self.run.model.is_dir() or self.steps not in self.run.checkpoints.steps():
            return False
        is_same_data = self.run.read_record().fingerprint == fingerprint_data(data)
        return is_same_data and read_run_recipe(self.run) == self.recipe


def build_trials(
    study: Study,
    data: PreparedData,
    over: Sequence[Settings],
    seeds: Sequence[int],
    output: Path,
) -> list[Trial]:
    """Return every row with every seed; all settings are checked before anything is trained."""
    if "dev" not in data.manifest.splits:
        raise InputError(
            f"{data.folder} has no dev set, and a study compares dev scores: prepare one"
        )
    dev = data.manifest.splits["dev"].pairs
    usual = Settings(training={"validation_sample": dev, "keep_checkpoints": 1})
    trials = []
    runs: dict[str, RunDirectory] = {}  # rows with the same settings share a run
    for row in study.rows:
        for seed in seeds:
            layers = [usual, *over, Settings(training={"seed": seed})]
            recipe = study.recipe(row, layers, data.manifest.tokenizer.sizes)
            folder = output / "runs" / folder_name(row.name) / f"seed-{seed}"
            same = json.dumps([part.model_dump(mode="json") for part in recipe])
            trials.append(Trial(row, recipe, runs.setdefault(same, RunDirectory(folder))))
    return trials


def folder_name(name: str) -> str:
    """Return a folder's name for a row: readable, and different for different rows."""
    plain = re.sub(r"[^\w.-]+", "-", name)
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def run_trials(
    trials: Sequence[Trial], data: PreparedData, emit: Emit, stop: threading.Event
) -> Iterator[RowResult]:
    """Train every trial that is not finished yet, and yield the results until `stop` is set."""
    lacking = {trial.run.path: trial.steps for trial in trials if not trial.is_finished(data)}
    total = sum(lacking.values())
    done = 0  # of the trials that were not trained before: others would look like great speed
    for number, trial in enumerate(trials, start=1):
        if stop.is_set():
            return
        emit(Notice(f"row {number} of {len(trials)}: {trial.row.name}, {trial.run.path.name}"))
        if lacking.pop(trial.run.path, 0):
            before = done

            def show(event: TrainingEvent, before: int = before) -> None:
                if isinstance(event, Trained):
                    emit(Progress("study", before + event.step, total, "steps"))

            job = TrainingJob(trial.recipe, data, trial.run, resume=True)
            if job.run_to_end(show, stop).cause == "interrupted":
                return
            done += trial.steps
            emit(Progress("study", done, total, "steps"))
        result = read_result(trial)
        emit(Notice(f"  perplexity {result.perplexity:.2f} · BLEU {result.bleu:.1f}"))
        yield result


@dataclass(frozen=True)
class RowResult:
    """One row, trained once: its last validation, its size, and what training took."""

    name: str
    group: str
    seed: int
    parameters: int
    step: int
    perplexity: float
    bleu: float
    chrf: float
    signature: str
    tokens: int
    seconds: float


@dataclass(frozen=True)
class RowSummary:
    """One row over all its seeds: means, the BLEU of each, and the margin of their mean.

    The margin is half of a 95 % interval by Student's t; None for a single seed.
    """

    name: str
    group: str
    parameters: int
    perplexity: float
    bleu: float
    bleus: tuple[float, ...]

    @property
    def margin(self) -> float | None:
        """Half of the interval in which the mean BLEU of many seeds lies, by 95 %."""
        count = len(self.bleus)
        return student_t(count - 1) * stdev(self.bleus) / math.sqrt(count) if count > 1 else None


def read_result(trial: Trial) -> RowResult:
    """Read the result of a finished trial from its run directory."""
    recipe = read_run_recipe(trial.run)
    events = list(trial.run.metrics.read())
    validated = [event for event in events if isinstance(event, Validated)]
    trained = [event for event in events if isinstance(event, Trained)]
    if not validated:
        raise DataError(
            trial.run.path,
            "the run was never validated",
            remedy="A study needs data with a dev set.",
        )
    last = validated[-1]
    return RowResult(
        name=trial.row.name,
        group=trial.row.group,
        seed=recipe.training.seed,
        parameters=sum(block.parameters for block in anatomy(recipe.model, 1)),
        step=last.step,
        perplexity=last.perplexity,
        bleu=last.bleu,
        chrf=last.chrf,
        signature=last.signatures[0],
        tokens=sum(event.tokens for event in trained),
        seconds=sum(event.seconds for event in trained),
    )


def summarize(results: Iterable[RowResult]) -> list[RowSummary]:
    """Return one summary per row, in the order of the rows."""
    rows: dict[str, list[RowResult]] = {}
    for result in results:
        rows.setdefault(result.name, []).append(result)
    return [
        RowSummary(
            name=name,
            group=each[0].group,
            parameters=each[0].parameters,
            perplexity=fmean(result.perplexity for result in each),
            bleu=fmean(result.bleu for result in each),
            bleus=tuple(result.bleu for result in each),
        )
        for name, each in rows.items()
    ]


def format_table(about: str, results: Sequence[RowResult]) -> str:
    """Return the results as a table in Markdown, as the paper's table 3 has them."""
    rows = summarize(results)
    base = next((row.bleu for row in rows if row.name == BASE), None)
    seeds = sorted({result.seed for result in results})
    lines = [
        f"# {about}",
        "",
        "| | row | parameters | perplexity | BLEU | against base |",
        "|---|---|--:|--:|--:|--:|",
        *(_line(row, base) for row in rows),
        "",
        f"Perplexity and BLEU on the dev set, after {_steps(results)} steps; "
        + (
            f"means of the seeds {', '.join(map(str, seeds))} with 95 % intervals (Student's t), "
            if len(seeds) > 1
            else ""
        )
        + "greedy search.",
        "",
        *(f"`{signature}`" for signature in dict.fromkeys(r.signature for r in results)),
    ]
    return "\n".join(lines) + "\n"


def student_t(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, which makes an interval of 95 % on both sides.

    Exact for 1 and 2 degrees of freedom, otherwise Hill's expansion, right to two decimals.
    """
    if freedom == 1:
        return math.tan(math.pi * 0.475)
    if freedom == 2:
        return 0.95 / math.sqrt(2 * 0.975 * 0.025)
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, start=1))


def to_csv(results: Sequence[RowResult]) -> str:
    """Return results as a table for spreadsheets: one line per row and seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in fields(RowResult)])
    writer.writerows(astuple(result) for result in results)
    return text.getvalue()


def format_latex(results: Sequence[RowResult]) -> str:
    """Return the results as a table in LaTeX, for the package booktabs."""
    lines = [
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r" & row & parameters & perplexity & BLEU \\",
        r"\midrule",
    ]
    for row in summarize(results):
        margin = "" if row.margin is None else rf" $\pm$ {row.margin:.1f}"
        names = " & ".join(re.sub(r"([&%$#_{}])", r"\\\1", name) for name in (row.group, row.name))
        lines.append(
            f"{names} & {row.parameters:,} & {row.perplexity:.2f} & {row.bleu:.1f}{margin} "
            r"\\"
        )
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _line(row: RowSummary, base: float | None) -> str:
    spread = "" if row.margin is None else f" ± {row.margin:.1f}"
    apart = "" if base is None or row.name == BASE else f"{row.bleu - base:+.1f}".replace("-", "−")
    return (
        f"| {row.group} | {row.name} | {row.parameters:,} | {row.perplexity:.2f} | "
        f"{row.bleu:.1f}{spread} | {apart} |"
    )


def _steps(results: Sequence[RowResult]) -> str:
    steps = sorted({result.step for result in results})
    return f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"


def to_json(results: Sequence[RowResult]) -> str:
    """Return results as JSON, for programs."""
    return json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=2) + "\n"
