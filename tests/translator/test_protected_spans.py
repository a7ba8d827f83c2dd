"""What is not translated comes out exactly once and unchanged, whatever the network writes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_translators import write_random_model
from translucid.decoding.config import SearchConfig
from translucid.errors import ConfigError, InputError
from translucid.text.spans import SpanFinder
from translucid.translator import Translation, Translator, load

QUICK = SearchConfig(method="greedy", extra_length=3)
SEARCHES = [
    SearchConfig(method="greedy", extra_length=2),
    SearchConfig(beam=3, n_best=3, extra_length=4),
    SearchConfig(beam=3, max_length=4),
    SearchConfig(method="sampling", samples=3, n_best=2, extra_length=4, seed=5),
    SearchConfig(method="diverse", beam=4, groups=2, n_best=2, extra_length=4),
    SearchConfig(method="mbr", samples=4, extra_length=4),
    SearchConfig(beam=2, no_repeat_ngram=2, min_length=6),
]
_BOTH = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}


class HardLine(NamedTuple):
    """A line, the language it is in, and what stands for its spans in the translation."""

    language: str
    text: str
    spans: tuple[str, ...]

    @property
    def target(self) -> str:
        return {"fr": "en", "en": "fr"}[self.language]


def hard_lines() -> list[HardLine]:
    """Read the file, in which ⟦ and ⟧ stand around spans, → before what an amount becomes."""
    lines = []
    path = Path(__file__).parent.parent / "hard_lines.tsv"
    for line in path.read_text(encoding="utf-8").splitlines():
        language, marked = line.split("\t")
        spans = [re.split("(?<=[0-9])→", span) for span in re.findall("⟦(.+?)⟧", marked)]
        text = re.sub("⟦(.+?)⟧", lambda match: re.split("(?<=[0-9])→", match[1])[0], marked)
        lines.append(HardLine(language, text, tuple(span[-1] for span in spans)))
    return lines


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A network that was never trained, whose vocabulary has placeholders."""
    folder = tmp_path_factory.mktemp("knowing") / "model"
    return load(write_random_model(folder, placeholders=True, generation=_BOTH))


@pytest.fixture(scope="module")
def unknowing(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """One whose vocabulary has none."""
    return load(write_random_model(tmp_path_factory.mktemp("un") / "model", generation=_BOTH))


def check(text: str, spans: tuple[str, ...]) -> None:
    """Look for each span; longer ones first, for one may be part of another."""
    rest = text
    for span, count in sorted(Counter(spans).items(), key=lambda one: -len(one[0])):
        assert rest.count(span) >= count, (span, text)
        rest = rest.replace(span, "\0", count)
    assert Counter(_tags(rest)) == Counter(), text
    opened: list[str] = []
    paired = {tag[2:-1] for tag in _tags(text) if tag.startswith("</")}
    for tag in _tags(text):
        name = re.findall(r"[a-z]+", tag)[0]
        if tag.startswith("</"):
            assert opened, text
            assert opened.pop() == name, text
        elif name in paired and not tag.endswith("/>"):
            opened.append(name)


def _tags(text: str) -> list[str]:
    return [span.source for span in SpanFinder().find(text) if span.kind == "tag"]


def is_nested(line: HardLine) -> bool:
    return "</b>rien" not in line.text


def test_there_are_hard_lines_of_every_kind() -> None:
    lines = hard_lines()
    assert len(lines) >= 300
    kinds = Counter(
        span.kind
        for line in lines
        for span in SpanFinder(source=line.language, target=line.target).find(line.text)
    )
    assert min(kinds[kind] for kind in ("code", "url", "email", "path", "variable")) >= 20
    assert min(kinds[kind] for kind in ("tag", "emoji", "number", "amount")) >= 20


def test_the_spans_of_hard_lines_are_found() -> None:
    for line in hard_lines():
        finder = SpanFinder(source=line.language, target=line.target)
        assert tuple(span.text for span in finder.find(line.text)) == line.spans, line.text


@pytest.mark.parametrize("model", ["knowing", "unknowing"])
def test_spans_of_hard_lines_come_out_once_and_unchanged(
    model: str, request: pytest.FixtureRequest
) -> None:
    translator: Translator = request.getfixturevalue(model)
    for target in ("en", "fr"):
        lines = [line for line in hard_lines() if line.target == target]
        found = translator.translate([line.text for line in lines], target=target, search=QUICK)
        for line, translation in zip(lines, found, strict=True):
            if is_nested(line):
                check(translation.text, line.spans)
            has_words = bool(translation.tokens)
            assert translation.flags.between_spans == (model == "unknowing" and has_words)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: f"{search.method}{search.beam}")
def test_every_search_brings_spans_back(knowing: Translator, search: SearchConfig) -> None:
    lines = [line for line in hard_lines() if line.target == "en" and is_nested(line)][::4]
    found = knowing.translate([line.text for line in lines], target="en", search=search)
    for line, translation in zip(lines, found, strict=True):
        for candidate in translation.n_best:
            check(candidate.text, line.spans)


SPANS = st.sampled_from(
    ["{a}", "{b}", "%(n)s", "http://x.y/z", "a@b.fr", "`c d`", "😀", "<br/>", "/x/y", "2024-01-02"]
)
WORDS = st.sampled_from(["The cat", "sat on", "the mat.", "Où est l'eau ?", ",", "été"])
TAGGED = st.tuples(
    st.sampled_from(["b", "i"]), st.lists(SPANS | WORDS, min_size=1, max_size=3)
).map(lambda one: f"<{one[0]}>{' '.join(one[1])}</{one[0]}>")


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS | WORDS | TAGGED, min_size=1, max_size=14).map(" ".join), st.booleans())
def test_whatever_is_written_spans_come_out_once(
    knowing: Translator, unknowing: Translator, text: str, streamed: bool
) -> None:
    spans = tuple(span.text for span in SpanFinder().find(text))
    for translator in (knowing, unknowing):
        (found,) = translator.translate([text], target="en", search=QUICK, alignment=True)
        check(found.text, spans)
        if streamed:
            partials = list(translator.stream(text, target="en", search=QUICK))
            assert partials[-1].stable == found.text
            for partial in partials:
                assert found.text.startswith(partial.stable)


def test_a_pair_that_is_divided_encloses_no_half_of_another(
    knowing: Translator, unknowing: Translator
) -> None:
    text = "{a} {a} {a} <b>{a}</b> <i>The cat</i> {a} {a} {a} {a} {a}"
    spans = tuple(span.text for span in SpanFinder().find(text))
    for translator in (knowing, unknowing):
        (found,) = translator.translate([text], target="en", search=QUICK)
        check(found.text, spans)


def test_words_to_keep_come_out(knowing: Translator, unknowing: Translator) -> None:
    for translator in (knowing, unknowing):
        (found,) = translator.translate(
            ["Le chat de la Société Générale dort."],
            target="en",
            search=QUICK,
            keep=["Société Générale"],
        )
        check(found.text, ("Société Générale",))


@pytest.mark.parametrize(
    ("keep", "terms", "message"),
    [
        (["chat", " "], {}, "keep has ' '"),
        (["a\nb"], {}, "keep has 'a.*b'"),
        (["chat"], {"chat": "cat"}, "'chat' is in keep, and the term 'chat'"),
        (["chat"], {"chat noir": "cat"}, "and the term 'chat noir' must become 'cat'"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    knowing: Translator, keep: list[str], terms: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        knowing.translate(["x"], target="en", keep=keep, terms=terms)


def test_a_prefix_may_have_spans(knowing: Translator) -> None:
    text = "<p>Open {file} in %s now.</p>"
    (found,) = knowing.translate(
        [text], target="en", search=QUICK, prefix=["<p>Ouvrez {file} dans"]
    )
    assert found.text.startswith("<p>Ouvrez {file} dans")
    check(found.text, ("{file}", "%s", "<p>", "</p>"))


def test_a_span_that_the_network_did_not_want_is_flagged(knowing: Translator) -> None:
    found = knowing.translate(["The cat {x} sat.", "The cat sat."], target="en", search=QUICK)
    assert [one.flags.forced_spans for one in found] == [True, False]


def test_the_alignment_of_a_span_is_that_of_the_text(knowing: Translator) -> None:
    (found,) = knowing.translate(
        ["The http://a.b/c cat"], target="en", search=QUICK, alignment=True
    )
    assert found.alignment is not None
    assert "<word0>" in found.alignment.source_tokens
    assert "<word0>" in found.alignment.target_tokens
    words = found.text.split()
    assert all(s < 3 and t < len(words) for s, t in found.alignment.links)
    assert "http://a.b/c" in found.text


def test_a_translation_is_scored_as_it_was_searched(knowing: Translator) -> None:
    text = "<p>The {x} cat</p>"
    (found,) = knowing.translate([text], target="en", search=QUICK)
    assert isinstance(found, Translation)
    if knowing.tokenizer.encode(_between(found.text)) == _ids(knowing, found):
        (score,) = knowing.score([text], [found.text], target="en")
        assert score.log_prob == pytest.approx(found.log_prob, abs=1e-4)
    (same,) = knowing.score([text], ["<p>the {x} cat</p>"], target="en")
    assert same.tokens.count("<word0>") == 1
    (lacking,) = knowing.score([text], ["<p>the cat</p>"], target="en")
    assert "<word0>" not in lacking.tokens


def _between(text: str) -> str:
    return text.removeprefix("<p>").removesuffix("</p>")


def _ids(translator: Translator, found: Translation) -> list[int]:
    pieces = {translator.tokenizer.piece(n): n for n in range(translator.tokenizer.vocab_size)}
    return [pieces[piece] for piece in found.tokens]


def test_terms_are_translated_even_where_they_would_be_spans(knowing: Translator) -> None:
    (found,) = knowing.translate(
        ["Le chat #MeToo et %s"], target="en", terms={"#MeToo": "the cat", "1 000": "water"}
    )
    assert "#MeToo" not in found.text
    assert "the cat" in found.text
    check(found.text, ("%s",))


def test_a_prefix_that_a_model_without_placeholders_cannot_honour_is_refused(
    unknowing: Translator,
) -> None:
    text = "<p>Open {file} now</p>"
    (found,) = unknowing.translate([text], target="en", search=QUICK, prefix=["<p>Ouvrez"])
    assert found.text.startswith("<p>Ouvrez")
    with pytest.raises(InputError, match="this model has no placeholders"):
        unknowing.translate([text], target="en", search=QUICK, prefix=["<p>Ouvrez {file}"])


def test_a_word_to_keep_inside_a_word_of_the_prefix_is_no_span(knowing: Translator) -> None:
    (found,) = knowing.translate(
        ["The cat or the dog"], target="en", search=QUICK, keep=["or"], prefix=["Forêt or"]
    )
    assert found.text.startswith("Forêt or")
    assert not found.text.startswith("Forêt or or")


def test_there_are_as_many_candidates_as_were_asked_for(knowing: Translator) -> None:
    search = SearchConfig(beam=4, n_best=4, extra_length=4)
    texts = ["The <b>{x} cat</b> %s", "The {x} cat", "%s <i>The</i> {y} cat {z} http://a.b/c"]
    for found in knowing.translate(texts, target="en", search=search):
        assert len(found.n_best) == 4
        assert len({candidate.tokens for candidate in found.n_best}) == 4
        scores = [candidate.score for candidate in found.n_best]
        assert scores == sorted(scores, reverse=True)


def test_spans_are_not_composed(knowing: Translator, unknowing: Translator) -> None:
    """NFC would be another file name."""
    text = "Ouvrez cafe\u0301.txt, e\u0301te\u0301"
    for translator in (knowing, unknowing):
        (found,) = translator.translate([text], target="en", search=QUICK, alignment=True)
        assert "cafe\u0301.txt" in found.text


def test_a_stream_of_fragments_takes_nothing_back(unknowing: Translator) -> None:
    for search in (QUICK, SearchConfig(beam=1, extra_length=3)):
        partials = list(
            unknowing.stream("The cat. <b>the mat.</b> {x}", target="en", search=search)
        )
        for partial in partials:
            assert partials[-1].stable.startswith(partial.stable)
