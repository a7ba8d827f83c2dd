"""Which models are served, and which of them a request means."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from small_engines import babbling, taught

from small_translators import write_random_model
from translucid.config import ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.interpret.network import model_hash
from translucid.serving.served_models import (
    ServedModel,
    ServedModels,
    UnknownModelError,
    parse_model_option,
)
from translucid.translator import SourceLanguages, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("served") / "french", d_model=8, d_ff=8)


@pytest.fixture(scope="module")
def models() -> ServedModels:
    return ServedModels([taught(), babbling()])


def test_a_model_is_called_like_its_folder_or_as_one_likes(folder: Path) -> None:
    models = ServedModels.load([folder, f"other={folder}"])
    assert [served.name for served in models] == ["french", "other"]
    assert models.default.name == "french"
    assert len(models) == 2


def test_a_model_of_a_run_is_called_like_the_run(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "lesson" / "best")
    assert ServedModels.load([tmp_path / "lesson"]).default.name == "lesson"
    assert ServedModels.load([tmp_path / "lesson" / "best"]).default.name == "lesson"


def test_names_are_unique_and_there_is_a_model(folder: Path) -> None:
    with pytest.raises(InputError, match=r"several models have the name 'french': .*NAME=PATH"):
        ServedModels.load([folder, folder])
    with pytest.raises(InputError, match="no model to serve: give one with -m MODEL"):
        ServedModels.load([])


def test_names_on_the_command_line(tmp_path: Path) -> None:
    assert parse_model_option("a/b") == (None, Path("a/b"))
    assert parse_model_option("short=a/b") == ("short", Path("a/b"))
    odd = tmp_path / "lr=0.1"
    odd.mkdir()
    assert parse_model_option(str(odd)) == (None, odd)
    for wrong in ("=a", "a="):
        with pytest.raises(InputError, match=r"give NAME=PATH, or the path alone"):
            parse_model_option(wrong)


def test_a_request_picks_by_name_by_languages_or_not_at_all(models: ServedModels) -> None:
    assert models.choose(None, None, None).name == "taught"
    assert models.choose("babbling", None, None).name == "babbling"
    assert models.choose(None, "fr", "en").name == "taught"  # of several, the first
    assert models.choose(None, "en", "fr").name == "babbling"
    assert models.choose(None, None, "fr").name == "babbling"
    assert models.choose(None, "en", None).name == "babbling"
    assert models.directions == (("fr", "en"), ("en", "fr"))


def test_what_is_not_served_is_told_with_what_is(models: ServedModels) -> None:
    with pytest.raises(
        UnknownModelError, match=r"no model is called 'taugt': did you mean 'taught'"
    ):
        models.choose("taugt", None, None)
    with pytest.raises(InputError) as caught:
        models.choose(None, "de", "en")
    assert str(caught.value).splitlines() == [
        "no model translates from 'de' into 'en'. There are:",
        "  taught: fr→en",
        "  babbling: fr→en, en→fr",
    ]
    with pytest.raises(InputError, match=r"'taught' does not translate into 'fr' but fr→en"):
        models.choose("taught", None, "fr")
    with pytest.raises(InputError, match="no model translates from 'xx' into any language"):
        models.choose(None, "xx", None)


def test_the_target_may_be_left_out_where_there_is_one_choice() -> None:
    assert taught().target(None, None, ["chat"]) == "en"
    assert babbling().target("en", None, ["a"]) == "fr"
    assert babbling().target(None, "fr", ["a"]) == "fr"
    with pytest.raises(InputError, match="translates into en, fr: say which"):
        babbling().target(None, None, ["a"])


def test_the_language_that_was_said_is_not_guessed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    served = babbling()
    same = torch.zeros(served.translator.tokenizer.vocab_size)
    known = SourceLanguages({"en": same, "fr": same})
    monkeypatch.setattr(served.translator, "source_languages", known)
    assert served.target(None, None, ["a"]) == served.translator.directions[0][1]
    assert served.target("en", None, ["a"]) == "fr"


def test_what_clients_are_told(models: ServedModels, folder: Path) -> None:
    described = models.describe({})
    assert json.loads(json.dumps(described)) == described
    assert [one["default"] for one in described] == [True, False]
    first = described[0]
    translator = taught().translator
    network = translator.members[0].model
    assert first["directions"] == [["fr", "en"]]
    assert described[1]["targets"] == ["en", "fr"]
    assert first["parameters"] == sum(weights.numel() for weights in network.parameters())
    assert ModelConfig(**first["config"]) == network.config
    assert SearchConfig(**first["search"]) == translator.default_search
    assert first["hash"] == model_hash(translator)
    again = ServedModel("again", load(folder))
    assert again.hash == ServedModel("other", load(folder)).hash != first["hash"]
    assert len(again.pieces) == again.describe(True)["vocabulary"]
    assert again.pieces[3] == again.translator.tokenizer.piece(3)
