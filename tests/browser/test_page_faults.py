"""What readers run into: a server that is away, links to what is gone, a browser without memory."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from served_page import PATIENCE, SENTENCE, TITLES, Explorer, Server

GARBAGE = (
    "layer=99&head=77&step=1000000000&query=1000000000&tour=99&x-__proto__=1",
    "layer=-1&head=1e9&step=NaN&k=99999999&p=0&temperature=0&beam=x&alpha=-1&method=z&side=z",
    "temperature=1e-300&p=1e-9&k=1&shape=z&without=_cross_encoder.0&prefix=a.b&x-dim=9e9",
)


def forgive(explorer: Explorer, *words: str) -> None:
    """Leave out the faults that the test has caused itself."""
    explorer.faults[:] = [
        fault for fault in explorer.faults if not any(word in fault for word in words)
    ]


@pytest.mark.parametrize("fields", GARBAGE)
def test_garbage_in_the_address_draws_every_panel(explorer: Explorer, fields: str) -> None:
    page = explorer.goto(f"#/explore/map?text=petit+chat+noir+dort&{fields}")
    explorer.wait_for_trace()
    for panel, title in TITLES.items():
        if panel in ("pair", "training"):
            continue  # they ask for more than a sentence
        page.locator(f".panels a[href*='/{panel}?']").click()
        expect(page.locator("#panel-title")).to_have_text(title)
        page.wait_for_load_state("networkidle")
        expect(page.locator(".panel-problem, .notice")).to_have_count(0)
        words = page.locator("#content").inner_text()
        assert not [word for word in ("NaN", "undefined", "[object") if word in words]


def test_a_link_to_a_model_that_is_gone_says_so(explorer: Explorer, page: Page) -> None:
    explorer.open("map", "chat noir", model="gone")
    expect(page.locator(".notice")).to_have_text(
        "This server has no model “gone”. Showing “taught” instead."
    )
    page.get_by_label("Direction").select_option('["both","fr"]')
    expect(page.locator(".notice")).to_have_count(0)


def test_every_panel_tells_why_there_is_no_trace(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/explore/guide?text=chat+noir&prefix=999999")
    for panel in ("guide", "map"):
        page.locator("body").press("0" if panel == "guide" else "1")
        expect(page.locator(".panel-problem")).to_contain_text("999999")
    expect(page.locator(".sentence-target")).to_have_text("–")
    forgive(explorer, "422")


def test_words_of_html_stay_words(explorer: Explorer, page: Page) -> None:
    text = '<img src=x onerror="document.title=1"> & </svg><script>document.title=2</script>'
    explorer.open("tokens", text)
    for key in "234567890":
        page.locator("body").press(key)
        page.wait_for_load_state("networkidle")
    expect(page.locator("#content img, #content script")).to_have_count(0)
    assert page.title().startswith("Cache")


def test_a_server_that_comes_back_is_found_again(explorer: Explorer, page: Page) -> None:
    explorer.fresh = True  # so that it has not got the scripts of other panels yet
    explorer.open("map", "chat noir")
    page.context.set_offline(True)
    try:
        page.locator("#sentence").fill("livre rouge")
        expect(page.locator(".panel-problem")).to_contain_text("does not answer")
        expect(page.locator(".sentence-target")).to_have_text("–")  # not the cat's
        expect(page.locator(".panel-body")).to_have_class("panel-body panel-stale")
        page.locator("#sentence").blur()
        page.keyboard.press("0")  # the scripts of all panels are here already
        expect(page.locator("#panel-title")).to_have_text(TITLES["cache"])
        expect(page.locator(".panel-problem")).to_contain_text("Is it still running?")
    finally:
        page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#panel-title")).to_have_text(TITLES["cache"])
    expect(page.locator(".sentence-target")).to_have_text("red book")
    forgive(explorer, "ERR_INTERNET_DISCONNECTED", "ERR_FAILED")


def test_the_translate_view_shows_no_translation_of_another_text(
    explorer: Explorer, page: Page
) -> None:
    explorer.goto("#/translate?text=chat+noir")
    explorer.wait_for_translation("black cat")
    typed = page.evaluate(
        """async () => {
            const box = document.querySelector('#sentence');
            box.value = 'chat noir dort';
            box.dispatchEvent(new InputEvent('input', { bubbles: true }));
            await new Promise((resolve) => setTimeout(resolve));
            return document.querySelector('#translation')?.innerText;
        }"""
    )
    assert typed == "black cat"  # the finished one, pale, not what was last heard on the way to it
    explorer.wait_for_translation("sleeps black cat")
    page.context.set_offline(True)
    try:
        page.locator("#sentence").fill("livre rouge")
        expect(page.locator(".box-target .notice")).to_contain_text("does not answer")
        expect(page.locator(".box-target .target-text")).to_have_text("–")
        expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    finally:
        page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    explorer.wait_for_translation("red book")
    forgive(explorer, "ERR_INTERNET_DISCONNECTED")


def test_a_browser_that_keeps_nothing_shows_the_page(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    try:
        page.set_default_timeout(PATIENCE)
        page.add_init_script(
            """for (const name of ['localStorage', 'sessionStorage'])
                 Object.defineProperty(window, name, {
                   get() { throw new DOMException('denied', 'SecurityError'); } });
               navigator.clipboard.writeText = () =>
                 Promise.reject(new DOMException('denied', 'NotAllowedError'));"""
        )
        page.goto(f"{server.url}/#/translate?text=chat+noir")
        expect(page.locator("#translation")).to_have_text("black cat")
        page.get_by_role("button", name="Dark colours").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        page.get_by_role("button", name="Copy").click()
        expect(page.locator(".notice")).to_contain_text("Not copied")
    finally:
        page.close()


def test_a_finger_shows_where_a_word_comes_from(browser: Browser, server: Server) -> None:
    page = browser.new_page(has_touch=True)
    try:
        page.set_default_timeout(PATIENCE)
        page.goto(f"{server.url}/#/translate?text=chat+noir")
        page.locator("#translation .word").first.tap()
        expect(page.locator("#translation .word-pointed")).to_have_text("black")
        expect(page.locator(".mirror .word-linked, .mirror .word-near").first).to_be_visible()
        page.locator(".alternatives p").tap()
        expect(page.locator(".word-pointed")).to_have_count(0)
        page.locator("#sentence").tap(position={"x": 30, "y": 30})
        expect(page.locator(".mirror .word-pointed")).to_have_text("chat")
    finally:
        page.close()


def test_texts_say_their_language_and_run_their_own_way(explorer: Explorer, page: Page) -> None:
    explorer.goto("#/translate?text=%D9%85%D8%B1%D8%AD%D8%A8%D8%A7&model=taught")
    page.wait_for_selector("#translation")
    for place, lang in (("#sentence", "fr"), (".mirror", "fr"), ("#translation", "en")):
        expect(page.locator(place)).to_have_attribute("lang", lang)
        expect(page.locator(place)).to_have_attribute("dir", "auto")
    way = "place => getComputedStyle(document.querySelector(place)).direction"
    assert page.evaluate(way, "#sentence") == page.evaluate(way, ".mirror") == "rtl"


def test_marks_stay_under_their_words_in_a_long_text(explorer: Explorer, page: Page) -> None:
    page.set_viewport_size({"width": 700, "height": 600})
    explorer.goto(f"#/translate?text={'+'.join([*SENTENCE.split() * 150, 'livre'])}")
    page.wait_for_function("() => document.querySelectorAll('.mirror .word').length === 601")
    page.locator("#sentence").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    page.wait_for_function(
        "() => new Set(['.mirror', '#sentence'].map((place) =>"
        " document.querySelector(place).scrollTop)).size === 1"
    )
    place = page.locator(".mirror .word").last.bounding_box()
    frame = page.locator("#sentence").bounding_box()
    assert place is not None
    assert frame is not None
    assert frame["y"] < place["y"] < frame["y"] + frame["height"]
    page.mouse.move(place["x"] + 4, place["y"] + place["height"] / 2)
    expect(page.locator(".mirror .word-pointed")).to_have_text("livre")
