"""The same decision in other sentences, found by exchanging the same words."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_traces import taught_translator
from small_translators import sentences
from translucid.data.readers.built_in import lesson_pairs
from translucid.errors import InputError
from translucid.events import Event
from translucid.interpret.explain import explain
from translucid.interpret.minimal_pairs import (
    find_control,
    find_exchange,
    lesson_sentences,
    make_pairs,
    repeat_patching,
)
from translucid.interpret.patched_runs import Cell
from translucid.interpret.patching import Patching, measure_patching

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
FIRST, SECOND = "chat noir dort", "chat noir mange"


@pytest.fixture(scope="module")
def measured() -> Patching:
    translator = taught_translator()
    return measure_patching(translator, explain(translator, FIRST), explain(translator, SECOND))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (TIRED, WIDE, ("tired", "wide")),
        ("L'animal dort.", "L'oiseau dort.", ("animal", "oiseau")),
        ("A big dog.", "A small cat.", ("big dog", "small cat")),
        ("a a b", "a b", None),
        ("the same", "the same", None),
    ],
)
def test_the_exchanged_words(first: str, second: str, words: tuple[str, str] | None) -> None:
    if words is None:
        with pytest.raises(InputError, match="do not differ by words that could be exchanged"):
            find_exchange(first, second)
    else:
        assert find_exchange(first, second) == words


@given(
    st.lists(st.sampled_from("abcd"), max_size=4),
    st.sampled_from(["x", "x y"]),
    st.sampled_from(["z", "w z"]),
    st.lists(st.sampled_from("abcd"), max_size=4),
)
def test_exchanging_the_words_turns_one_sentence_into_the_other(
    before: list[str], one: str, other: str, after: list[str]
) -> None:
    first, second = (" ".join([*before, words, *after]) for words in (one, other))
    found = find_exchange(first, second)
    assert re.sub(rf"\b{re.escape(found[0])}\b", found[1], first) == second


def test_pairs_of_the_lesson_come_with_the_same_words_before_first() -> None:
    pairs = make_pairs(TIRED, WIDE, lesson_sentences(TIRED))
    assert (TIRED, WIDE) not in pairs
    assert len(pairs) == len(set(pairs)) > 500
    assert all("because it was too tired" in pair.first for pair in pairs[:100])
    known = set(lesson_sentences(TIRED))
    for pair in random.Random(1).sample(pairs, 50):
        assert find_exchange(*pair) == ("tired", "wide")
        assert pair.first in known or pair.second in known
    assert pairs == make_pairs(TIRED, WIDE, lesson_sentences(TIRED))


def test_the_lesson_is_read_in_the_language_of_the_sentence() -> None:
    french, english = zip(*lesson_pairs("train"), strict=True)
    assert set(lesson_sentences(TIRED)) == set(english)
    assert set(lesson_sentences("Le chat dort sur le lit.")) == set(french)
    assert lesson_sentences("Der Hund jagt schwarze Katzen.") == ()
    assert lesson_sentences("…") == ()


def test_a_control_shares_no_word() -> None:
    control = find_control(TIRED, WIDE)
    assert control in lesson_sentences(TIRED, "test")
    assert not set(re.findall(r"\w+", f"{TIRED} {WIDE}".lower())) & set(
        re.findall(r"\w+", control.lower())
    )
    assert len(control.split()) == pytest.approx(len(TIRED.split()), abs=2)
    assert find_control("Der Hund jagt schwarze Katzen.") is None


def test_repeated_pairs_are_measured_like_any_pair(measured: Patching) -> None:
    translator = taught_translator()
    events: list[Event] = []
    found = repeat_patching(
        translator, FIRST, SECOND, measured.decision,
        count=3, sentences=sentences(200, seed=5), on_event=events.append,
    )  # fmt: skip
    assert (found.exchanged, len(found.pairs), len(events)) == (("dort", "mange"), 3, 3)
    for pair in found.pairs:
        assert find_exchange(pair.first, pair.second) == ("dort", "mange")
        first, second = (explain(translator, text) for text in (pair.first, pair.second))
        alone = measure_patching(translator, first, second)
        assert {alone.decision.first, alone.decision.second} == {
            measured.decision.first,
            measured.decision.second,
        }
        assert pair.margins == pytest.approx(alone.decision.margins, abs=1e-4)
        assert pair.margins[0] > 0 > pair.margins[1]
        shares = {one.cell: one.share for one in alone.cells}
        heads = [cell for cell in shares if cell.part not in ("source", "target")]
        assert pair.heads == pytest.approx([shares[cell] for cell in heads], abs=1e-4)
        last = {one.cell: one.share for one in alone.cells if one.cell.part == "source"}
        changed = next(n for n, column in enumerate(alone.columns) if column.differs)
        assert pair.changed == pytest.approx(last[Cell("source", 1, changed)], abs=1e-4)
    first = found.heads[0]
    number = heads.index(first.cell)
    shares_of_it = [pair.heads[number] for pair in found.pairs]
    assert (first.least, first.most) == (min(shares_of_it), max(shares_of_it))
    assert first.mean == pytest.approx(sum(shares_of_it) / 3)
    assert sum(head.leads for head in found.heads) == 3


def test_fewer_pairs_are_found_where_there_are_no_more(measured: Patching) -> None:
    few = ["chien dort", "livre rouge"]
    found = repeat_patching(taught_translator(), FIRST, SECOND, measured.decision, sentences=few)
    assert (len(found.pairs), found.tried) == (1, 1)
    nothing = repeat_patching(taught_translator(), FIRST, SECOND, measured.decision, sentences=[])
    assert (nothing.pairs, nothing.heads, nothing.tried) == ((), (), 0)


def test_the_number_of_pairs_has_limits(measured: Patching) -> None:
    with pytest.raises(InputError, match="count = 0: must be from 1 to 100 pairs"):
        repeat_patching(taught_translator(), FIRST, SECOND, measured.decision, count=0)
