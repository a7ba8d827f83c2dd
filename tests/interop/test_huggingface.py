"""A model directory becomes a directory that transformers loads, and back again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import translucid
from marian_directories import load_theirs, write_marian
from small_translators import write_random_model
from translucid.checkpoint.model_directory import read_weights
from translucid.decoding.config import SearchConfig
from translucid.engines.base import DecoderInput, SearchOptions
from translucid.errors import InputError
from translucid.interop.huggingface import translate_with_huggingface, write_huggingface
from translucid.text.tokenizer import EOS

BOTH: dict[str, Any] = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 5, "fr": 9}}
FITTING: dict[str, dict[str, Any]] = {
    "paper": {},
    "halves": {"positions": "sinusoidal-halves", "activation": "gelu", "attention_bias": True},
    "silu": {"kind": "unigram", "activation": "silu", "output_bias": True},
    "tags": {"seed": 2, "generation": BOTH, "placeholders": True, "tying": "decoder"},
    "untied": {"tying": "none"},
    "fewer": {"target_vocab_size": 400},
}
TEXTS = ["Le chat dort.", "L'eau est ici, dans la bouteille.", "27 livres", "un␣▁ mot ☃", "chats"]


def write_model(folder: Path, name: str) -> Path:
    if name == "imported":
        theirs = write_marian(folder.parent / "theirs", tags=(">>eng<<", ">>deu<<"))
        return translucid.import_model(theirs, folder)
    return write_random_model(folder, **{"norm": "post", "seed": 3, **FITTING[name]})


def sources(translator: translucid.Translator) -> list[tuple[int, ...]]:
    tag = translator.tag(translator.directions[0][1])
    return [(*tag, *translator.tokenizer.encode(text), EOS) for text in TEXTS]


@pytest.mark.parametrize("name", [*FITTING, "imported"])
def test_export_then_import_gives_the_same_model(name: str, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", name)
    write_huggingface(model, tmp_path / "exported")
    again = translucid.import_model(tmp_path / "exported", tmp_path / "again")
    for file in ("config.json", "generation_config.json", "tokenizer.model"):
        assert (again / file).read_bytes() == (model / file).read_bytes()
    before, after = read_weights(model), read_weights(again)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("name", [*FITTING, "imported"])
def test_transformers_writes_the_same_tokens(name: str, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", name)
    write_huggingface(model, tmp_path / "exported")
    translator = translucid.load(model, engine="pytorch")
    read = sources(translator)
    longest = max(map(len, read)) - 1 + 50
    settings = SearchConfig(method="greedy", loop_guard=False, max_length=longest)
    options = SearchOptions(settings, (), (), (), translator.tokenizer.decode)
    found = translator.engines.search([DecoderInput(row, (), ()) for row in read], options)
    ids = json.loads((tmp_path / "exported" / "vocab.json").read_text(encoding="utf-8"))
    names = sorted(ids, key=ids.__getitem__)
    expected = [[names[token] for token in hypotheses[0].tokens] for hypotheses in found]
    assert len({tuple(row) for row in expected}) > 2
    written = translate_with_huggingface(
        tmp_path / "exported", [[names[token] for token in row] for row in read]
    )
    assert written == expected
    own = [[translator.tokenizer.piece(token) for token in row[:-1]] for row in read]
    if name not in ("imported", "tags"):  # those spell the start or placeholders differently
        assert translate_with_huggingface(tmp_path / "exported", own) == expected


def test_their_tokenizer_reads_as_ours(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", "tags")
    write_huggingface(model, tmp_path / "exported")
    translator = translucid.load(model, engine="pytorch")
    network, tokenizer = load_theirs(tmp_path / "exported")
    for text, read in zip(TEXTS[:3], sources(translator), strict=False):
        assert tuple(tokenizer(f">>en<<{text}")["input_ids"]) == read
        assert tokenizer.decode(read[1:], skip_special_tokens=True) == text
    assert network.generation_config.num_beams == translator.generation.beam
    assert [0] in network.generation_config.bad_words_ids


def test_every_property_that_does_not_fit_is_named(tmp_path: Path) -> None:
    model = write_random_model(
        tmp_path / "model", kind="word", norm="pre", positions="rotary", d_k=4, d_v=6,
        activation="swiglu", norm_epsilon=1e-6, generation={"lowercase": True},
    )  # fmt: skip
    with pytest.raises(InputError) as caught:
        write_huggingface(model, tmp_path / "exported")
    for part in (
        *("norm is 'pre'", "'rotary'", "'swiglu'", "d_k is 4 and d_v 6", "norm_epsilon is 1e-06"),
        *("kind 'word'", "lowercase"),
    ):
        assert part in str(caught.value)
    assert not (tmp_path / "exported").exists()
