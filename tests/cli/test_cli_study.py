"""``translucid study`` on small data: rows, seeds, going on, and what it refuses."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.study import study
from translucid.data.shards import PreparedData
from translucid.errors import ConfigError, InputError
from translucid.training.state import read_run_recipe
from translucid.training.study import folder_name
from word_data import word_data, word_pairs

app = typer.Typer(pretty_exceptions_enable=False)
app.command("study")(study)

SMALL = """
about = "how many heads?"

[model]
d_model = 16
d_ff = 16
encoder_layers = 1
decoder_layers = 1
heads = 2

[training]
batch_tokens = 60
warmup_steps = 2
max_steps = 4

[[row]]
name = "1 head"
group = "A"
model = { heads = 1 }

[[row]]
name = "no smoothing"
group = "D"
training = { label_smoothing = 0.0 }
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    splits = {"train": word_pairs(60, seed=1), "dev": word_pairs(8, seed=2)}
    return word_data(tmp_path_factory.mktemp("data") / "data", splits)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def run(data: PreparedData, folder: Path, *words: str, text: str = SMALL) -> Result:
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(text, encoding="utf-8")
    asked = [str(file), "--data", str(data.folder), "-o", str(folder), *words]
    return CliRunner().invoke(app, asked)


def test_every_row_with_every_seed(data: PreparedData, tmp_path: Path) -> None:
    done = run(data, tmp_path / "study", "--seeds", "1,2")
    assert done.exit_code == 0, done.output
    results = json.loads((tmp_path / "study" / "results.json").read_text())
    names = ["base", "1 head", "no smoothing"]
    assert [(one["name"], one["seed"]) for one in results] == [
        (n, s) for n in names for s in (1, 2)
    ]
    for one in results:
        place = tmp_path / "study" / "runs" / folder_name(one["name"]) / f"seed-{one['seed']}"
        recipe = read_run_recipe(RunDirectory(place))
        assert recipe.model.heads == (1 if one["name"] == "1 head" else 2)
        assert (recipe.training.label_smoothing == 0.0) == (one["name"] == "no smoothing")
        last = [event for event in RunDirectory(place).metrics.read() if event.step == 4][-1]
        assert one["perplexity"] == getattr(last, "perplexity", None)
    table = (tmp_path / "study" / "table.md").read_text()
    assert done.stdout == table
    assert "means of the seeds 1, 2 with 95 % intervals" in table
    rows = list(csv.DictReader(read(tmp_path / "study" / "results.csv").splitlines()))
    assert [int(row["seed"]) for row in rows] == [1, 2] * 3
    assert [float(row["bleu"]) for row in rows] == [one["bleu"] for one in results]
    latex = (tmp_path / "study" / "table.tex").read_text()
    assert latex.count(r"$\pm$") == 3
    assert latex.count("\\\\\n") == 4
    assert "| A | 1 head |" in table
    drawn = ET.fromstring((tmp_path / "study" / "chart.svg").read_text())
    assert "".join(drawn.itertext()).count("1 head") >= 1


def test_rows_with_the_same_settings_are_one_run(data: PreparedData, tmp_path: Path) -> None:
    text = SMALL + '\n[[row]]\nname = "2 heads"\nmodel = { heads = 2 }\n'
    done = run(data, tmp_path / "study", text=text)
    assert done.exit_code == 0, done.output
    results = {one.pop("name"): one for one in json.loads(read(tmp_path / "study/results.json"))}
    assert results["2 heads"] == results["base"]
    assert not (tmp_path / "study" / "runs" / "2-heads").exists()
    assert len(list(tmp_path.glob("study/runs/*/*/run.json"))) == 3


def test_it_goes_on_and_trains_nothing_twice(data: PreparedData, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    run(data, folder, "--row", "1 head")
    first = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/*/metrics.jsonl")}
    assert len(first) == 2
    done = run(data, folder)
    assert done.exit_code == 0, done.output
    assert {path: path.stat().st_mtime_ns for path in first} == first
    assert len(list(folder.glob("runs/*/*/metrics.jsonl"))) == 3
    told = [line for line in done.stderr.splitlines() if line.startswith("study: ")]
    assert told[0].startswith("study: 1 of 4 steps")  # not the rows of the first time: no work now
    assert told[-1].startswith("study: 4 of 4 steps")
    again = run(data, folder)
    assert again.exit_code == 0, again.output
    assert "study: " not in again.stderr


def test_rows_of_other_data_are_not_put_into_one_table(data: PreparedData, tmp_path: Path) -> None:
    run(data, tmp_path / "study", "--row", "1 head")
    splits = {"train": word_pairs(60, seed=3), "dev": word_pairs(8, seed=2)}
    other = run(word_data(tmp_path / "other", splits), tmp_path / "study", "--row", "1 head")
    assert other.exit_code != 0
    assert "is not what the run began with" in str(other.exception)


def test_the_seeds_of_a_study_are_those_asked_for(data: PreparedData, tmp_path: Path) -> None:
    words = ("--row", "1 head", "--seeds", "1,2", "--set", "training.seed=5")
    assert run(data, tmp_path / "study", *words).exit_code == 0
    paths = (tmp_path / "study").rglob("run.json")
    recipes = [read_run_recipe(RunDirectory(path.parent)) for path in paths]
    assert sorted(recipe.training.seed for recipe in recipes) == [1, 1, 2, 2]


def test_another_setting_in_the_same_folder_is_refused(data: PreparedData, tmp_path: Path) -> None:
    run(data, tmp_path / "study", "--row", "1 head")
    other = run(data, tmp_path / "study", "--row", "1 head", "--set", "model.d_ff=32")
    assert other.exit_code != 0
    assert "d_ff" in str(other.exception)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset = 3\n[[row]]\nname = 'a'\nmodel = {heads = 1}\n", "preset = 3: must be a text"),
        ("about = 'nothing'\n", r"no \[\[row\]\]"),
        ("[[row]]\nname = 'a'\n", "row 1: it changes nothing"),
        ("[[row]]\nmodel = {heads = 1}\n", "row 1: it needs a name"),
        ("[[row]]\nname = 'base'\nmodel = {heads = 1}\n", "two rows are called 'base'"),
        ("[[row]]\nname = 'a'\nmodle = {heads = 1}\n", "did you mean 'model'"),
        ("[[row]]\nname = 'a'\nmodel = 3\n", "model = 3: must be a table"),
        ("[[rwo]]\nname = 'a'\n", "unknown 'rwo'; did you mean 'row'"),
        ("[[row]]\nname = 'a'\nmodel = {hedas = 1}\n", "did you mean 'heads'"),
        ("[[row", "not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_study(
    data: PreparedData, tmp_path: Path, text: str, message: str
) -> None:
    failed = run(data, tmp_path / "study", text=text)
    assert isinstance(failed.exception, ConfigError)
    with pytest.raises(ConfigError, match=message):
        raise failed.exception


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "1,1"], "different whole numbers"),
        (["--seeds", "x"], "--seeds x: give different whole numbers"),
        (["--row", "1 haed"], "did you mean '1 head'"),
    ],
)
def test_what_is_wrong_with_a_command(
    data: PreparedData, tmp_path: Path, words: list[str], message: str
) -> None:
    failed = run(data, tmp_path / "study", *words)
    assert isinstance(failed.exception, InputError)
    assert message in str(failed.exception)


def test_places_that_do_not_serve(data: PreparedData, tmp_path: Path) -> None:
    words = ["nothing.toml", "--data", str(data.folder), "-o", str(tmp_path / "study")]
    assert "neither table-3 nor an existing file" in str(CliRunner().invoke(app, words).exception)
    bare = word_data(tmp_path / "bare", {"train": word_pairs(9, seed=3)})
    assert "has no dev set" in str(run(bare, tmp_path / "study").exception)


def test_different_rows_have_different_folders() -> None:
    assert folder_name("base") == "base"
    assert folder_name("a/b") != folder_name("a b")
    assert "/" not in folder_name("../x")
