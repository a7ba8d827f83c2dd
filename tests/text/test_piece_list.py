from __future__ import annotations

import json
from pathlib import Path

import pytest

from small_tokenizers import small_tokenizer
from translucid.errors import DataError
from translucid.text.tokenizer import FIRST_PIECE, load_tokenizer, train_tokenizer

GOOD = {"format": "translucid tokenizer", "version": 1, "kind": "word", "pieces": [" ", " a"]}


def load_json(folder: Path, content: object) -> None:
    path = folder / "tokenizer.model"
    path.write_text(json.dumps(content), encoding="utf-8")
    load_tokenizer(path)


def test_the_file_is_readable_json_with_one_piece_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    tokenizer = train_tokenizer(["a\n b é", " b"], kind="char", vocab_size=99, path=path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[5:-2] == ['" ",', '"b",', '"\\n",', '"a",', '"é"']
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["pieces"] == [" ", "b", "\n", "a", "é"]  # by frequency, then by code
    assert [tokenizer.piece(FIRST_PIECE + i) for i in range(5)] == content["pieces"]


def test_the_limit_keeps_the_most_frequent_words(tmp_path: Path) -> None:
    text = ["b b b c c a"]
    path = tmp_path / "tokenizer.model"
    tokenizer = train_tokenizer(text, kind="word", vocab_size=FIRST_PIECE + 3, path=path)
    assert tokenizer.vocab_size == FIRST_PIECE + 3
    assert tokenizer.decode(tokenizer.encode("a b c")) == "⁇ b c"


def test_a_file_reformatted_by_hand_keeps_its_own_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_text(json.dumps(GOOD, indent=8), encoding="utf-8")
    tokenizer = load_tokenizer(path)
    copy = tmp_path / "copy"
    tokenizer.save(copy)
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "other"}, 'JSON without "format": "translucid tokenizer"'),
        ({"version": 2}, "it has version 2 and this program reads version 1"),
        ({"kind": "words"}, "its kind is 'words'; did you mean 'word'?"),
        ({"kind": None}, "its kind is 'None'"),
        ({"pieces": None}, '"pieces" are not a list of strings'),
        ({"pieces": [" a", 1]}, '"pieces" are not a list of strings'),
        ({"pieces": [" a", ""]}, '"pieces" are not a list of strings'),
        ({"pieces": [" a", " a"]}, "a piece occurs twice"),
        ({"pieces": ["\ud800"]}, "a lone surrogate"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    load_json(tmp_path, GOOD)
    with pytest.raises(DataError, match=r"translucid prepare") as caught:
        load_json(tmp_path, {**GOOD, **change})
    assert problem in str(caught.value)


@pytest.mark.parametrize("kind", ["word", "char"])
def test_every_truncated_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "tokenizer.model"
    small_tokenizer(kind).save(path)
    whole = path.read_bytes().rstrip()
    for length in range(0, len(whole), 31):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"this tokenizer cannot be used"):
            load_tokenizer(path)


def test_hostile_nesting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_text('{"pieces": ' + "[" * 200_000, encoding="utf-8")
    with pytest.raises(DataError, match=r"not valid JSON"):
        load_tokenizer(path)
