"""The Translate view: what most people want."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from served_page import SENTENCE, Explorer, Server

from small_translators import reversed_translation, write_taught_model
from translucid.translator import load


def marked(page: Page, where: str) -> list[str]:
    return page.locator(f"{where} .word-linked").all_inner_texts()


def test_a_sentence_is_typed_and_its_translation_read(explorer: Explorer, page: Page) -> None:
    explorer.goto("")
    page.locator("#sentence").press_sequentially(SENTENCE, delay=20)
    explorer.wait_for_translation(reversed_translation(SENTENCE))
    page.wait_for_function("() => location.hash === '#/translate?text=petit+chat+noir+dort'")
    assert page.locator("[role=status]").inner_text() == "Translation: sleeps black cat small"


def test_paragraphs_stay_paragraphs(explorer: Explorer) -> None:
    explorer.goto("#/translate?text=chat+noir%0A%0Alivre+rouge%0A")
    explorer.wait_for_translation("black cat\n\nred book\n")


def links(server: Server) -> list[tuple[str, str]]:
    """Return which source word each word of the translation comes from, by the server's account."""
    asked = {"texts": [SENTENCE], "alignment": True}
    (found,) = server.json("v1/translate", asked)["translations"]
    source, target = found["source"].split(), found["text"].split()
    return [(source[one], target[other]) for one, other in found["alignment"]["links"]]


def test_words_show_where_they_come_from_both_ways(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.goto("#/translate?text=petit+chat+noir+dort")
    explorer.wait_for_translation("sleeps black cat small")
    pairs = links(server)
    for number, word in enumerate(reversed_translation(SENTENCE).split()):
        page.locator("#translation .word").nth(number).hover()
        assert marked(page, ".mirror") == [one for one, other in pairs if other == word]
    for number, word in enumerate(SENTENCE.split()):
        place = page.locator(".mirror .word").nth(number).bounding_box()
        assert place is not None
        page.mouse.move(place["x"] + 4, place["y"] + place["height"] / 2)
        expected = {other for one, other in pairs if one == word}
        assert set(marked(page, "#translation")) == expected


def test_words_show_where_they_come_from_by_keyboard(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.goto("#/translate?text=petit+chat+noir+dort")
    explorer.wait_for_translation("sleeps black cat small")
    pairs = links(server)
    (origin,) = (one for one, other in pairs if other == "black")
    page.locator("#translation").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=status]")).to_have_text(f"black, aligned with {origin}")
    assert marked(page, ".mirror") == [origin]
    page.locator("#sentence").focus()
    page.keyboard.press("Home")
    expect(page.locator(".mirror .word-pointed")).to_have_text("petit")


def test_an_alternative_can_be_picked(explorer: Explorer, page: Page, tmp_path: Path) -> None:
    """The page shows a beam while it grows, which PyTorch searches for."""
    explorer.goto("#/translate?text=chat+noir")
    explorer.wait_for_translation("black cat")
    translator = load(write_taught_model(tmp_path / "taught"), engine="pytorch")
    expected = translator.translate("chat noir", n_best=4).n_best
    shown = page.locator(".alternative-text")
    assert shown.all_inner_texts() == [found.text for found in expected]
    scores = explorer.values(".alternative-score .num")
    assert scores == pytest.approx([found.score for found in expected], abs=1e-3)
    page.locator(".alternatives button").nth(2).click()
    explorer.wait_for_translation(expected[2].text)
    assert page.locator(".alternatives [aria-pressed=true]").count() == 1


def test_the_translation_is_copied(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/translate?text=chat+noir")
    explorer.wait_for_translation("black cat")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "black cat"


def test_letters_are_counted_as_the_server_counts_them(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/translate?text=%F0%9F%99%82+chat")
    expect(page.locator("#letters")).to_have_text(re.compile(r"^6 of 5.000 characters$"))
    page.locator("#sentence").fill("a" * 5001)
    expect(page.locator("#letters")).to_contain_text("too long for this server")


def test_a_direction_is_swapped(explorer: Explorer, page: Page, server: Server) -> None:
    explorer.goto("#/translate?text=chat&model=both")
    expect(page.locator(".direction select")).to_have_value('["both","en"]')
    page.wait_for_selector("#translation")
    translation = page.locator("#translation").inner_text()
    page.get_by_role("button", name="Swap").click()
    expect(page.locator(".direction select")).to_have_value('["both","fr"]')
    expect(page.locator("#sentence")).to_have_value(translation)


def test_flags_are_told_in_plain_words(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/translate?text=chat+語")
    expect(page.locator(".warnings")).to_have_text(re.compile("cannot spell"))


def test_spans_are_in_the_translation_and_doubt_is_told(explorer: Explorer, page: Page) -> None:
    """The model of this server has neither placeholders nor a confidence: an answer gets one."""

    def doubt(route: Route) -> None:
        answer = route.fetch()
        body = answer.text().replace('"confidence":null', '"confidence":0.317')
        route.fulfill(response=answer, body=body)

    page.route("**/v1/translate/stream", doubt)
    explorer.goto("#/translate?text=<b>chat+noir</b>+{x}")
    expect(page.locator("#translation")).to_have_text("<b>black cat</b> {x}")
    expect(page.locator(".warnings")).to_contain_text("a 32 % chance of being acceptable")
    expect(page.locator(".warnings")).to_contain_text("was translated piece by piece")


def test_one_looks_inside_the_same_sentence(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/translate?text=chat+noir")
    explorer.wait_for_translation("black cat")
    page.get_by_role("link", name="Look inside").click()
    explorer.wait_for_trace()
    expect(page.locator("#sentence")).to_have_value("chat noir")
    expect(page.locator(".sentence-target")).to_have_text("black cat")


def test_an_empty_page_offers_an_example(explorer: Explorer, page: Page) -> None:
    explorer.goto("")
    page.get_by_role("button", name="Try an example").click()
    assert page.locator("#sentence").input_value() != ""
    page.wait_for_selector("#translation")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#sentence")).to_be_focused()
    expect(page.locator(".target-text")).to_have_text("Translation")
