"""``translucid import``, and all that can be done with an imported model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from marian_directories import write_marian
from small_tokenizers import SENTENCES
from translucid.cli.main import app
from translucid.errors import DataError

SOURCES, TARGETS = SENTENCES[2:6], SENTENCES[:4]
SHORT = ("--max-length", "6")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def check(*words: str | Path) -> Result:
    done = run(*words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Marian directory and two files of sentences."""
    place = tmp_path_factory.mktemp("import")
    write_marian(place / "opus-mt-fr-en")
    (place / "in.fr").write_text("".join(f"{text}\n" for text in SOURCES), encoding="utf-8")
    (place / "in.en").write_text("".join(f"{text}\n" for text in TARGETS), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    done = check("import", folder / "opus-mt-fr-en", "-o", folder / "model")
    assert done.stdout == f"{folder / 'model'}\n"
    assert "opus-mt-fr-en: fr→en" in done.stderr
    return folder / "model"


def test_it_is_translated_with(model: Path, folder: Path) -> None:
    done = check("translate", "-m", model, "-i", folder / "in.fr", "--quiet", *SHORT)
    assert len(done.stdout.splitlines()) == len(SOURCES)


def test_it_scores(model: Path, folder: Path) -> None:
    done = check("score", "-m", model, "--src", folder / "in.fr", "--tgt", folder / "in.en")
    scores = [float(line) for line in done.stdout.splitlines()]
    assert len(scores) == len(SOURCES)
    assert all(math.isfinite(score) and score < 0 for score in scores)


def test_it_is_evaluated(model: Path, folder: Path) -> None:
    files = ("--src", folder / "in.fr", "--ref", folder / "in.en")
    done = check("evaluate", "-m", model, *files, "--resamples", "5", *SHORT)
    assert "results in" in done.stderr


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_it_is_explained(model: Path, folder: Path, ending: str) -> None:
    output = folder / f"inside.{ending}"
    check("explain", "-m", model, SOURCES[0], "-o", output, *SHORT)
    assert output.stat().st_size > 1000


def test_its_heads_are_measured(model: Path, folder: Path) -> None:
    files = ("--src", folder / "in.fr", "--ref", folder / "in.en")
    assert "cross 2.3" in check("heads", "-m", model, *files).stdout


def test_it_is_fine_tuned(model: Path, folder: Path) -> None:
    pairs = [f"Le chat numéro {n} dort.\tThe cat number {n} sleeps." for n in range(40)]
    (folder / "own.tsv").write_text("\n".join(pairs), encoding="utf-8")
    languages = ("--from", "fr", "--to", "en", "--tokenizer-from", model, "--split", "5,5")
    check("prepare", folder / "own.tsv", *languages, "-o", folder / "data")
    settings = (
        "--set",
        "max_steps=12",
        "--set",
        "validate_every=6",
        "--set",
        "learning_rate=0.002",
    )
    check("train", folder / "data", "-o", folder / "run", "--from", model, *settings)
    lines = (folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [found["loss"] for found in map(json.loads, lines) if found["event"] == "validated"]
    assert losses[-1] < losses[0] - 0.1
    check("translate", "-m", folder / "run", SOURCES[0], "--quiet", *SHORT)


def test_what_cannot_be_imported_ends_with_3(folder: Path, tmp_path: Path) -> None:
    (folder / "opus-mt-fr-en" / "source.spm").rename(tmp_path / "source.spm")
    done = run("import", folder / "opus-mt-fr-en", "-o", tmp_path / "model")
    (tmp_path / "source.spm").rename(folder / "opus-mt-fr-en" / "source.spm")
    assert isinstance(done.exception, DataError)
    assert done.exception.exit_code == 3
    assert not (tmp_path / "model").exists()
