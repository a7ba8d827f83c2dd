"""Everyone can use the page: by keyboard, by ear, on a phone, in the dark, with a key."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from served_page import KEY, PANELS, PATIENCE, SENTENCE, Explorer, Server

VIEWS = ("translate", *PANELS)


def fits(page: Page, width: int) -> None:
    """Wait until nothing lies beyond the window's edge: the page does not scroll sideways."""
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)


def show(explorer: Explorer, view: str) -> None:
    if view == "translate":
        explorer.goto("#/translate?text=petit+chat+noir+dort")
        explorer.page.wait_for_selector(".alternatives")
    else:
        explorer.open(view, SENTENCE, step=1)
    explorer.page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_opens_and_axe_finds_nothing(explorer: Explorer, view: str) -> None:
    show(explorer, view)
    expect(explorer.page.locator(".panel-problem, .notice")).to_have_count(0)
    assert explorer.page.locator("#content").inner_text().count(" ") > 10
    assert explorer.axe() == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_dark_phone_shows_all_and_axe_finds_nothing(explorer: Explorer, view: str) -> None:
    explorer.page.set_viewport_size({"width": 390, "height": 844})
    explorer.page.emulate_media(color_scheme="dark")
    show(explorer, view)
    assert explorer.axe() == []
    fits(explorer.page, 390)
    explorer.page.set_viewport_size({"width": 320, "height": 640})
    fits(explorer.page, 320)


@pytest.mark.parametrize("width", [768, 1920])
def test_a_tablet_and_a_wide_screen_do_not_scroll_sideways(explorer: Explorer, width: int) -> None:
    explorer.page.set_viewport_size({"width": width, "height": 1000})
    for view in ("translate", "map", "search"):
        show(explorer, view)
        fits(explorer.page, width)


def test_the_keyboard_reaches_everything_in_order(explorer: Explorer, page: Page) -> None:
    explorer.open("map")
    page.reload()  # a panel that one goes to takes the focus, an address that is opened does not
    expect(page.locator("#panel-title")).to_be_visible()
    seen: list[str] = []
    for _ in range(18):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("(e => e.id || e.ariaLabel || e.innerText)(document.activeElement)")
        )
    assert seen[0] == "Skip to the content"
    assert "sentence" in seen
    assert any("Tokens" in name for name in seen)
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


def test_a_key_is_asked_for_once(browser: Browser, guarded: Server) -> None:
    page = browser.new_page()
    try:
        page.set_default_timeout(PATIENCE)
        page.goto(f"{guarded.url}/#/translate?text=chat+noir")
        box = page.get_by_role("dialog", name="This server requires a key")
        box.get_by_label("API key").fill("wrong")
        box.get_by_role("button", name="Use this key").click()
        expect(box).to_contain_text("does not know that key")
        box.get_by_label("API key").fill(KEY)
        box.get_by_role("button", name="Use this key").click()
        expect(page.locator("#translation")).to_have_text("black cat")
        page.reload()
        expect(page.locator("#translation")).to_have_text("black cat")
        expect(page.get_by_role("dialog")).to_have_count(0)
    finally:
        page.close()
