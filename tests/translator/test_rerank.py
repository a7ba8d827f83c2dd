"""Of several translations, the one from which the source can be told: against its definition."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch

from small_tokenizers import SENTENCES
from small_translators import sentences, write_random_model
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import normalize_score
from translucid.errors import InputError
from translucid.events import Notice
from translucid.translator import (
    Reranker,
    SourceLanguages,
    Translation,
    Translator,
    load,
    save_source_languages,
)
from translucid.translator.rerank import WEIGHT

BACK = {"directions": [("en", "fr")], "tags": {}}
BOTH = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}
SEARCH = SearchConfig(beam=4, n_best=4, max_length=12, length_penalty=0.8)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A network of the other direction, never trained, with another kind of tokens."""
    folder = tmp_path_factory.mktemp("reader") / "reader"
    return load(write_random_model(folder, kind="char", seed=5, generation=BACK))


def by_definition(
    found: Translation, reader: Translator, weight: float, target: str | None = None
) -> list[tuple[str, float]]:
    """Return the hypotheses of one sentence in the order that the definition gives."""
    texts = [one.text for one in found.n_best]
    read = reader.score(texts, [found.source] * len(texts), target=target)
    pairs = [
        (one.text, one.score + weight * normalize_score(back.log_prob, len(back.log_probs), SEARCH))
        for one, back in zip(found.n_best, read, strict=True)
    ]
    return sorted(pairs, key=lambda pair: -pair[1])


@pytest.mark.parametrize("weight", [0.01, 0.5, 10.0])
def test_the_order_is_that_of_the_definition(
    taught: Translator, reader: Translator, weight: float
) -> None:
    sources = [" ".join(text.split()) for text in sentences(30, seed=8)]
    plain = taught.translate(sources, search=SEARCH)
    read = taught.translate(sources, search=SEARCH, rerank=Reranker(reader, weight))
    for before, after in zip(plain, read, strict=True):
        expected = by_definition(before, reader, weight)
        assert [one.score for one in after.n_best] == pytest.approx(
            [score for _, score in expected], abs=1e-4
        )
        apart = all(a - b > 1e-3 for (_, a), (_, b) in itertools.pairwise(expected))
        if apart:  # else rounding may turn the order
            assert [one.text for one in after.n_best] == [text for text, _ in expected]
        assert {one.text for one in after.n_best} == {text for text, _ in expected}


def test_another_order_is_found_and_fewer_may_be_asked_for(
    taught: Translator, reader: Translator
) -> None:
    sources = sentences(30, seed=8)
    back = Reranker(reader, 10.0)
    whole = taught.translate(sources, search=SEARCH, rerank=back)
    best = taught.translate(sources, search=SEARCH.replace(n_best=1), rerank=back)
    assert [one.text for one in best] == [one.text for one in whole]
    assert all(len(one.n_best) == 1 for one in best)
    plain = taught.translate(sources, search=SEARCH)
    assert [one.text for one in best] != [one.text for one in plain]


def test_lines_and_blank_texts_stay_as_they_are(babbling: Translator, reader: Translator) -> None:
    texts = ["", f"{SENTENCES[0]}\n\n  {SENTENCES[1]}  ", "   ", SENTENCES[2]]
    search = SEARCH.replace(n_best=1)
    plain = babbling.translate(texts, search=search)
    read = babbling.translate(texts, search=search, rerank=Reranker(reader))
    assert [one.source for one in read] == texts
    assert [one.text.count("\n") for one in read] == [one.text.count("\n") for one in plain]
    assert [bool(one.text.strip()) for one in read] == [bool(text.strip()) for text in texts]
    assert babbling.translate([], rerank=Reranker(reader)) == []


def test_a_model_of_both_directions_reads_back_itself(tmp_path: Path) -> None:
    both = load(write_random_model(tmp_path / "both", kind="word", generation=BOTH))
    sources = SENTENCES[:6]
    plain = both.translate(sources, target="en", search=SEARCH)
    read = both.translate(sources, target="en", search=SEARCH, rerank=Reranker(both))
    for before, after in zip(plain, read, strict=True):
        expected = by_definition(before, both, WEIGHT, target="fr")
        assert [one.score for one in after.n_best] == pytest.approx(
            [score for _, score in expected], abs=1e-4
        )


def test_texts_of_several_languages_and_blank_ones(tmp_path: Path) -> None:
    """Where nobody says into which language: that of each text decides; a blank one has none."""
    folder = write_random_model(tmp_path / "both", kind="word", generation=BOTH)
    tokenizer = load(folder).tokenizer
    counts = {"fr": torch.ones(tokenizer.vocab_size), "en": torch.ones(tokenizer.vocab_size)}
    french, english = SENTENCES[2], SENTENCES[0]
    for language, text in (("fr", french), ("en", english)):
        counts[language][tokenizer.encode(text)] += 1000
    save_source_languages(folder, SourceLanguages.from_counts(counts))
    both = load(folder)
    texts = [french, "", english]
    read = both.translate(texts, search=SEARCH, rerank=Reranker(both))
    for text, target, found in ((french, "en", read[0]), (english, "fr", read[2])):
        (plain,) = both.translate([text], target=target, search=SEARCH)
        back = {"en": "fr", "fr": "en"}[target]
        expected = by_definition(plain, both, WEIGHT, target=back)
        assert [one.score for one in found.n_best] == pytest.approx(
            [score for _, score in expected], abs=1e-4
        )
    one_way = load(write_random_model(tmp_path / "one", kind="char", generation=BACK))
    assert both.translate(["", french], search=SEARCH, rerank=Reranker(one_way))
    with pytest.raises(InputError, match=r"text 2: one translates en→fr: .* must translate fr→en"):
        both.translate([french, english], search=SEARCH, rerank=Reranker(one_way))


def test_a_text_whose_language_nobody_knows_cannot_be_read_back(tmp_path: Path) -> None:
    several = {"directions": [("fr", "en"), ("de", "en")], "tags": {}}
    translator = load(write_random_model(tmp_path / "several", generation=several))
    with pytest.raises(InputError, match=r"text 2: .* from fr, de and cannot tell which of them"):
        translator.translate(["", "Le chat"], search=SEARCH, rerank=Reranker(translator))


def test_prefixes_and_terms_hold_when_read_back(taught: Translator, reader: Translator) -> None:
    found = taught.translate(
        ["chat noir", "chat noir"],
        search=SEARCH.replace(n_best=1),
        prefix=["old", ""],
        terms={"noir": "red"},
        rerank=Reranker(reader, 5.0),
    )
    assert found[0].text.startswith("old")
    assert all("red" in one.text for one in found)


def test_a_reader_with_capitals_cannot_read_lower_case(tmp_path: Path, reader: Translator) -> None:
    lower = load(write_random_model(tmp_path / "lower", generation={"lowercase": True}))
    with pytest.raises(InputError, match="take a model that was trained with --lowercase too"):
        lower.translate(["Le chat"], rerank=Reranker(reader))


def test_what_is_too_long_for_the_reader_keeps_the_order_of_the_search(
    taught: Translator, tmp_path: Path
) -> None:
    short = write_random_model(
        tmp_path / "short", kind="char", generation=BACK, positions="learned", max_positions=24
    )
    texts = ["chat noir", "vieux livre rouge petit maison"]
    events: list[object] = []
    read = taught.translate(
        texts, search=SEARCH, rerank=Reranker(load(short)), on_event=events.append
    )
    plain = taught.translate(texts, search=SEARCH)
    assert read[1] == plain[1]
    assert read[0].n_best[0].score != plain[0].n_best[0].score
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert notices == ["1 of 2 sentences were too long to rerank"]


@pytest.mark.parametrize(
    ("search", "what"),
    [
        (SearchConfig(method="greedy"), "the search is greedy"),
        (SearchConfig(beam=1), "the search is beam of 1"),
        (SearchConfig(method="sampling", samples=4), "the search is sampling"),
    ],
)
def test_a_search_without_a_beam_has_nothing_to_choose_from(
    taught: Translator, reader: Translator, search: SearchConfig, what: str
) -> None:
    with pytest.raises(InputError, match=what):
        taught.translate(["chat"], search=search, rerank=Reranker(reader))


def test_a_reader_of_the_wrong_direction_is_refused(taught: Translator) -> None:
    with pytest.raises(InputError, match=r"translates fr→en: .* it must translate en→fr"):
        taught.translate(["chat"], rerank=Reranker(taught))


@pytest.mark.parametrize("weight", [0.0, -1.0, 11.0, float("nan")])
def test_a_weight_that_means_nothing_is_refused(reader: Translator, weight: float) -> None:
    with pytest.raises(InputError, match=f"the reranking weight is {weight}"):
        Reranker(reader, weight)
