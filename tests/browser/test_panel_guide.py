"""The guide: a tour that drives the real panels, on the reader's sentence."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect
from served_page import TITLES, Explorer, Server

STEPS = (
    ("Why attention", "map"),
    ("Words become tokens", "tokens"),
    ("Tokens become vectors", "tokens"),
    ("Where a word stands", "tokens"),
    ("The source looks at itself", "attention"),
    ("Several heads at once", "attention"),
    ("One head in six steps", "steps"),
    ("Add, norm, and think it over", "norm"),
    ("The decoder must not peek", "attention"),
    ("Looking back at the source", "attention"),
    ("From a vector to a word", "output"),
    ("Greedy, or with a beam", "search"),
    ("Nothing is computed twice", "cache"),
    ("What if a head were missing", "lens"),
    ("How it learned", "training"),
)
CROSS = 9
# What each step explains; the last one speaks of training runs, which a server need not have.
FIGURES = dict(
    enumerate(
        (
            *("map", "tokens-source", "embedding-source", "embedding-source", "encoder-layer-"),
            *("encoder-all-heads", "attention-in-six-steps", "add-and-norm", "decoder-layer-"),
            *("cross-layer-", "softmax", "search-", "cache-triangle", "head-switches"),
        )
    )
)
# Whether so many pixels of a figure are above the card.
SEEN = """([name, pixels]) => {
  const box = document.querySelector(`[data-figure^="${name}"]`)?.getBoundingClientRect();
  const card = document.querySelector(".guide-card").getBoundingClientRect();
  return box && Math.min(box.bottom, card.top) - Math.max(box.top, 0) >= pixels;
}"""


def fields(page: Page) -> dict[str, str]:
    """Return the fields of the page's address."""
    return {name: values[0] for name, values in parse_qs(page.url.partition("?")[2]).items()}


def to_step(page: Page, place: int) -> None:
    """Go to a step from the contents, and wait until the page shows what it is about."""
    page.locator(".guide-contents button").nth(place).click()
    expect(page.locator(".guide-words")).to_be_visible()
    expect(page.get_by_role("button", name="Show what this is about")).to_have_count(0)
    expect(page).to_have_url(re.compile(rf"tour={place + 1}\b"))


def test_the_tour_steps_through_all_panels(explorer: Explorer, page: Page) -> None:
    explorer.open("guide")
    expect(page.locator(".guide-contents li")).to_have_count(len(STEPS))
    page.get_by_role("button", name="Start the tour").click()
    card = page.locator(".guide-card")
    for place, (title, panel) in enumerate(STEPS):
        expect(card.locator("h2")).to_have_text(title)
        expect(card.locator("h2")).to_be_focused()
        expect(card.locator(".guide-words p")).not_to_have_count(0)
        expect(page).to_have_url(re.compile(rf"#/explore/{panel}\?.*tour={place + 1}\b"))
        assert not re.search("undefined|NaN|null", card.inner_text())
        expect(page.get_by_role("button", name="Show what this is about")).to_have_count(0)
        expect(page.locator("#panel-title")).to_be_visible()
        if place < len(STEPS) - 1:
            card.get_by_role("button", name="Next").click()
    card.get_by_role("button", name="Done").click()
    expect(card).to_have_count(0)
    expect(page.locator("#content")).to_be_focused()
    expect(page).not_to_have_url(re.compile("tour"))


def test_without_a_sentence_the_tour_takes_an_example(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/explore/guide")
    page.get_by_role("button", name="Start the tour").click()
    expect(page.locator(".guide-words")).to_be_visible()
    expect(page).to_have_url(re.compile("text="))


def test_a_step_shows_the_head_that_it_speaks_of_with_the_numbers_of_the_trace(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("guide")
    to_step(page, CROSS)
    shown = explorer.values(".guide-words .num")
    here = fields(page)
    layer, head, row = (int(here.get(key, 1)) - 1 for key in ("layer", "head", "query"))
    trace = server.trace()
    weights = server.tensor(trace, f"decoder.{layer}.cross_attention.weights")[head]
    assert [layer, head] in trace["alignment_heads"]
    assert shown[-1] == pytest.approx(float(weights[row, :-1].max()), rel=1e-6)
    assert here.get("step", "1") == str(row + 1)


def test_a_link_leads_to_the_same_step_and_words(explorer: Explorer, page: Page) -> None:
    explorer.open("guide")
    to_step(page, CROSS)
    words, address = page.locator(".guide-card").inner_text(), page.url
    explorer.goto(address[address.index("#") :])
    expect(page.locator(".guide-words")).to_be_visible()
    assert page.locator(".guide-card").inner_text() == words
    assert page.url == address


def test_keys_of_the_card(explorer: Explorer, page: Page) -> None:
    explorer.open("guide")
    page.get_by_role("button", name="Start the tour").click()
    title = page.locator(".guide-card h2")
    expect(title).to_be_focused()
    page.keyboard.press("n")
    expect(title).to_have_text(STEPS[1][0])
    page.keyboard.press("b")
    expect(title).to_have_text(STEPS[0][0])
    page.keyboard.press("Escape")
    expect(page.locator(".guide-card")).to_have_count(0)


def test_who_looks_elsewhere_is_led_back(explorer: Explorer, page: Page) -> None:
    explorer.open("guide")
    to_step(page, CROSS)
    address = page.url
    page.locator("#content").press("0")
    expect(page.locator("#panel-title")).to_have_text(TITLES["cache"])
    page.get_by_role("button", name="Show what this is about").click()
    expect(page.locator("#panel-title")).to_have_text("Attention")
    expect(page).to_have_url(address)


def test_the_card_can_be_folded(explorer: Explorer, page: Page) -> None:
    explorer.open("map", tour=0)
    expect(page.locator(".guide-words")).to_be_visible()
    page.get_by_role("button", name="Fold", exact=True).click()
    expect(page.locator(".guide-words")).to_have_count(0)
    page.get_by_role("button", name="Unfold").click()
    expect(page.locator(".guide-words")).to_be_visible()


def test_the_card_is_accessible_and_fits_a_phone(explorer: Explorer, page: Page) -> None:
    explorer.open("attention", tour=CROSS)
    expect(page.locator(".guide-words")).to_be_visible()
    assert explorer.axe() == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert explorer.width() <= 320
    edge = page.locator(".guide-card").bounding_box()
    assert edge is not None
    assert edge["x"] >= 0
    assert edge["x"] + edge["width"] <= 320


def test_on_a_phone_the_card_leaves_what_it_explains_in_sight(
    explorer: Explorer, page: Page
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    explorer.open("guide")
    page.get_by_role("button", name="Start the tour").click()
    card = page.locator(".guide-card")
    for place, (title, _) in enumerate(STEPS):
        expect(card.locator("h2")).to_have_text(title)
        expect(page.locator(".guide-words")).to_be_visible()
        figure = FIGURES.get(place)
        if figure is not None:
            page.wait_for_function(SEEN, arg=[figure, 150])
        if place < len(STEPS) - 1:
            card.get_by_role("button", name="Next").click()
