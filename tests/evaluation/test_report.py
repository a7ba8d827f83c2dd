"""Reports: complete pages that show every text as it is and need nothing from outside."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from scored_texts import damaged, references
from translucid.evaluation.compare import compare
from translucid.evaluation.evaluate import score_outputs
from translucid.evaluation.html_page import MAX_TEXT, escape, mark_differences, prose
from translucid.evaluation.metrics import Scoring
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.report import comparison_report, evaluation_report
from translucid.evaluation.system import Likelihood, Outputs, System, given_outputs
from translucid.events import silent
from translucid.translator import Flags

VOID = {"meta", "br", "link", "img"}
SCORING = Scoring("fr", "en", None, True, 20)
MADE = {"command": "a <b> & c"}
NASTY = [
    "<script>alert('x')</script>",
    '" onmouseover="x',
    "שלום עולם",
    "a\x00b\x1b[31m",
    "&amp; &lt;",
    "",
]


class Page(HTMLParser):
    """Reads a page strictly: every element closed in its order, cells counted."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.rows: list[int] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append(0)
        if tag in {"td", "th"}:
            self.rows[-1] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style"}:
            self.text.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.seen if name == tag]


def evaluation_page(
    translations: list[str], refs: list[str], sources: list[str], outputs: Outputs | None = None
) -> str:
    given = ReferenceSet("x", tuple(sources), (tuple(refs),))
    found = score_outputs(
        "ours", given, outputs or given_outputs(translations), SCORING, None, silent
    )
    return evaluation_report(replace(found, settings=MADE), 10)


def comparison_page(translations: list[str], refs: list[str], sources: list[str]) -> str:
    given = ReferenceSet("x", tuple(sources), (tuple(refs),))
    systems = [System("<one>", tuple(translations)), System("two", tuple(reversed(translations)))]
    found = compare(systems, given, target="en", resamples=20, trials=20)
    return comparison_report(replace(found, settings=MADE), 10)


@pytest.mark.parametrize("made", [evaluation_page, comparison_page])
def test_nothing_that_a_text_holds_becomes_markup(made) -> None:  # type: ignore[no-untyped-def]
    text = made(NASTY, NASTY[::-1], NASTY)
    page = Page(text)
    tags = {tag for tag, _ in page.seen}
    assert tags.isdisjoint({"script", "b", "img", "link", "iframe"})
    assert all(not name.startswith("on") for _, attrs in page.seen for name in attrs)
    shown = "".join(page.text)
    assert "<script>alert('x')</script>" in shown
    assert '" onmouseover="x' in shown
    assert "a␀b␛[31m" in shown
    assert "\x00" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("made", [evaluation_page, comparison_page])
def test_a_page_needs_nothing_from_outside(made) -> None:  # type: ignore[no-untyped-def]
    text = made(NASTY, NASTY, NASTY)
    page = Page(text)
    for _, attrs in page.seen:
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("made", [evaluation_page, comparison_page])
def test_a_page_can_be_read_without_eyes(made) -> None:  # type: ignore[no-untyped-def]
    refs = references(30, seed=1)
    page = Page(made(damaged(refs, 0.3, seed=2), refs, refs))
    tags = [tag for tag, _ in page.seen]
    assert page.attributes("html") == [{"lang": "en"}]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert tags.count("caption") == tags.count("table") == tags.count("thead") > 2
    assert all(attrs["scope"] in {"row", "col"} for attrs in page.attributes("th"))
    anchors = {attrs["href"] for attrs in page.attributes("a")}
    assert anchors == {f"#{attrs['id']}" for attrs in page.attributes("h2")}
    regions = [attrs for attrs in page.attributes("div") if attrs.get("role") == "region"]
    assert all(attrs["aria-label"] and attrs["tabindex"] == "0" for attrs in regions)


def test_every_text_finds_its_own_direction() -> None:
    page = Page(evaluation_page(["x", "y"], ["שלום", "مرحبا"], ["a", "b"]))
    proses = [attrs for attrs in page.attributes("span") if attrs.get("class") == "prose"]
    assert proses
    assert all(attrs["dir"] == "auto" for attrs in proses)
    assert {attrs["lang"] for attrs in proses} == {"fr", "en"}


def test_differences_are_marked_to_the_character() -> None:
    text = evaluation_page(["the cats sat"], ["the cat sat"], ["le chat"])
    assert 'the cat<mark class="extra">s</mark> sat' in text
    text = evaluation_page(["the cat sat"], ["the cats sat"], ["le chat"])
    assert 'the cat<mark class="missing">s</mark> sat' in text


def test_scores_flags_and_confidence_are_shown() -> None:
    outputs = Outputs(("a cat",), (0.4321,), (Flags(truncated=True),), Likelihood(-4.0, 2, 10, 1))
    text = evaluation_page([], ["a dog"], ["un chien"], outputs)
    shown = "".join(Page(text).text)
    assert "Of 1 translations: 1 cut at the limit of length." in shown
    assert "model's confidence 0.43" in shown
    assert "7.39" in shown  # perplexity: e²
    assert "tok:moses-norm-en-translucid1" in shown
    assert "a <b> & c" in shown


def test_a_blank_translation_is_shown_as_such() -> None:
    assert ">(blank)<" in evaluation_page([""], ["a dog"], ["un chien"])


def test_long_texts_are_cut_and_said_to_be() -> None:
    text = prose("x" * (MAX_TEXT + 1234), None)
    assert text.count("x") == MAX_TEXT
    assert "and 1,234 more characters" in text
    assert "1,234 more" in mark_differences("y" * (MAX_TEXT + 1234), "z", "extra", None)


def test_control_characters_are_shown_as_signs() -> None:
    assert escape("\x00\x7f\u2028\t<") == "␀␡␤\t&lt;"


def test_systems_that_do_not_differ() -> None:
    given = ReferenceSet("x", ("a",), (("A",),))
    found = compare([System("one", ("A",)), System("two", ("A",))], given, resamples=20, trials=10)
    text = comparison_report(found, 5)
    assert "They do not differ." in text
    assert "<strong>" not in text
