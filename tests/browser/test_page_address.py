"""The address: a link shows what its sender saw."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from served_page import SENTENCE, Explorer

ADDRESSES = (
    "#/translate?text=chat+noir&method=greedy",
    "#/explore/attention?text=petit+chat+noir+dort&side=encoder&head=1&step=2&shape=arcs",
    "#/explore/output?text=chat+noir&step=1&temperature=0.5&k=3&p=0.9",
    "#/explore/lens?text=chat+noir&without=cross.1.2_encoder.1.1",
    "#/explore/search?text=chat+noir&beam=2&alpha=0",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_kept_as_it_is(explorer: Explorer, page: Page, address: str) -> None:
    explorer.goto(address)
    page.wait_for_load_state("networkidle")
    assert page.url.endswith(address)


def test_a_shared_link_shows_the_same_view(explorer: Explorer, page: Page) -> None:
    explorer.open("attention", SENTENCE, head=1)
    page.get_by_role("button", name="Forward").click()
    page.get_by_role("button", name="Forward").click()
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.keyboard.press("Escape")
    link = page.evaluate("navigator.clipboard.readText()")
    page.wait_for_load_state("networkidle")
    before = page.locator(".explore, .timeline").all_inner_texts()
    other = page.context.new_page()
    try:
        other.goto(link)
        other.wait_for_selector(".sentence-target[data-state=ready]")
        expect(other.locator(".timeline-count")).to_have_text("step 3 of 5")
        other.wait_for_load_state("networkidle")
        assert other.locator(".explore, .timeline").all_inner_texts() == before
        assert other.url == link
    finally:
        other.close()


def test_back_and_forward_go_where_one_was(explorer: Explorer, page: Page) -> None:
    explorer.open("map", "chat noir")
    page.locator(".panels").get_by_role("link", name="Tokens").click()
    page.locator("#sentence").fill("livre rouge")
    expect(page.locator(".sentence-target")).to_have_text("red book")
    page.go_back()
    expect(page.locator("#sentence")).to_have_value("chat noir")
    expect(page.locator(".sentence-target")).to_have_text("black cat")
    page.go_back()
    expect(page.locator(".panels [aria-current]")).to_contain_text("Map")
    page.go_forward()
    page.go_forward()
    expect(page.locator("#sentence")).to_have_value("livre rouge")
    expect(page.locator(".sentence-target")).to_have_text("red book")


def test_a_sentence_never_reaches_the_server_in_an_address(explorer: Explorer, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    explorer.fresh = True
    explorer.open("attention", SENTENCE)
    page.wait_for_load_state("networkidle")
    assert len(asked) > 4
    assert not [url for url in asked if "chat" in url.partition("#")[0]]


def test_colours_are_chosen_and_remembered(explorer: Explorer, page: Page) -> None:
    explorer.goto("")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) == "rgb(28, 31, 39)"
    explorer.fresh = True
    explorer.goto("#/explore")
    assert page.evaluate(ground) == "rgb(28, 31, 39)"
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
