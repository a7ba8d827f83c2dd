"""A line in capitals is translated as the sentence that it is, and answered in capitals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.interpret import explain
from translucid.text.capitals import write_as_sentence
from translucid.text.normalization import lowercase
from translucid.text.placeholders import Protected
from translucid.translator import Translator, load
from translucid.translator.segmentation import MAX_SOURCE_TOKENS

SENTENCES = ["Le chat dort.", "Où est la gare ?", "Je ne sais pas. Il fait froid.", "Merci !"]


@pytest.fixture(scope="module")
def built_in() -> Translator:
    return load("fr-en", precision="float32")


LETTERS = st.text(st.characters(categories=["Lu", "Lt", "Lo", "Ll", "Nd", "Zs", "Po"]))
VOCABULARY = {"LE", "le", "chat", "Marie", "IBM", "I", "i", "a", "A", "."}


def encode(text: str) -> list[int]:
    """Return one token for a known word, and otherwise one per character."""
    words = [[20] if word in VOCABULARY else [21] * len(word) for word in text.split()]
    return [token for word in words for token in word]


@given(st.one_of(st.text(), LETTERS, LETTERS.map(str.upper)))
def test_reading_capitals_changes_nothing_but_case(text: str) -> None:
    """Character by character, so that alignments point to the right place."""
    read = Protected(text).read_capitals(encode)
    assert len(read.text) == len(text)
    assert all(a in (b, lowercase(b)) for a, b in zip(read.text, text, strict=True))
    assert (read.capitals is None) == (read.text == text)
    assert read.as_written() == Protected(text)
    if any(map(str.islower, text)) or not any(map(str.isupper, text)):
        assert read.text == text


def test_abbreviations_and_names_keep_their_capitals() -> None:
    assert write_as_sentence("MARIE A LE CHAT I LE IBM. LE CHAT", encode) == (
        "Marie a le chat I le IBM. Le chat"
    )
    for text in ("OTAN", "Le CHAT dort", "漢字", "漢字IBM漢字", "123 €", "", "A. B."):
        assert Protected(text).read_capitals(encode) == Protected(text)


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
    usual, loud = babbling.translate(["Bonjour mademoiselle.", "BONJOUR MADEMOISELLE."])
    assert loud.text == usual.text.upper() != usual.text
    loud_score, usual_score = babbling.score(
        ["BONJOUR MADEMOISELLE.", "Bonjour mademoiselle."], ["WONDERFUL.", "Wonderful."]
    )
    assert loud_score == usual_score


def test_a_model_says_what_is_an_abbreviation(built_in: Translator) -> None:
    encode = built_in.tokenizer.encode
    text = "L'ONU ET L'UNESCO SONT À PARIS. OUI !"
    assert write_as_sentence(text, encode) == "L'ONU et l'UNESCO sont à Paris. Oui !"


def test_long_lines_are_divided_by_what_the_network_reads(built_in: Translator) -> None:
    usual = "Le chat noir dort dans la grande maison. " * 12
    for text in (usual, usual.upper(), "EUROPEAN " * 400):
        for one in built_in.encode([text], built_in.build_request(target="en")).inputs:
            assert len(one.source) <= MAX_SOURCE_TOKENS + 2
    assert not built_in.translate(usual.upper(), target="en").flags.split


def test_terms_match_in_any_case(built_in: Translator) -> None:
    text, terms = "PARIS DORT SOUS LA PLUIE.", {"Paris": "Berlin"}
    found = built_in.translate(text, target="en", terms=terms).text
    assert "BERLIN" in found
    assert found.isupper()


def test_of_two_terms_the_usual_one_matches_capitals(built_in: Translator) -> None:
    terms = {"Orange": "Orange SA", "orange": "pear"}
    found = built_in.translate("UNE ORANGE EST UN FRUIT.", target="en", terms=terms).text
    assert "PEAR" in found
    assert "SA" not in found.split()


def test_a_prefix_stays_as_it_is_given(built_in: Translator) -> None:
    def translate(text: str, prefix: str) -> str:
        return built_in.translate(text, target="en", prefix=prefix).text

    text = "LE CHAT EST NOIR."
    assert translate(text, "THE CAT").startswith("THE CAT")
    assert translate(text, "THE CAT") == translate(text, "")
    assert translate(text, "The cat").startswith("The cat")
    below = built_in.translate(text, target="en").text
    assert translate(f"Merci.\n{text}", "Thank").endswith(f"\n{below}")
    assert translate("OUVREZ {fichier}.", "OPEN {fichier}").isupper() is False
    assert translate("OUVREZ {FICHIER}.", "OPEN {FICHIER}").startswith("OPEN {FICHIER}")


def test_a_given_translation_is_shown_as_it_is_given(built_in: Translator) -> None:
    for text in ("The cat sleeps.", "THE CAT SLEEPS."):
        trace = explain(built_in, "LE CHAT DORT.", target="en", given=text, level="light")
        assert trace.translation == text
