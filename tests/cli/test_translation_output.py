"""Formats: what is written can be read again, field by field and line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import ALL_KINDS, small_tokenizer
from translucid.cli.line_files import Line
from translucid.cli.translation_output import (
    Form,
    Tally,
    escape_field,
    render_translation,
    word_scores,
)
from translucid.errors import InputError
from translucid.text.normalization import join_lines
from translucid.text.tokenizer import FIRST_PIECE
from translucid.translator import Alignment, Candidate, Flags, Translation
from translucid.translator.translation import Block


def candidate(text: str, *log_probs: float, tokens: tuple[str, ...] = ()) -> Candidate:
    return Candidate(
        text, tokens, log_probs, sum(log_probs), len(log_probs), sum(log_probs) / 2, "end"
    )


BEST = candidate("The cats sleep.", -0.1, -0.2, -0.3, -0.1, -0.2, -0.05,
                 tokens=("▁The", "▁cat", "s", "▁sleep", "."))  # fmt: skip
OTHER = candidate("A ||| cat\nsleeps", -1.5, -0.5, tokens=("▁A", "▁x"))
ALIGNMENT = Alignment(("▁Les",), ("▁The",), (Block(0, 0, ((1.0,),)),), ((0, 0), (1, 2), (2, 1)))


def translation(*candidates: Candidate, **flags: bool) -> Translation:
    return Translation("Les chats dorment.", candidates, Flags(**flags), ALIGNMENT)


def line(number: int = 1, ending: str = "\n", replaced: bool = False) -> Line:
    return Line(number, "Les chats dorment.", ending, replaced)


def form(format_name: Any = "text", **wanted: bool) -> Form:
    every = {"n_best": False, "alignment": False, "word_scores": False}
    return Form(format=format_name, **{**every, **wanted})


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", ""])
def test_a_line_of_text_ends_as_the_source_line_does(ending: str) -> None:
    written = render_translation(line(ending=ending), translation(BEST), form())
    assert written == f"The cats sleep.{ending}".encode()


@pytest.mark.parametrize(("ending", "written"), [("\n", b"\n"), ("\r\n", b"\r\n"), ("", b"\n")])
def test_a_line_that_became_nothing_is_still_a_line(ending: str, written: bytes) -> None:
    """A last line without an end would vanish, and the output have a line less than the input."""
    assert (
        render_translation(line(ending=ending), translation(candidate("", -1.0)), form()) == written
    )


CELL = st.text(st.characters(codec="utf-8"))


@given(CELL, CELL)
def test_tsv_is_a_line_of_two_cells(source: str, target: str) -> None:
    found = Translation(source, (candidate(target, -1.0),), Flags(), None)
    written = render_translation(Line(1, source, "\r\n", False), found, form("tsv")).decode()
    assert written.endswith("\n")
    cells = written[:-1].split("\t")
    assert cells == [join_lines(text).replace("\t", " ") for text in (source, target)]
    assert written.count("\n") == 1
    assert "\r" not in written


@pytest.mark.parametrize("more", ["n_best", "alignment", "word_scores"])
def test_tsv_has_no_further_columns(more: str) -> None:
    with pytest.raises(InputError, match="--format tsv has two columns"):
        form("tsv", **{more: True})


def test_alignment_and_word_scores_are_fields_of_their_own() -> None:
    written = render_translation(line(), translation(BEST), form(alignment=True, word_scores=True))
    expected = "The cats sleep. ||| 0-0 1-2 2-1 ||| WordScores= -0.1000 -0.5000 -0.3500\n"
    assert written.decode() == expected


def test_an_n_best_list_is_that_of_moses() -> None:
    written = render_translation(
        line(8, ending=""), translation(BEST, OTHER), form(n_best=True)
    ).decode()
    assert written.splitlines() == [
        "7 ||| The cats sleep. ||| LogProb= -0.9500 Tokens= 6 ||| -0.4750",
        "7 ||| A &#124;&#124;&#124; cat sleeps ||| LogProb= -2.0000 Tokens= 2 ||| -1.0000",
    ]
    assert written.endswith("\n")
    scored = render_translation(
        line(), translation(BEST), form(n_best=True, word_scores=True)
    ).decode()
    features = "LogProb= -0.9500 Tokens= 6 WordScores= -0.1000 -0.5000 -0.3500"
    assert scored.split(" ||| ")[2] == features


def test_an_n_best_list_has_no_alignment() -> None:
    with pytest.raises(InputError, match="leave --n-best out, or use --format jsonl"):
        form(n_best=True, alignment=True)
    assert form("jsonl", n_best=True, alignment=True)


def test_a_json_object_has_everything() -> None:
    wanted = form("jsonl", n_best=True, alignment=True, word_scores=True)
    written = render_translation(
        line(3, ending=""), translation(BEST, OTHER, looped=True), wanted
    ).decode()
    assert written.count("\n") == 1
    value = json.loads(written)
    assert (value["line"], value["source"]) == (3, "Les chats dorment.")
    assert value["translation"] == "The cats sleep."
    assert value["tokens"] == ["▁The", "▁cat", "s", "▁sleep", "."]
    assert value["log_probs"] == [-0.1, -0.2, -0.3, -0.1, -0.2, -0.05]
    assert (value["score"], value["log_prob"], value["ending"]) == (-0.475, -0.95, "end")
    assert [flag for flag, raised in value["flags"].items() if raised] == ["looped"]
    assert value["confidence"] is None
    assert [one["translation"] for one in value["n_best"]] == [BEST.text, OTHER.text]
    assert value["alignment"]["links"] == [[0, 0], [1, 2], [2, 1]]
    assert value["alignment"]["blocks"][0]["weights"] == [[1.0]]
    assert value["word_scores"] == [-0.1, -0.5, -0.35]
    plain = json.loads(render_translation(line(), translation(BEST), form("jsonl")))
    assert plain.keys().isdisjoint({"n_best", "alignment", "word_scores"})


@given(st.text(alphabet="ab|\r\n \u2028\0é"))
def test_a_text_takes_one_line_and_one_field(text: str) -> None:
    assert "\n" not in join_lines(text)
    assert "\r" not in join_lines(text)
    field = escape_field(text)
    assert "|||" not in field
    assert len(f"0 ||| {field} ||| x".split(" ||| ")) == 3
    assert join_lines("\n".join("ab")) == "a b"


# Scores of words.


def test_a_blank_text_has_no_words() -> None:
    assert word_scores("", (), ()) == []
    assert word_scores("  ", (), (-0.5,)) == []


def test_a_text_in_parts_has_end_symbols_at_unknown_places() -> None:
    assert word_scores("a b", ("▁a", "▁b"), (-1, -2, -3, -4)) is None


def test_bytes_of_one_character_belong_to_its_word() -> None:
    tokens = ("▁caf", "<0xC3>", "<0xA9>", "▁", "no", "ir", "<0xC2>", "<0xA0>", "!")
    scores = word_scores("café noir\u00a0!", tokens, tuple(-(2.0**n) for n in range(10)))
    assert scores == [-(1 + 2 + 4), -(8 + 16 + 32), -(64 + 128 + 256 + 512)]


@given(kind=st.sampled_from(ALL_KINDS), data=st.data())
def test_words_are_those_of_the_text_and_their_scores_sum_to_the_whole(
    kind: str, data: st.DataObject
) -> None:
    """Of any tokens that a network may write; each word's score is told apart by its bits."""
    tokenizer = small_tokenizer(kind)
    ids = data.draw(st.lists(st.integers(FIRST_PIECE, tokenizer.vocab_size - 1), max_size=12))
    tokens = tuple(tokenizer.piece(token) for token in ids)
    text = tokenizer.decode(ids)
    log_probs = [-(2.0**n) for n in range(len(ids) + 1)]
    scores = word_scores(text, tokens, log_probs)
    assert scores is not None
    assert len(scores) == len(text.split())
    if scores:
        assert sum(scores) == sum(log_probs)


# What is told at the end.


def test_the_summary_counts_and_names_lines() -> None:
    tally = Tally()
    tally.add([line(1), line(2)], [translation(BEST), translation(BEST, truncated=True)])
    tally.seconds = 2.0
    assert tally.summary() == "2 lines, 10 tokens in 2.0 s (5 tokens/s): 1 truncated, 0 looped"
    assert tally.warnings() == ["line 2: cut at the limit of length (--max-length, --extra-length)"]
    tally.add(
        [line(n, replaced=n == 20) for n in range(3, 1203)],
        [translation(BEST, looped=True, split=n == 9, unknown=n == 8) for n in range(3, 1203)],
    )
    assert tally.summary().endswith(
        "1 truncated, 1,200 looped, 1 split, 1 with unknown characters, 1 not UTF-8"
    )
    assert (
        "lines 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 1,190 more: ended because the translation went "
        "in circles"
    ) in tally.warnings()
    assert len(tally.warnings()) == 5


def test_text_that_became_nothing_is_told() -> None:
    tally = Tally()
    blank = Line(2, " ", "\n", False)
    tally.add([line(1), blank], [translation(candidate("", -7.0)), translation(candidate(" "))])
    assert tally.warnings() == ["line 1: translated into nothing"]
    assert tally.summary().endswith("0 truncated, 0 looped, 1 empty")


def test_one_line_is_not_lines() -> None:
    tally = Tally()
    tally.add([line()], [translation(BEST)])
    assert tally.summary().startswith("1 line, ")
    assert not tally.warnings()
