"""A line in capitals is translated as the sentence that it is, and answered in capitals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.interpret import explain
from translucid.text.placeholders import Protected, is_in_capitals
from translucid.translator import Translator, load

SENTENCES = ["Le chat dort.", "Où est la gare ?", "Je ne sais pas. Il fait froid.", "Merci !"]


@pytest.fixture(scope="module")
def built_in() -> Translator:
    return load("fr-en", precision="float32")


@given(st.text())
def test_reading_capitals_changes_nothing_but_case(text: str) -> None:
    """Character by character, so that alignments point to the right place."""
    read = Protected(text).read_capitals()
    assert len(read.text) == len(text)
    if read.capitals:
        assert is_in_capitals(text)
        assert all(a in (b, b.lower()) for a, b in zip(read.text, text, strict=True))
        assert any(map(str.islower, read.text))
    else:
        assert read.text == text


@pytest.mark.parametrize("text", SENTENCES)
def test_it_is_the_translation_of_the_sentence_in_capitals(built_in: Translator, text: str) -> None:
    usual, loud = built_in.translate([text, text.upper()], target="en", alignment=True)
    assert loud.text == usual.text.upper() != usual.text
    assert loud.source == text.upper()
    assert usual.alignment is not None
    assert loud.alignment is not None
    assert loud.alignment.links == usual.alignment.links


@pytest.mark.parametrize("text", SENTENCES)
def test_streams_and_scores_agree(built_in: Translator, text: str) -> None:
    loud = built_in.translate(text.upper(), target="en")
    *growing, last = built_in.stream(text.upper(), target="en")
    assert last.stable == loud.text
    assert growing
    assert all(loud.text.startswith(one.stable) for one in growing)
    (score,) = built_in.score([text.upper()], [loud.text], target="en")
    assert score.log_prob == pytest.approx(loud.n_best[0].log_prob, abs=1e-4)


def test_a_trace_writes_what_is_translated(built_in: Translator) -> None:
    text = "LE CHAT DORT."
    loud = built_in.translate(text, target="en")
    trace = explain(built_in, text, target="en", level="light")
    assert trace.translation == loud.text
    assert (
        explain(built_in, text, target="en", given=loud.text).target_tokens == trace.target_tokens
    )
    read = "".join(text[token.start : token.end] for token in trace.source_tokens)
    assert read == text


def test_spans_keep_their_case(built_in: Translator) -> None:
    found = built_in.translate("OUVREZ {fichier} DANS <b>CETTE</b> FENÊTRE.", target="en").text
    assert "{fichier}" in found
    assert "<b>" in found
    assert found.replace("{fichier}", "").replace("<b>", "").replace("</b>", "").isupper()


def test_a_model_without_placeholders_does_the_same(babbling: Translator) -> None:
    usual, loud = babbling.translate(["Le chat dort.", "LE CHAT DORT."])
    assert loud.text == usual.text.upper() != usual.text
    loud_score, usual_score = babbling.score(
        ["LE CHAT DORT.", "Le chat dort."], ["THE CAT SLEEPS.", "The cat sleeps."]
    )
    assert loud_score == usual_score


def test_abbreviations_and_mixed_lines_are_read_as_they_are() -> None:
    for text in ("OTAN", "Le CHAT dort", "漢字", "123 €", "A. B."):
        assert Protected(text).read_capitals() == Protected(text)


def test_terms_match_in_any_case(built_in: Translator) -> None:
    text, terms = "PARIS DORT SOUS LA PLUIE.", {"Paris": "Berlin"}
    found = built_in.translate(text, target="en", terms=terms).text
    assert "BERLIN" in found
    assert found.isupper()


def test_a_prefix_stays_as_it_is_given(built_in: Translator) -> None:
    text = "LE CHAT EST NOIR."
    assert built_in.translate(text, target="en", prefix="THE CAT").text.startswith("THE CAT")
    assert built_in.translate(text, target="en", prefix="The cat").text.startswith("The cat")
