"""``translucid evaluate`` on real model directories and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sacrebleu_command
from scored_texts import damaged, references
from small_translators import write_random_model
from translucid.built_in import DEFAULT
from translucid.cli.main import app
from translucid.errors import DataError, InputError, TranslucidError
from translucid.translator import Reranker, load
from word_data import word_data, word_pairs

REFERENCES = references(25, seed=1)
SOURCES = ["le chat dort", "", *references(23, seed=2)]
QUICK = ("--resamples", "20", "--max-length", "9")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    lines = {
        "src": SOURCES,
        "ref": REFERENCES,
        "out": damaged(REFERENCES, 0.3, seed=3),
    }
    return {
        name: sacrebleu_command.write_lines(folder / f"test.{name}", text)
        for name, text in lines.items()
    }


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("models") / "model")


def evaluated(files: dict[str, Path], *words: str | Path) -> Result:
    return run("evaluate", "--src", files["src"], "--ref", files["ref"], *words)


def test_a_model_is_translated_scored_and_saved_beside_it(
    files: dict[str, Path], model: Path
) -> None:
    done = evaluated(files, "-m", model, *QUICK)
    assert done.exit_code == 0, done.output
    folder = model.parent / "evaluations" / "model-test.src-en-beam4-max-length9"
    assert f"results in {folder}" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "report.html",
        "scores.json",
        "settings.json",
        "translations.txt",
    ]
    translator = load(model)
    search = translator.default_search.replace(max_length=9)
    expected = [found.text for found in translator.translate(SOURCES, search=search)]
    lines = (folder / "translations.txt").read_text(encoding="utf-8").split("\n")
    assert lines == [*expected, ""]
    theirs = sacrebleu_command.scores(
        [files["ref"]],
        folder / "translations.txt",
        "--confidence",
        "--confidence-n",
        "20",
    )
    saved = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    for our, their in zip(saved["scores"], theirs, strict=True):
        assert our["score"] == pytest.approx(their["score"], abs=1e-8)
        assert our["signature"] == their["signature"]
        assert f"{our['score']:.2f}" in done.stdout
        assert our["cite"] in done.stdout
    pairs = [(s, r) for s, r in zip(SOURCES, REFERENCES, strict=True) if s]
    scored = translator.score([s for s, _ in pairs], [r for _, r in pairs])
    total = sum(one.log_prob for one in scored)
    assert saved["perplexity"]["log_prob"] == pytest.approx(total, rel=1e-4)
    assert saved["perplexity"]["pairs"] == 24


def test_the_built_in_model_is_evaluated_in_the_current_folder(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    packaged = sorted(DEFAULT.parent.iterdir())
    assert evaluated(files, "--to", "en", *QUICK).exit_code == 0
    assert sorted(DEFAULT.parent.iterdir()) == packaged
    assert [place.name for place in tmp_path.iterdir()] == ["evaluations"]
    assert [place.name for place in tmp_path.glob("evaluations/*")] == [
        "fr-en-test.src-en-beam4-max-length9"
    ]
    (settings,) = tmp_path.glob("evaluations/*/settings.json")
    assert json.loads(settings.read_text(encoding="utf-8"))["systems"][0]["models"] == ["fr-en"]


@pytest.mark.parametrize(
    ("words", "direction"),
    [((), "fr→en"), (("--from", "en"), "en→fr"), (("--to", "fr"), "en→fr")],
)
def test_the_direction_of_a_model_of_several_languages(
    tmp_path: Path, words: tuple[str, ...], direction: str
) -> None:
    source = sacrebleu_command.write_lines(tmp_path / "a", ["Le chat dort.", "Où est la gare ?"])
    reference = sacrebleu_command.write_lines(tmp_path / "b", ["The cat sleeps.", "Where is it?"])
    places = ("--src", source, "--ref", reference, "-o", tmp_path / "out")
    done = run("evaluate", *places, *words, *QUICK)
    assert done.exit_code == 0, done.output
    settings = json.loads((tmp_path / "out" / "settings.json").read_text(encoding="utf-8"))
    assert settings["systems"][0]["direction"] == direction


def test_a_model_of_one_direction_keeps_it_on_data_of_the_other(
    model: Path, tmp_path: Path
) -> None:
    splits = {"train": word_pairs(9, seed=2), "test": word_pairs(5, seed=3)}
    data = word_data(tmp_path / "data", splits, directions=[("en", "fr")])
    done = run("evaluate", "-m", model, "--data", data.folder, "-o", tmp_path / "out", *QUICK)
    assert done.exit_code == 0, done.output
    settings = json.loads((tmp_path / "out" / "settings.json").read_text(encoding="utf-8"))
    assert settings["systems"][0]["direction"] == "fr→en"


def test_the_direction_is_that_of_prepared_data_of_one(tmp_path: Path) -> None:
    data = word_data(
        tmp_path / "data", {"train": word_pairs(9, seed=2), "test": word_pairs(5, seed=3)}
    )
    done = run("evaluate", "--data", data.folder, "-o", tmp_path / "out", *QUICK)
    assert done.exit_code == 0, done.output
    settings = json.loads((tmp_path / "out" / "settings.json").read_text(encoding="utf-8"))
    assert settings["systems"][0]["direction"] == "fr→en"


def test_the_settings_say_how_to_compute_it_again(files: dict[str, Path], tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model")
    done = evaluated(files, "-m", model, *QUICK, "--beam", "2", "-o", tmp_path / "results")
    assert done.exit_code == 0, done.output
    settings = json.loads((tmp_path / "results" / "settings.json").read_text())
    (system,) = settings["systems"]
    assert system["search"]["beam"] == 2
    assert system["search"]["max_length"] == 9
    assert system["direction"] == "fr→en"
    assert len(system["fingerprint"]) == 64
    assert settings["data"]["source"]["path"] == str(files["src"])
    assert len(settings["data"]["references"][0]["sha256"]) == 64
    assert settings["versions"].keys() == {
        *("translucid", "sacrebleu", "torch", "ctranslate2", "python")
    }
    assert not (tmp_path / "evaluations").exists()


def test_an_ensemble(files: dict[str, Path], model: Path, tmp_path: Path) -> None:
    other = write_random_model(tmp_path / "other", seed=1)
    done = evaluated(files, "-m", model, "-m", other, *QUICK, "-o", tmp_path / "results")
    assert done.exit_code == 0, done.output
    translator = load(model, other)
    search = translator.default_search.replace(max_length=9)
    expected = [found.text for found in translator.translate(SOURCES, search=search)]
    assert (tmp_path / "results" / "translations.txt").read_text() == "\n".join([*expected, ""])


def test_json_is_all_of_standard_output(files: dict[str, Path], tmp_path: Path) -> None:
    done = evaluated(
        files, "--translations", files["out"], "--to", "en", "--json", *QUICK[:2],
        "--tokenized-bleu", "--sentences", "3", "-o", tmp_path / "results",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert content["name"] == "test.out"
    assert len(content["scores"]) == 4
    assert "tok:moses-norm-en-translucid1" in content["scores"][3]["signature"]
    assert len(content["worst"]) == len(content["best"]) == 3
    assert content["perplexity"] is None
    assert content["settings"]["systems"][0]["translations"]["path"] == str(files["out"])


def test_translations_that_are_read_back(
    files: dict[str, Path], model: Path, tmp_path: Path
) -> None:
    back = {"directions": [("en", "fr")], "tags": {}}
    other = write_random_model(tmp_path / "back", kind="char", seed=3, generation=back)
    wanted = ("-m", model, "--rerank", other, "--rerank-weight", "2", *QUICK)
    done = evaluated(files, *wanted)
    assert done.exit_code == 0, done.output
    (folder,) = (model.parent / "evaluations").glob("*-beam4-max-length9-rerank2-*")
    translator = load(model)
    search = translator.default_search.replace(max_length=9)
    reading_back = Reranker(load(other), 2.0)
    expected = translator.translate(SOURCES, search=search, rerank=reading_back)
    lines = (folder / "translations.txt").read_text(encoding="utf-8").split("\n")
    assert lines == [*(found.text for found in expected), ""]
    assert lines != [*(found.text for found in translator.translate(SOURCES, search=search)), ""]
    (system,) = json.loads((folder / "settings.json").read_text(encoding="utf-8"))["systems"]
    assert system["rerank"]["models"] == [str(other)]
    assert system["rerank"]["weight"] == 2.0
    compared = tmp_path / "compared"
    places = ("--src", files["src"], "--ref", files["ref"], "-o", compared, "--trials", "10")
    done = run("compare", model, folder, *places, *wanted[2:])
    assert done.exit_code == 0, done.output
    (again, _) = sorted(compared.glob("translations-*.txt"))
    assert again.read_bytes() == (folder / "translations.txt").read_bytes()


def test_a_weight_without_a_reader_is_refused(files: dict[str, Path], model: Path) -> None:
    done = evaluated(files, "-m", model, "--rerank-weight", "1")
    assert isinstance(done.exception, InputError)
    assert "--rerank-weight without --rerank" in str(done.exception)
    done = evaluated(files, "--translations", files["out"], "--to", "en", "--rerank", model)
    assert isinstance(done.exception, InputError)
    assert "--rerank: the translations are already given" in str(done.exception)


def test_translations_of_a_file_are_evaluated_beside_it(files: dict[str, Path]) -> None:
    done = evaluated(files, "--translations", files["out"], *QUICK[:2])
    assert done.exit_code == 0, done.output
    folder = files["out"].parent / "evaluations" / "test.out-test.src"
    assert (folder / "translations.txt").read_text() == files["out"].read_text()
    again = evaluated(files, "--translations", files["out"], *QUICK[:2])
    assert again.exit_code == 0, again.output


def test_several_references(files: dict[str, Path], tmp_path: Path) -> None:
    done = evaluated(
        files, "--ref", files["out"], "--translations", files["out"], "-o", tmp_path / "r",
        "--resamples", "0",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|" in done.stdout
    assert " = 100.00" in done.stdout


def test_the_test_set_and_the_word_frequencies_of_prepared_data(tmp_path: Path) -> None:
    pairs = word_pairs(6, seed=1)
    data = word_data(tmp_path / "data", {"train": word_pairs(100, seed=2), "test": pairs})
    output = sacrebleu_command.write_lines(tmp_path / "out", [target for _, target in pairs])
    done = run(
        "evaluate", "--data", data.folder, "--translations", output, "--resamples", "0", "--json",
        "-o", tmp_path / "results",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert content["sentences"] == 6
    assert content["scores"][1]["score"] == pytest.approx(100)
    frequencies = content["by_word_frequency"]
    assert frequencies["seen_in"] == "the training data"
    assert [group["times"] for group in frequencies["groups"]] == ["10–99"]
    assert content["settings"]["data"]["split"] == "test"


def test_words_are_rare_by_a_text_file(files: dict[str, Path], tmp_path: Path) -> None:
    done = evaluated(
        files, "--translations", files["out"], "--train-text", files["ref"], "--resamples", "0",
        "-o", tmp_path / "r",
    )  # fmt: skip
    assert "times seen in test.ref" in done.stdout


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ([], InputError, "give both --src FILE and --ref FILE, or --data"),
        (
            ["--src", "src", "--ref", "ref", "--translations", "out", "-m", "out"],
            InputError,
            "a model or translations, not both",
        ),
        (["--src", "src", "--translations", "out"], InputError, "both --src FILE and --ref FILE"),
        (["--translations", "out"], InputError, "--data DATA for the test set"),
        (["--src", "src", "--ref", "short", "--translations", "out"], DataError, "has 1 lines"),
        (["--src", "src", "--ref", "ref", "--translations", "short"], DataError, "has 1 lines"),
        (
            ["--src", "src", "--ref", "ref", "--translations", "out", "--bleu-tokenizer", "x"],
            InputError,
            "no tokenizer 'x'",
        ),
    ],
)
def test_what_cannot_be_evaluated(
    files: dict[str, Path],
    tmp_path: Path,
    words: list[str],
    error: type[TranslucidError],
    message: str,
) -> None:
    short = sacrebleu_command.write_lines(tmp_path / "short", ["one"])
    known = {**files, "short": short}
    done = run("evaluate", *(known.get(word, word) for word in words), "-o", tmp_path / "results")
    assert isinstance(done.exception, error)
    assert message in str(done.exception)
    assert not (tmp_path / "results").exists()


def test_a_folder_of_other_things_is_refused_before_any_work(
    files: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("x")
    done = evaluated(files, "--translations", files["out"], "-o", tmp_path)
    assert isinstance(done.exception, InputError)
    assert "has no results" in str(done.exception)
    assert done.stdout == ""


def test_other_searches_and_other_ensembles_have_other_folders(
    files: dict[str, Path], tmp_path: Path
) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    a, b, c = (write_random_model(tmp_path / name / "best") for name in "abc")
    for words in (
        ("-m", a),
        ("-m", a, "--length-penalty", "0.1"),
        ("-m", a, "--length-penalty", "3"),
        ("-m", a, "--length-penalty", "3", "--length-form", "plain"),
        ("-m", a, "--coverage-penalty", "0.2"),
        ("-m", a, "--method", "greedy"),
        ("-m", a, "-m", b),
        ("-m", a, "-m", c),
    ):
        assert evaluated(files, *words, *QUICK).exit_code == 0
    found = sorted(path.name for path in (tmp_path / "a" / "evaluations").iterdir())
    assert len(found) == 8
    assert "best-test.src-en-beam4-length-penalty0.1-max-length9" in found


@pytest.mark.parametrize(
    "search",
    [("--length-form", "plain", "--length-penalty", "3"), ("--coverage-penalty", "3")],
    ids=" ".join,
)
def test_what_is_measured_is_what_the_same_search_translates(
    tmp_path: Path, search: tuple[str, ...]
) -> None:
    """The built-in model: translations of a random one do not change with the search."""
    source = tmp_path / "test.fr"
    source.write_text(
        "Je ne sais pas.\n"
        "Je monte sur le toit quand je veux voir le ciel bleu.\n"
        "Nous avons perdu la clé de la maison que mon frère avait achetée.\n"
        "Ce qui m'ennuie, c'est que tu ne réponds jamais quand je t'appelle.\n"
    )
    words = ("-m", "fr-en", "--to", "en", "--max-length", "30", "--beam", "4")
    written = {}
    for name, more in {"asked": search, "usual": ()}.items():
        saved = ("--resamples", "0", "-o", tmp_path / name)
        done = run("evaluate", "--src", source, "--ref", source, *words, *more, *saved)
        assert done.exit_code == 0, done.output
        written[name] = (tmp_path / name / "translations.txt").read_text()
    done = run("translate", *words, *search, "-i", source, "-o", tmp_path / "out.txt")
    assert done.exit_code == 0, done.output
    assert written["asked"] == (tmp_path / "out.txt").read_text()
    assert written["asked"] != written["usual"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bleu-tokenizer", "13b"], "13b"),
        (["--train-text", "nowhere.txt"], "nowhere.txt"),
        (["--split", "dev"], "--split dev: the sentences are those of --src"),
    ],
)
def test_mistakes_are_told_before_anything_is_translated(
    files: dict[str, Path], model: Path, words: list[str], message: str
) -> None:
    done = evaluated(files, "-m", model, *words, *QUICK)
    assert isinstance(done.exception, TranslucidError)
    assert message in str(done.exception)
    assert "translate:" not in done.stderr


def test_a_search_for_translations_that_are_there_is_refused(files: dict[str, Path]) -> None:
    done = evaluated(files, "--translations", files["out"], "--beam", "7", "--method", "nosuch")
    assert isinstance(done.exception, InputError)
    assert "--method, --beam: the translations are already given" in str(done.exception)
