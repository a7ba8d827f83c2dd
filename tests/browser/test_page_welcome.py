"""What a visitor sees first: a translated example, three questions, and figures above the fold."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from served_page import Explorer, Server

LONG = "petit chat noir dort grand chien blanc mange petit chat noir dort grand chien"


def test_nothing_typed_a_translation_and_a_figure_are_there(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.goto("")
    expect(page.locator("h1")).to_contain_text("every number on the way")
    shown = page.locator("#welcome-translation")
    expect(shown).not_to_be_empty()
    sentence = page.locator(".welcome-sentences span").first.inner_text()
    answer = server.json("v1/translate", {"texts": [sentence], "target": "en"})
    assert shown.inner_text() == answer["translations"][0]["text"]
    words = len(sentence.split()) + len(shown.inner_text().split())
    expect(page.locator(".welcome-words li")).to_have_count(words)
    assert explorer.axe() == []
    page.locator("#sentence").fill("chat noir")
    expect(page.locator(".welcome")).to_have_count(0)


@pytest.mark.parametrize(
    ("question", "panel"),
    [
        ("When does beam search beat greedy?", "Search"),
        ("What if I switch this head off?", "Lens and heads"),
    ],
)
def test_each_question_leads_to_the_panel_that_answers_it(
    explorer: Explorer, page: Page, question: str, panel: str
) -> None:
    explorer.goto("")
    page.get_by_role("link", name=question).click()
    expect(page.locator("#panel-title")).to_have_text(panel)
    explorer.wait_for_trace()
    expect(page.locator(".panel-body [data-figure]").first).to_be_visible()
    expect(page.locator("#panel-title")).to_be_focused()


def test_the_first_question_compares_two_sentences(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.goto("")
    link = page.get_by_role("link", name="Who decides a word?").get_attribute("href") or ""
    assert re.match(r"#/explore/pair\?text=L.+&x-against=L.+", link)


# The figure that a panel is about; others follow it.
MAIN = {
    "map": "map", "tokens": "tokens-source", "attention": "cross-layer-1-head-1",
    "steps": "attention-in-six-steps", "feed": "feed-forward", "norm": "add-and-norm",
    "output": "softmax", "search": "search-beam", "cache": "cache-triangle",
    "lens": "head-switches", "space": "space",
}  # fmt: skip
VISIBLE = """name => {
  const foot = document.querySelector(".explore-foot").getBoundingClientRect().top;
  const body = document.querySelector(`[data-figure="${name}"] .figure-body`);
  const box = (body.querySelector(".matrix-canvases, .map-drawing") ?? body)
    .getBoundingClientRect();
  return (Math.min(foot, box.bottom) - Math.max(0, box.top)) / box.height;
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720)])
def test_main_figures_are_above_the_fold(
    explorer: Explorer, page: Page, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    shares = {}
    for panel, figure in MAIN.items():
        explorer.open(panel, LONG, step=3)
        page.wait_for_selector(f'[data-figure="{figure}"] .figure-body > *')
        shares[panel] = page.evaluate(VISIBLE, figure)
    assert {panel: share for panel, share in shares.items() if share < 0.6} == {}


def test_keys_lead_to_headings_and_escape_leaves_the_sentence(
    explorer: Explorer, page: Page
) -> None:
    explorer.open("map")
    page.locator("#sentence").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#panel-title")).to_be_focused()
    page.keyboard.press("6")
    expect(page.locator("#panel-title")).to_have_text("Feed-forward")
    expect(page.locator("#panel-title")).to_be_focused()


def test_doubts_about_a_translation_are_visible(
    explorer: Explorer, page: Page, server: Server
) -> None:
    warnings = server.trace("chat", model="both", target="en")["confidence"]["warnings"]
    assert warnings, "a random network knows nothing"
    explorer.open("map", "chat", model="both", target="en")
    for warning in warnings:
        expect(page.locator(".sentence-warning")).to_contain_text(warning)
