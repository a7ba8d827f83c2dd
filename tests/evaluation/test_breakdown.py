from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from scored_texts import damaged, references
from translucid.evaluation.metrics import (
    count_by_frequency,
    count_words,
    format_range,
    score_by_length,
)
from translucid.evaluation.reference_set import ReferenceSet
from translucid.events import Event, Progress, silent

SOURCES = tuple(references(80, seed=4))
REFERENCES = tuple(references(80, seed=5))
TRANSLATIONS = damaged(list(REFERENCES), 0.3, seed=6)
GIVEN = ReferenceSet("x", SOURCES, (REFERENCES,))


def test_every_sentence_is_in_the_group_of_its_length() -> None:
    groups = score_by_length(GIVEN, TRANSLATIONS, str.split, BLEU(), 0)
    assert sum(group.sentences for group in groups) == len(GIVEN)
    for group in groups:
        places = [
            place
            for place, source in enumerate(SOURCES)
            if group.shortest <= len(source.split()) <= (group.longest or 1000)
        ]
        texts = [TRANSLATIONS[place] for place in places]
        refs = [[REFERENCES[place] for place in places]]
        assert group.sentences == len(places)
        assert group.bleu.score == pytest.approx(BLEU().corpus_score(texts, refs).score)
        assert group.chrf.score == pytest.approx(CHRF().corpus_score(texts, refs).score)
        assert group.length_ratio == pytest.approx(BLEU().corpus_score(texts, refs).ratio)
        assert group.bleu.margin is None


def test_groups_have_intervals_where_there_is_more_than_one_sentence() -> None:
    given = ReferenceSet("x", ("a", "b b", "c " * 60), (("A", "B", "C"),))
    short, long = score_by_length(given, ["A", "X", "C"], str.split, BLEU(), 50)
    assert (short.label, short.sentences) == ("1–5", 2)
    assert short.chrf.margin is not None
    assert (long.label, long.sentences, long.chrf.margin) == ("51 or more", 1, None)


def test_blank_sources_have_no_length() -> None:
    given = ReferenceSet("x", ("", "a"), (("", "A"),))
    (group,) = score_by_length(given, ["", "A"], str.split, BLEU(), 0)
    assert group.sentences == 1


def test_words_are_right_as_often_as_both_have_them() -> None:
    frequency = {"the": 5000, "cat": 3, "cats": 0}
    groups = count_by_frequency(
        ["the cat the", "zebra"], ["the the the cats", "cat"], str.split, frequency
    )
    found = {
        group.label: (group.in_references, group.in_translations, group.matched) for group in groups
    }
    assert found == {"0": (1, 1, 0), "2–4": (1, 1, 0), "1,000 or more": (2, 3, 2)}
    often = groups[-1]
    assert (often.recall, often.precision) == (1.0, pytest.approx(2 / 3))
    assert often.f1 == pytest.approx(0.8)


def test_a_group_that_one_side_lacks_has_no_share() -> None:
    (group,) = count_by_frequency(["a"], [""], str.split, {})
    assert (group.recall, group.precision, group.f1) == (0.0, None, 0.0)


_SENTENCES = st.lists(
    st.tuples(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd"))), max_size=5
)


@given(_SENTENCES, st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2000)))
def test_no_word_is_counted_twice_or_lost(
    pairs: list[tuple[list[str], list[str]]], frequency: dict[str, int]
) -> None:
    refs, outputs = [" ".join(a) for a, _ in pairs], [" ".join(b) for _, b in pairs]
    groups = count_by_frequency(refs, outputs, str.split, frequency)
    assert sum(group.in_references for group in groups) == sum(len(a) for a, _ in pairs)
    assert sum(group.in_translations for group in groups) == sum(len(b) for _, b in pairs)
    common = sum((Counter(a) & Counter(b)).total() for a, b in pairs)
    assert sum(group.matched for group in groups) == common


def test_words_of_a_text_are_counted_with_progress() -> None:
    events: list[Event] = []
    counts = count_words(iter(["a b", "a"]), str.split, 2, events.append)
    assert counts == {"a": 2, "b": 1}
    assert events[-1] == Progress("counting words", 2, 2, "lines")
    assert count_words([], str.split, 0, silent) == {}


def test_ranges_in_words() -> None:
    assert [format_range(1, 5), format_range(2, 2), format_range(1000, None)] == [
        "1–5",
        "2",
        "1,000 or more",
    ]
