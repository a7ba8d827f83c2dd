"""From model directories to a translator, and what is refused on the way."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from small_tokenizers import small_tokenizer
from small_translators import write_random_model
from translucid.checkpoint.model_directory import read_model_files
from translucid.checksums import write_checksums
from translucid.errors import DataError, InputError
from translucid.translator import load

BOTH = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}


def test_a_run_has_a_best_model_and_else_its_last_one(tmp_path: Path) -> None:
    run = tmp_path / "run-3"
    run.mkdir()
    write_random_model(run / "model", generation={"beam": 1})
    assert load(run).name == "run-3/model"
    write_random_model(run / "best", generation={"beam": 2})
    assert load(str(run)).name == "run-3/best"
    assert load(run).default_search.beam == 2
    assert load(run / "model").default_search.beam == 1


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere does not exist: give a model directory, the"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file is a file: give a model directory"):
        load(tmp_path / "file")
    with pytest.raises(InputError, match=r"is neither a model directory \(it has no config.json\)"):
        load(tmp_path)


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    first = write_random_model(tmp_path / "first", kind="bpe")
    second = write_random_model(tmp_path / "second", kind="unigram")
    with pytest.raises(InputError, match=r"second has another vocabulary than .*first") as caught:
        load(first, second)
    for kind in ("bpe", "unigram"):
        assert small_tokenizer(kind).fingerprint[:12] in str(caught.value)


def test_networks_that_write_different_pieces_are_no_ensemble(tmp_path: Path) -> None:
    first = write_random_model(tmp_path / "first")
    fewer = write_random_model(tmp_path / "fewer", target_vocab_size=340)
    with pytest.raises(InputError, match=r"write different numbers of pieces \(.*first: .*r: 340"):
        load(first, fewer)
    other = write_random_model(tmp_path / "other", target_vocab_size=340, seed=1)
    assert load(fewer, other).target_tokenizer.vocab_size == 340


def test_a_network_that_writes_fewer_pieces_than_its_tokenizer_can_spell_with_is_refused(
    tmp_path: Path,
) -> None:
    folder = write_random_model(tmp_path / "words", kind="word", target_vocab_size=30)
    with pytest.raises(DataError, match=r"source and 30 target tokens, its tokenizer"):
        load(folder)


def test_a_network_of_another_size_than_its_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "mixed", kind="bpe")
    small_tokenizer("char").save(folder / "tokenizer.model")
    write_checksums(folder)
    sizes = re.escape(f"its tokenizer {small_tokenizer('char').vocab_size}")
    with pytest.raises(DataError, match=sizes) as caught:
        load(folder)
    assert "tokenizer.model belongs to another model: copy the directory again." in str(
        caught.value
    )


def test_an_ensemble_has_the_directions_that_all_its_models_have(tmp_path: Path) -> None:
    both = write_random_model(tmp_path / "both", generation=BOTH)
    english = write_random_model(
        tmp_path / "english", generation={"directions": [("fr", "en")], "tags": {"en": 4}}
    )
    assert load(both, english).directions == (("fr", "en"),)


@pytest.mark.parametrize(
    "other",
    [
        {"directions": [("de", "en")], "tags": {"en": 4}},
        {"directions": [("fr", "en")], "tags": {}},
        {"lowercase": True, "directions": [("fr", "en")], "tags": {"en": 4}},
    ],
    ids=["no direction in common", "other tags", "lower case only"],
)
def test_models_that_cannot_translate_together_are_refused(
    tmp_path: Path, other: dict[str, object]
) -> None:
    both = write_random_model(tmp_path / "both", generation=BOTH)
    second = write_random_model(tmp_path / "second", generation=other)
    with pytest.raises(InputError, match="these models cannot translate together") as caught:
        load(both, second)
    assert f"{both}: fr→en, en→fr, tags {{'en': 4, 'fr': 5}}, both cases" in str(caught.value)
    assert f"{second}: " in str(caught.value)


def test_a_model_that_lacks_a_file_is_refused(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match="the file is missing"):
        load(folder)


def test_a_copied_model_is_the_same_model(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "m")
    shutil.copytree(folder, tmp_path / "copy")
    assert len(load(folder, tmp_path / "copy").members) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    """A beam search over them would never end."""
    folder = write_random_model(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["decoder.norm.weight"][0] = value
    save_file(weights, folder / "model.safetensors")
    write_checksums(folder)
    with pytest.raises(DataError, match=r"decoder\.norm\.weight has values that are not finite"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
def test_settings_that_are_no_text_are_refused(tmp_path: Path, name: str) -> None:
    folder = write_random_model(tmp_path / "model")
    (folder / name).write_bytes(b"\xff\xfe{}")
    write_checksums(folder)
    with pytest.raises(DataError, match=f"(?s){name}.*not valid JSON"):
        load(folder)


def test_a_card_that_is_no_text_is_in_nobodys_way(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "model")
    (folder / "README.md").write_bytes("déjà".encode("latin-1"))
    assert load(folder).directions == load(write_random_model(tmp_path / "other")).directions
    with pytest.raises(DataError, match=r"README\.md.*is not UTF-8 text"):
        read_model_files(folder)


@pytest.mark.parametrize("tags", [{"en": 4}, {"en": 4, "fr": 99_999}, {"en": 0, "fr": 5}])
def test_tags_that_cannot_be_are_refused(tmp_path: Path, tags: dict[str, int]) -> None:
    folder = write_random_model(tmp_path / "model", generation={**BOTH, "tags": tags})
    with pytest.raises(DataError, match=r"languages en, fr needs one, a number from 4 to 19"):
        load(folder)


def test_a_search_that_cannot_be_is_refused_with_the_file(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "model")
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "length_penalty": -1.0}))
    write_checksums(folder)
    with pytest.raises(DataError, match=r"length_penalty = -1\.0"):
        load(folder)


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(tmp_path: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"device = '{device}' cannot be used: "):
        load(write_random_model(tmp_path / "model"), device=device)
