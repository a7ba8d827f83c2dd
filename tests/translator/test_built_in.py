"""The model that comes with the package: it is there, it is small, and it translates."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import translucid
from sacrebleu_command import write_lines
from small_translators import write_random_model
from translucid.built_in import (
    DEFAULT,
    built_in,
    built_in_name,
    built_in_names,
    find_model_directory,
)
from translucid.cli.main import app
from translucid.cli.options import choose_models
from translucid.errors import InputError
from translucid.serving.served_models import ServedModels
from translucid.training.config import TrainingConfig
from translucid.translator import Translator, load

MOST_BYTES = 25_000_000
RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def model() -> Translator:
    return translucid.load(DEFAULT.name)


def test_both_directions(model: Translator) -> None:
    assert model.directions == (("fr", "en"), ("en", "fr"))
    english = model.translate(["Je suis étudiant.", "Où est la gare ?", "Elle boit du thé."])
    assert [one.text for one in english] == [
        "I'm a student.",
        "Where's the station?",
        "She drinks tea.",
    ]
    french = model.translate(["Thank you.", "Where is my book?"])
    assert [one.text for one in french] == ["Merci.", "Où est mon livre ?"]


def test_it_reads_what_people_type(model: Translator) -> None:
    for typed, written in (
        ("où est la gare", "Where is the station?"),
        ("J’ai faim", "I'm hungry."),
    ):
        assert model.translate([typed])[0].text == written


def test_it_knows_its_languages(model: Translator) -> None:
    for text in ("Merci beaucoup !", "Il pleut.", "C'est à moi.", "Bonjour."):
        assert model.target_language(None, [text]) == "en"
    for text in ("Thanks a lot!", "It is raining.", "That's mine.", "Hello."):
        assert model.target_language(None, [text]) == "fr"


def test_it_knows_them_in_capitals(model: Translator) -> None:
    for text in ("OÙ EST LA GARE ?", "LE GOUVERNEMENT A ANNONCÉ DE NOUVELLES MESURES"):
        assert model.target_language(None, [text]) == "en"
    for text in ("WHERE IS THE STATION?", "THE GOVERNMENT ANNOUNCED NEW MEASURES"):
        assert model.target_language(None, [text]) == "fr"


def test_it_aligns_words(model: Translator) -> None:
    (found,) = model.translate(["Le chat noir dort."], alignment=True)
    assert found.alignment is not None
    assert model.members[0].heads.agreement is not None


@pytest.mark.parametrize("name", built_in_names())
def test_size_card_and_no_trace_of_the_machine_that_made_it(name: str) -> None:
    files = {file.name: file for file in DEFAULT.with_name(name).iterdir()}
    assert sum(file.stat().st_size for file in files.values()) <= MOST_BYTES
    card = files["README.md"].read_text(encoding="utf-8")
    for part in ("CC BY 2.0 FR", "Tatoeba", "sacrebleu", "BLEU|nrefs:1"):
        assert part in card
    assert "Not stated yet" not in card
    texts = [file for file in files.values() if file.suffix in {".md", ".json", ".svg"}]
    for file in texts:
        assert not re.search(r"/(work|tmp|home|root)/", file.read_text(encoding="utf-8")), file


def test_a_folder_of_that_name_comes_first_where_the_name_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write_random_model(tmp_path / DEFAULT.name)
    monkeypatch.chdir(tmp_path)
    assert find_model_directory(Path(DEFAULT.name)).resolve() == own
    assert choose_models(None) == (DEFAULT,)
    monkeypatch.chdir("/")
    assert find_model_directory(Path(DEFAULT.name)) == DEFAULT


def told(*words: str | Path) -> str:
    """What a command prints that succeeds."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_without_a_model_the_commands_take_this_one(tmp_path: Path) -> None:
    assert told("translate", "je suis étudiant") == "I'm a student.\n"
    told("explain", "je suis étudiant", "-o", tmp_path / "inside.html")
    assert "I'm a student." in (tmp_path / "inside.html").read_text(encoding="utf-8")


def test_every_command_knows_the_name(tmp_path: Path) -> None:
    assert built_in_names() == ["fr-en"]
    assert (built_in("fr-en"), built_in("none")) == (DEFAULT, None)
    assert (built_in_name(DEFAULT), built_in_name(tmp_path)) == ("fr-en", None)
    assert "output projection" in told("info", "fr-en")
    assert [model.name for model in ServedModels.load(["own=fr-en"])] == ["own"]
    theirs = write_lines(tmp_path / "theirs.en", ["The cat sleeps.", "Thank you."])
    source = write_lines(tmp_path / "a.fr", ["Le chat dort.", "Merci."])
    places = ("--src", source, "--ref", theirs, "--resamples", "5", "--trials", "5")
    assert "theirs" in told("compare", "fr-en", theirs, *places)


def test_it_was_trained_by_its_recipe() -> None:
    recipe = tomllib.loads((RECIPES / "fr-en.toml").read_text(encoding="utf-8"))
    config = json.loads((DEFAULT / "config.json").read_text(encoding="utf-8"))
    provenance = json.loads((DEFAULT / "provenance.json").read_text(encoding="utf-8"))
    training = TrainingConfig.upgrade(provenance["training"])  # it is of the first version
    for key, value in recipe["model"].items():
        assert config[key] == value, key
    for key, value in recipe["training"].items():
        assert training[key] == value, key


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    with pytest.raises(InputError, match=r"fr-de does not exist.*a built-in model \(fr-en\)"):
        load("fr-de")
