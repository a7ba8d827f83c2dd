"""``translucid heads``: the table of heads, and heads that look from word to word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from small_translators import reversed_translation, sentences, write_taught_model
from translucid.cli.heads import heads
from translucid.errors import DataError, InputError
from translucid.interpret.ablation import measure_head_importance
from translucid.interpret.head_statistics import measure_heads
from translucid.interpret.word_attention import WordQuestion, find_word_heads
from translucid.translator import load

app = typer.Typer(pretty_exceptions_enable=False)
app.command("heads")(heads)

SOURCES = sentences(60, seed=14)
TARGETS = [reversed_translation(source) for source in SOURCES]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_taught_model(tmp_path_factory.mktemp("models") / "taught")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "in").write_text("\n".join(SOURCES))
    (tmp_path / "out").write_text("\n".join(TARGETS))
    return ["--src", str(tmp_path / "in"), "--ref", str(tmp_path / "out")]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_json_has_every_number_of_every_head(taught: Path, files: list[str]) -> None:
    done = run("-m", taught, *files, "--json", "--importance", "-q")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    found = json.loads(done.stdout)
    translator = load(taught)
    expected = measure_heads(translator, SOURCES, TARGETS).heads
    weighed = measure_head_importance(translator, SOURCES, TARGETS)
    assert (found["model"], found["sentences"]) == ("taught", 60)
    for row, one, importance in zip(found["heads"], expected, weighed, strict=True):
        assert (row["side"], row["layer"], row["head"]) == one.head
        assert (row["role"], row["rule"]) == (one.role, one.rule)
        assert row["entropy"] == pytest.approx(one.entropy, abs=1e-6)
        assert row["alignment"] == one.alignment
        assert row["importance"] == pytest.approx(importance.loss, abs=1e-5)


def test_a_table_for_people(taught: Path, files: list[str]) -> None:
    done = run("-m", taught, *files, "--importance")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "taught: 20 heads, 60 sentences"
    expected = measure_heads(load(taught), SOURCES, TARGETS).heads
    rows = [line.strip() for line in lines if line.startswith((" encoder", " decoder", " cross"))]
    assert len(rows) == 20
    for row, one in zip(rows, expected, strict=True):
        assert row.startswith(f"{one.head} ")
        assert one.role in row
        assert f" {one.entropy:.2f} " in row
    assert "…" not in done.stdout
    assert "same word" in done.stdout
    assert "off costs" in done.stdout
    assert "measuring heads: 60 of 60 sentences" in done.stderr


def test_the_models_own_translations_and_the_first_lines(taught: Path, files: list[str]) -> None:
    done = run("-m", taught, *files[:2], "--lines", "20", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["sentences"] == 20
    assert "the first 20 of 60 lines are used" in done.stderr
    assert "translate: 20 of 20 sentences" in done.stderr


def test_lines_that_cannot_be_measured_are_neither_counted_nor_in_the_way(
    taught: Path, tmp_path: Path
) -> None:
    sources = [SOURCES[0], "", "chat " * 1000, *SOURCES[1:20]]
    targets = [TARGETS[0], "", "cat " * 1000, *TARGETS[1:20]]
    (tmp_path / "in").write_text("\n".join(sources))
    (tmp_path / "out").write_text("\n".join(targets))
    files = ["--src", tmp_path / "in", "--ref", tmp_path / "out"]
    done = run("-m", taught, *files, "--importance", "--json")
    assert done.exit_code == 0, done.output
    assert "2 of 22 lines are left out" in done.stderr
    found = json.loads(done.stdout)
    assert found["sentences"] == 20
    weighed = measure_head_importance(load(taught), SOURCES[:20], TARGETS[:20])
    assert [row["importance"] for row in found["heads"]] == pytest.approx(
        [one.loss for one in weighed], abs=1e-5
    )


def test_a_word_in_brackets_is_a_word(taught: Path) -> None:
    words = ["--sentence", "chat [/b] noir", "--look-from", "[/b]", "--look-to", "noir"]
    done = run("-m", taught, *words)
    assert done.exit_code == 0, done.output
    assert "1. [/b] → noir" in done.stdout


QUESTION = ["--sentence", "chat noir dort", "--look-from", "black", "--look-to", "noir"]
SECOND = ["--sentence", "petit noir mange", "--look-from", "black", "--look-to", "noir"]


def test_heads_that_look_from_word_to_word(taught: Path) -> None:
    done = run("-m", taught, *QUESTION, "--rival", "dort", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["questions"][0]["translation"] == "sleeps black cat"
    question = WordQuestion("chat noir dort", "black", "noir", "dort")
    expected = find_word_heads(load(taught), [question]).rows
    for row, (one,) in zip(found["heads"], expected, strict=True):
        assert (row["side"], row["layer"], row["head"]) == one.where.head
        assert row["row"] == one.where.row
        (look,) = row["looks"]
        assert look["weight"] == pytest.approx(one.weight, abs=1e-6)
        assert look["rival"] == pytest.approx(one.rival, abs=1e-6)


def test_a_table_of_two_sentences(taught: Path) -> None:
    done = run("-m", taught, *QUESTION, *SECOND, "--top", "3")
    assert done.exit_code == 0, done.output
    assert (
        "1. chat noir dort\n   sleeps black cat\n2. petit noir mange\n   eats black small\n"
        in done.stdout
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith(" cross ")]
    assert len(rows) == 3
    assert "1. black → noir" in done.stdout
    assert "the first 3 of 16; --top shows more" in done.stdout
    assert " of 16 look there more than evenly, and more than to a rival, in all 2" in done.stdout


def test_where_no_head_does_it_the_table_says_so(taught: Path) -> None:
    contrary = ["--sentence", "chat noir dort", "--look-from", "black", "--look-to", "dort"]
    words = [*QUESTION, "--rival", "dort", *contrary, "--rival", "noir"]
    done = run("-m", taught, *words)
    assert done.exit_code == 0, done.output
    assert "none of 16 looks there more than evenly" in done.stdout
    question = WordQuestion("chat noir dort", "black", "noir", "dort")
    (best,), *_ = find_word_heads(load(taught), [question]).rows
    assert f"the best of each sentence: 1. {best.where} {best.weight:.2f}; 2. cross" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --src FILE for the table of heads, or --sentence TEXT"),
        (["--src", "in", *QUESTION], "or --sentence TEXT, not both"),
        (["--src", "none"], "--src none: there is no such file"),
        (["--src", "in", "--ref", "none"], "--ref none: there is no such file"),
        (QUESTION[:4], "1 --sentence, 1 --look-from, 0 --look-to, 0 --rival"),
        ([*QUESTION, *SECOND, "--rival", "a"], "2 --look-to, 1 --rival: give each sentence"),
        ([*QUESTION[:4], "--look-to", "chien"], "no attention goes from 'black' to 'chien'"),
        (["--src", "in", "--to", "xx"], "does not translate into 'xx'"),
        ([*QUESTION, "--ref", "in"], "--ref is for the table of heads"),
        ([*QUESTION, "--importance"], "--importance is for the table of heads"),
    ],
)
def test_mistakes(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("chat\n")
    done = run("-m", taught, *words)
    assert isinstance(done.exception, InputError), done.output
    assert message in str(done.exception)


def test_files_that_do_not_belong_together(taught: Path, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "out").write_text("one\ntwo\n")
    done = run("-m", taught, *files)
    assert isinstance(done.exception, DataError)
    assert f"has 2 lines, and {tmp_path / 'in'} has 60" in str(done.exception)


def test_without_a_model(files: list[str]) -> None:
    done = run(*files)
    assert done.exit_code == 0, done.output
    assert "fr-en" in done.stdout
