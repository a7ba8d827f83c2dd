"""A kind of tokenizer that a user adds: trained, saved and loaded by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from translucid.errors import DataError, InputError
from translucid.text import tokenizer as registry
from translucid.text.tokenizer import (
    UNKNOWN_TEXT,
    get_tokenizer_kind,
    load_tokenizer,
    register_tokenizer,
    registered_tokenizers,
    tokenizer_kinds,
    train_tokenizer,
)
from translucid.text.word_and_character import PieceListTokenizer


class HalvesTokenizer(PieceListTokenizer):
    """Two characters per token."""

    kind = "halves"
    always = ()
    unknown = UNKNOWN_TEXT

    @staticmethod
    def split(text: str) -> list[str]:
        return [text[start : start + 2] for start in range(0, len(text), 2)]


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> str:
    for built_in in tokenizer_kinds():
        get_tokenizer_kind(built_in)
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    register_tokenizer("halves", load=HalvesTokenizer, train=HalvesTokenizer.train)
    return "halves"


def test_a_registered_kind_is_trained_saved_and_loaded_by_name(halves: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    trained = train_tokenizer(["abcd", "abef"], kind=halves, vocab_size=100, path=path)
    assert json.loads(path.read_bytes())["kind"] == "halves"
    loaded = load_tokenizer(path)
    assert isinstance(loaded, HalvesTokenizer)
    assert loaded.fingerprint == trained.fingerprint
    assert loaded.decode(loaded.encode("efcdab")) == "efcdab"
    assert tokenizer_kinds() == ("bpe", "unigram", "word", "char", "halves")
    assert list(registered_tokenizers()) == ["halves"]


def test_a_file_of_an_unknown_kind_says_how_to_register_it(
    halves: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.model"
    train_tokenizer(["abcd"], kind=halves, vocab_size=100, path=path)
    monkeypatch.delitem(registry._REGISTRY, halves)
    with pytest.raises(DataError, match=r"its kind is 'halves'") as caught:
        load_tokenizer(path)
    assert "register_tokenizer('halves', load=…, train=…)" in str(caught.value)


def test_a_name_is_not_given_twice(halves: str) -> None:
    register_tokenizer(halves, load=HalvesTokenizer, train=HalvesTokenizer.train)  # the same again
    with pytest.raises(InputError, match=r"'halves' is registered already"):
        register_tokenizer(halves, load=PieceListTokenizer, train=HalvesTokenizer.train)


def test_a_registered_kind_has_placeholders_only_if_it_says_so(halves: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    with pytest.raises(InputError, match=r"of kind halves has no placeholders"):
        train_tokenizer(["ab"], kind=halves, vocab_size=100, path=path, placeholders=True)
