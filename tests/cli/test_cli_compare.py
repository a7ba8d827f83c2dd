"""``translucid compare`` of models and of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sacrebleu_command
from scored_texts import damaged, references
from small_translators import write_random_model
from translucid.cli.main import app
from translucid.errors import DataError, InputError, TranslucidError
from translucid.translator import load

REFERENCES = references(25, seed=1)
SOURCES = references(25, seed=2)
DRAWS = ("--resamples", "100", "--trials", "120")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, words)])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    lines = {
        "src": SOURCES,
        "ref": REFERENCES,
        "a": damaged(REFERENCES, 0.5, seed=3),
        "b": damaged(REFERENCES, 0.2, seed=4),
        "short": ["one"],
    }
    return {
        name: sacrebleu_command.write_lines(folder / name, text) for name, text in lines.items()
    }


def compared(files: dict[str, Path], *words: str | Path) -> Result:
    return run("--src", files["src"], "--ref", files["ref"], *words)


def test_files_are_compared_as_sacrebleu_does(files: dict[str, Path], tmp_path: Path) -> None:
    done = compared(files, files["a"], files["b"], *DRAWS, "--json", "-o", tmp_path / "results")
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    bootstrap, _ = sacrebleu_command.paired(
        [files["ref"]], [files["a"], files["b"]], "--paired-bs", "--paired-bs-n", "100"
    )
    randomised, _ = sacrebleu_command.paired(
        [files["ref"]], [files["a"], files["b"]], "--paired-ar", "--paired-ar-n", "120"
    )
    for column, metric in enumerate(content["metrics"]):
        first, second = metric["systems"]
        assert (first["system"], second["system"]) == ("a", "b")
        assert first["score"] == pytest.approx(bootstrap[0][column].score, abs=1e-6)
        assert second["score"] == pytest.approx(bootstrap[1][column].score, abs=1e-6)
        assert second["p_bootstrap"] == pytest.approx(bootstrap[1][column].p, abs=5e-5)
        assert second["p_randomization"] == pytest.approx(randomised[1][column].p, abs=5e-5)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
        "report.html",
        "scores.json",
        "settings.json",
        "translations-1-a.txt",
        "translations-2-b.txt",
    ]
    saved = (tmp_path / "results" / "translations-2-b.txt").read_text()
    assert saved == files["b"].read_text()


def test_the_tables_show_differences_and_sentences(files: dict[str, Path]) -> None:
    done = compared(files, files["a"], files["b"], *DRAWS)
    assert done.exit_code == 0, done.output
    assert "25 sentences; baseline: a" in done.stdout
    assert "BLEU|nrefs:1|bs:100|seed:12345" in done.stdout
    assert "BLEU|nrefs:1|ar:120|seed:12345" in done.stdout
    assert done.stdout.count("  reference: ") == 3
    assert "baseline" in done.stdout
    assert "*" in done.stdout


def test_a_model_against_a_file(files: dict[str, Path], tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "ours")
    done = compared(
        files, model, files["a"], "--max-length", "9", "--resamples", "20", "--trials", "0",
        "-o", tmp_path / "results",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    translator = load(model)
    search = translator.default_search.replace(max_length=9)
    expected = [found.text for found in translator.translate(SOURCES, search=search)]
    saved = (tmp_path / "results" / "translations-1-ours.txt").read_text()
    assert saved == "\n".join([*expected, ""])
    settings = json.loads((tmp_path / "results" / "settings.json").read_text())
    assert settings["systems"][0]["direction"] == "fr→en"
    assert settings["trials"] == 0


def test_systems_of_one_name_are_named_by_more_of_their_paths(
    files: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "twin").mkdir()
    twin = sacrebleu_command.write_lines(tmp_path / "twin" / "a", REFERENCES)
    done = compared(files, files["a"], twin, "--resamples", "10", "--trials", "0", "--json")
    assert json.loads(done.stdout)["systems"] == [f"{files['a'].parent.name}/a", "twin/a"]


def test_folders_of_evaluations_are_compared_without_translating_again(
    files: dict[str, Path], tmp_path: Path
) -> None:
    given = ["--src", str(files["src"]), "--ref", str(files["ref"]), "--resamples", "0"]
    for name in ("a", "b"):
        words = ["evaluate", *given, "--translations", str(files[name]), "-o", str(tmp_path / name)]
        assert CliRunner().invoke(app, words).exit_code == 0
    folders = compared(files, tmp_path / "a", tmp_path / "b", *DRAWS, "--json")
    plain = compared(files, files["a"], files["b"], *DRAWS, "--json")
    assert json.loads(folders.stdout)["metrics"] == json.loads(plain.stdout)["metrics"]


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["a"], InputError, "needs two or more systems, not 1"),
        (["a", "nowhere"], InputError, "nowhere does not exist"),
        (["a", "short"], DataError, "has 1 lines"),
        (["a", "a"], InputError, "two systems are named"),
        (["a", "b", "--resamples", "0", "--trials", "0"], InputError, "at least one of the tests"),
        (["a", "b", "--bleu-tokenizer", "13b"], InputError, "13b"),
        (["a", "b", "--beam", "3"], InputError, "--beam: the translations are already given"),
        (["a", "b", "--split", "dev"], InputError, "--split dev: the sentences are those of"),
    ],
)
def test_what_cannot_be_compared(
    files: dict[str, Path], words: list[str], error: type[TranslucidError], message: str
) -> None:
    done = compared(files, *(files.get(word, word) for word in words))
    assert isinstance(done.exception, error)
    assert message in str(done.exception)
    assert done.stdout == ""


def test_a_comparison_that_cannot_be_made_translates_nothing(
    files: dict[str, Path], tmp_path: Path
) -> None:
    done = compared(files, write_random_model(tmp_path / "alone"))
    assert "needs two or more systems, not 1" in str(done.exception)
    assert "translate:" not in done.stderr
