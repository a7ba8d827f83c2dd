from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import SENTENCES, small_tokenizer
from translucid.text.tokenizer import UNK
from translucid.text.word_and_character import WordTokenizer


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("L'eau, ici  bas", [" L'", "eau", ",", " ici", " ", " bas"]),
        ("don't (stop)!", [" don'", "t", " (", "stop", ")", "!"]),
        ("aujourd’hui…", [" aujourd’", "hui", "…"]),
        ("'quoted' rock'n'roll", [" '", "quoted", "'", " rock'", "n'", "roll"]),
        ("3.14 x_1", [" 3", ".", "14", " x_1"]),
        ("e\u0301te\u0301 नमस्ते", [" e\u0301te\u0301", " नमस्ते"]),
        ("中文。かな", [" 中", "文", "。", "か", "な"]),
        ("ราคา", [" ร", "า", "ค", "า"]),
        ("שלום עולם", [" שלום", " עולם"]),
        (" a", [" ", " a"]),
        ("a\tb\n", [" a", "\t", "b", "\n"]),
        ("❤\ufe0f!", [" ❤\ufe0f", "!"]),
        ("می\u200cروم", [" می\u200cروم"]),
        ("<s>", [" <", "s", ">"]),
        ("\u0301", [" \u0301"]),
    ],
)
def test_a_text_is_cut_into_words_and_marks(text: str, pieces: list[str]) -> None:
    assert WordTokenizer.split(text) == pieces


@given(st.text())
def test_the_pieces_are_the_text(text: str) -> None:
    assert "".join(WordTokenizer.split(text)) == (" " + text if text else "")


@pytest.mark.parametrize("text", [*SENTENCES, " The  cat   sat.,", "L'est l'ai", " ", "?."])
def test_known_words_come_back_exactly(text: str) -> None:
    tokenizer = small_tokenizer("word")
    ids = tokenizer.encode(text)
    assert UNK not in ids
    assert tokenizer.decode(ids) == text


def test_an_unknown_word_is_unk_and_shows_in_the_decoded_text() -> None:
    tokenizer = small_tokenizer("word")
    ids = tokenizer.encode("The zebra sat.")
    assert ids.count(UNK) == 1
    assert tokenizer.decode(ids) == "The ⁇ sat."
    assert tokenizer.decode([UNK]) == "⁇"


def test_the_space_alone_is_always_known() -> None:
    tokenizer = small_tokenizer("word")
    assert not any("  " in sentence for sentence in SENTENCES)
    assert UNK not in tokenizer.encode("the  cat")
