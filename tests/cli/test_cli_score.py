"""``translucid score``: the log-probability of given translations."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from small_translators import reversed_translation, sentences, write_taught_model
from translucid.built_in import DEFAULT
from translucid.cli.score import score
from translucid.cli.translate import translate
from translucid.errors import DataError, InputError
from translucid.translator import load

app = typer.Typer(pretty_exceptions_enable=False)
app.command("score")(score)
app.command("translate")(translate)

SOURCES = ["chat noir", "", *sentences(20, seed=4), "dort"]
TARGETS = [reversed_translation(source) for source in SOURCES]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_taught_model(tmp_path_factory.mktemp("models") / "taught")


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    (tmp_path / "in").write_text("\n".join(SOURCES), newline="")
    (tmp_path / "out").write_text("\r\n".join(TARGETS), newline="")
    return ["--src", str(tmp_path / "in"), "--tgt", str(tmp_path / "out")]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_one_pair_of_lines_one_number(taught: Path, pair: list[str]) -> None:
    done = run("score", "-m", taught, *pair, "--batch-size", "2")
    assert done.exit_code == 0, done.output
    scored = load(taught).score(SOURCES, TARGETS)
    assert [float(line) for line in done.stdout.splitlines()] == pytest.approx(
        [one.log_prob for one in scored], abs=1e-3
    )
    assert done.stdout.splitlines()[1] == "0.0000"
    total = sum(one.log_prob for one in scored)
    tokens = sum(len(one.log_probs) for one in scored)
    assert f"23 lines, {tokens} tokens in " in done.stderr
    assert f"log P {total:,.2f}, perplexity {math.exp(-total / tokens):,.4g}\n" in done.stderr


def test_the_score_of_a_translation_is_what_the_search_said(
    taught: Path, pair: list[str], tmp_path: Path
) -> None:
    found = run("translate", "-m", taught, "-i", pair[1], "--format", "jsonl", "-q").stdout
    searched = [json.loads(line) for line in found.splitlines()]
    (tmp_path / "out").write_text("".join(f"{value['translation']}\n" for value in searched))
    written = tmp_path / "scores"
    done = run("score", "-m", taught, *pair, "--format", "jsonl", "-o", written, "--word-scores")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    values = [json.loads(line) for line in written.read_text().splitlines()]
    assert [value["line"] for value in values] == list(range(1, len(SOURCES) + 1))
    for value, other in zip(values, searched, strict=True):
        assert value["log_prob"] == pytest.approx(other["log_prob"], abs=1e-4)
        assert value["tokens"] == other["tokens"]
        assert value["log_probs"] == pytest.approx(other["log_probs"], abs=1e-4)
        assert len(value["word_scores"]) == len(value["target"].split())
    assert values[0]["perplexity"] == pytest.approx(math.exp(-values[0]["log_prob"] / 3), rel=1e-4)


def test_word_scores_follow_the_number(taught: Path, pair: list[str]) -> None:
    done = run("score", "-m", taught, *pair, "--word-scores", "-q")
    assert done.stderr == ""
    number, words = done.stdout.splitlines()[0].split(" ||| ")
    name, *scores = words.split()
    assert (name, len(scores)) == ("WordScores=", 2)
    assert sum(map(float, scores)) == pytest.approx(float(number), abs=1e-3)


def test_files_that_do_not_belong_together(taught: Path, pair: list[str], tmp_path: Path) -> None:
    (tmp_path / "out").write_text("one\ntwo\n")
    done = run("score", "-m", taught, *pair)
    assert isinstance(done.exception, DataError)
    assert f"has 2 lines, and {tmp_path / 'in'} has 23" in str(done.exception)
    assert done.stdout == ""


def test_lines_too_long_to_be_scored_are_named(
    taught: Path, pair: list[str], tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("\n".join([*TARGETS[:20], "cat " * 5000, *TARGETS[21:]]))
    done = run("score", "-m", taught, *pair, "--batch-size", "2", "-q")
    assert isinstance(done.exception, InputError)
    assert "lines 17 to 23, of which 17 is pair 1: pair 5 has" in str(done.exception)
    assert len(done.stdout.splitlines()) == 16


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--src", "none", "--tgt", "in"], "--src none: there is no such file"),
        (["--src", "in", "--tgt", "."], "--tgt .: is a folder"),
        (["--src", "in", "--tgt", "in", "-o", "in"], "-o in is also an input file"),
        (["--src", "in", "--tgt", "in", "--format", "csv"], "must be text or jsonl"),
        (["--src", "in", "--tgt", "in", "--to", "xx"], "does not translate into 'xx'"),
    ],
)
def test_mistakes(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("chat\n")
    done = run("score", "-m", taught, *words)
    assert isinstance(done.exception, InputError), done.output
    assert message in str(done.exception)


def test_without_a_model(pair: list[str]) -> None:
    done = run("score", *pair)
    assert done.exit_code == 0, done.output
    assert done.stdout == run("score", "-m", DEFAULT, *pair).stdout


def test_two_empty_files_have_no_scores(tmp_path: Path) -> None:
    for name in ("in", "out"):
        (tmp_path / name).touch()
    done = run("score", "--src", tmp_path / "in", "--tgt", tmp_path / "out", "-q")
    assert (done.exit_code, done.stdout) == (0, "")
