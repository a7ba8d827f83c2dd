"""The tokenizer of imported models equals transformers' MarianTokenizer."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marian_directories import load_theirs, their_ids, train_spm, write_marian
from small_tokenizers import COMPOUNDS, SENTENCES
from translucid.errors import DataError, InputError
from translucid.interop.importing import import_model
from translucid.text.marian import MarianTokenizer
from translucid.text.tokenizer import EOS, FIRST_PIECE, UNK, UNKNOWN_TEXT, load_tokenizer, to_json

TESTS = Path(__file__).parents[1]
HARD = [
    *(TESTS / "hard_lines.tsv").read_text(encoding="utf-8").split("\n"),
    *("", " ", "  two  spaces ", "ﬁn … ½ ①", "ÉTÉ", "été", "☃☃ ☃ x☃", "a\u00a0b\u200bc"),
    *("▁", "a▁b", "<0x41>", "中文", "😀👍🏽", "\ttab\t", "L’été “où”", "a" * 300, "a\0b"),
]
# What is special to transformers even inside a text, where it is only text to us.
SPECIAL = ("</s>", "<unk>", "<pad>", ">>")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[MarianTokenizer, Any, list[int]]:
    """Ours, theirs, and the id that each of our tokens has in theirs."""
    folder = tmp_path_factory.mktemp("tokenizers")
    theirs = write_marian(folder / "theirs")
    ours = load_tokenizer(import_model(theirs, folder / "ours") / "tokenizer.model")
    assert isinstance(ours, MarianTokenizer)
    return ours, load_theirs(theirs)[1], their_ids(theirs, ours)


def check_same(pair: tuple[MarianTokenizer, Any, list[int]], text: str) -> None:
    ours, theirs, ids = pair
    expected = theirs(text, text_target=text)
    for tokenizer, key in ((ours, "input_ids"), (ours.within(ours.vocab_size), "labels")):
        tokens = tokenizer.encode(text)
        assert [ids[token] for token in (*tokens, EOS)] == expected[key]
        if UNK not in tokens:
            decoded = theirs.decode(expected[key], skip_special_tokens=True)
            assert tokenizer.decode(tokens) == decoded


def test_hard_lines(pair: tuple[MarianTokenizer, Any, list[int]]) -> None:
    for text in (*HARD, *SENTENCES, *COMPOUNDS):
        if not any(special in text for special in SPECIAL):
            check_same(pair, text)


@given(
    text=st.text(
        st.one_of(st.sampled_from("catlording é'’.…▁ "), st.characters(exclude_categories=["Cs"]))
    )
)
def test_any_text(pair: tuple[MarianTokenizer, Any, list[int]], text: str) -> None:
    if not any(special in text for special in SPECIAL):
        check_same(pair, text)


@given(text=st.text(st.sampled_from("catlording é'’.…▁☃½ﬁ 😀中\u0301"), max_size=30))
def test_offsets_cover_the_text_in_order(
    pair: tuple[MarianTokenizer, Any, list[int]], text: str
) -> None:
    ours = pair[0]
    encoding = ours.encode_with_offsets(text)
    assert encoding.ids == ours.encode(text)
    assert encoding.pieces == [ours.piece(token) for token in encoding.ids]
    ends = [end for _, end in encoding.offsets]
    assert [start for start, _ in encoding.offsets] == [0, *ends][: len(ends)]
    assert ends == sorted(ends)
    assert not ends or ends[-1] == len(text)


def test_source_and_target_are_segmented_differently(
    pair: tuple[MarianTokenizer, Any, list[int]],
) -> None:
    ours = pair[0]
    target = ours.within(ours.vocab_size)
    assert any(ours.encode(text) != target.encode(text) for text in SENTENCES)
    with pytest.raises(InputError, match="cannot use only"):
        ours.within(ours.vocab_size - 1)
    for tokenizer in (ours, target):
        copy = pickle.loads(pickle.dumps(tokenizer))
        assert copy.encode_batch(SENTENCES) == tokenizer.encode_batch(SENTENCES)


def test_no_text_becomes_a_special_token(pair: tuple[MarianTokenizer, Any, list[int]]) -> None:
    ours = pair[0]
    for text in ("</s>", "<pad>", "<s>", ">>fra<<", "a</s>b"):
        assert all(token >= FIRST_PIECE or token == UNK for token in ours.encode(text))
    assert ours.decode([UNK, EOS]) == UNKNOWN_TEXT


def test_bytes_are_decoded() -> None:
    models = train_spm("source"), train_spm("target")
    tokenizer = MarianTokenizer(MarianTokenizer.build(models, [], ["<0xC3>", "<0xA9>", "▁t"]))
    assert tokenizer.decode([FIRST_PIECE + 2, FIRST_PIECE, FIRST_PIECE + 1]) == "té"
    assert tokenizer.decode([FIRST_PIECE]) == "\ufffd"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"pieces": ["<pad>", 1]}, "not a list of strings"),
        ({"pieces": ["a"] * 30}, "its first pieces are not <pad>"),
        ({"source": "é"}, "its source model is not base64"),
        ({"target": 3}, "its target model is not base64"),
        ({"source": "AAAA"}, "SentencePiece cannot load it"),
    ],
    ids=str,
)
def test_broken_files_are_refused(change: dict[str, Any], match: str, tmp_path: Path) -> None:
    models = train_spm("source"), train_spm("target")
    content = json.loads(MarianTokenizer.build(models, [], ["▁t"]))
    path = tmp_path / "tokenizer.model"
    path.write_bytes(to_json("marian", {**content, **change}))
    with pytest.raises(DataError, match=match):
        load_tokenizer(path)
