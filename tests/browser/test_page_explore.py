"""The Explore view: its frame, which all panels stand in."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from served_page import PANELS, SENTENCE, TITLES, Explorer, Server

from small_translators import reversed_translation


def test_panels_are_opened_by_click_and_by_key(explorer: Explorer, page: Page) -> None:
    explorer.open("map")
    page.locator(".panels").get_by_role("link", name="Output").click()
    expect(page.locator("#panel-title")).to_have_text(TITLES["output"])
    for number, panel in enumerate(PANELS[:10]):  # the others have no digit
        page.keyboard.press(str((number + 1) % 10))
        page.wait_for_function("panel => location.hash.startsWith(`#/explore/${panel}`)", arg=panel)


def test_decoding_is_stepped_through(explorer: Explorer, page: Page) -> None:
    explorer.open("attention")
    words = [*reversed_translation(SENTENCE).split(), "</s>"]
    current = page.locator(".timeline [aria-current]")
    expect(current).to_have_text(words[0])
    for word in words[1:]:
        page.get_by_role("button", name="Forward").click()
        expect(current).to_have_text(word)
    expect(page.locator(".timeline-count")).to_have_text("step 5 of 5")
    page.keyboard.press("ArrowLeft")
    expect(current).to_have_text(words[3])
    page.locator("body").press("Home")
    expect(current).to_have_text(words[0])
    page.locator("body").press("End")
    expect(current).to_have_text(words[-1])
    page.locator(".timeline .token").nth(1).click()
    expect(current).to_have_text(words[1])
    page.wait_for_function("() => location.hash.includes('step=2')")


def test_decoding_plays_by_itself_to_its_end(explorer: Explorer, page: Page) -> None:
    explorer.open("attention")
    page.get_by_label("Steps per second").select_option("6")
    page.locator("body").press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".timeline [aria-current]")).to_have_text("</s>")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_several_pasted_lines_are_one_sentence(explorer: Explorer, page: Page) -> None:
    explorer.open("tokens")
    page.locator("#sentence").fill("chat\nnoir\r\n dort")
    expect(page.locator("#sentence")).to_have_value("chat noir dort")
    expect(page.locator(".sentence-target")).to_have_text("sleeps black cat")


def test_typing_goes_on_while_older_answers_are_given_up(explorer: Explorer, page: Page) -> None:
    explorer.open("tokens")
    page.locator("#sentence").fill("")
    page.locator("#sentence").press_sequentially("vieux livre rouge", delay=15)
    expect(page.locator(".sentence-target")).to_have_text("red book old")
    assert page.locator("#sentence").input_value() == "vieux livre rouge"


def test_search_settings_reach_the_search(explorer: Explorer, page: Page) -> None:
    explorer.open("search")
    page.get_by_role("button", name="Search: Beam 4").click()
    page.locator(".search-choice").get_by_role("button", name="Greedy").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Search: Greedy")).to_be_focused()
    page.wait_for_function("() => location.hash.includes('method=greedy')")
    page.get_by_role("button", name="Search: Greedy").click()
    page.get_by_role("button", name="Use the model’s own settings").click()
    page.wait_for_function("() => !location.hash.includes('method')")


def test_changes_are_told_and_undone(explorer: Explorer, page: Page, server: Server) -> None:
    rouge = server.trace("rouge")["steps"][0]["token"]["id"]
    explorer.open("map", "chat noir", prefix=rouge, without="cross.1.2")
    changed = server.trace(
        "chat noir", prefix=[rouge], without=[{"side": "cross", "layer": 0, "head": 1}]
    )
    expect(page.locator(".sentence-target")).to_have_text(changed["translation"])
    expect(page.locator(".changes")).to_contain_text("Forced beginning: red")
    expect(page.locator(".changes")).to_contain_text("Heads off: cross 1.2")
    expect(page.locator(".changes")).to_contain_text("Without this: black cat")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="All on").click()
    expect(page.locator(".changes")).to_have_count(0)
    expect(page.locator(".sentence-target")).to_have_text("black cat")


def test_a_trace_that_the_server_has_forgotten_is_made_again(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("map", "chien mange")
    for _ in range(70):  # more than the server keeps
        server.trace("chat", level="light")
    page.locator(".panels").get_by_role("link", name="Lens").click()
    page.wait_for_selector(".lens-cell")
    expect(page.locator(".notice, .panel-problem")).to_have_count(0)
    assert any("404" in fault for fault in explorer.faults)
    explorer.faults[:] = [fault for fault in explorer.faults if "404" not in fault]


def test_help_and_other_keys(explorer: Explorer, page: Page) -> None:
    explorer.open("map")
    page.locator("body").press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.get_by_label("Enable these single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("body").press("t")
    assert "#/explore" in page.url
    page.get_by_role("button", name="Keys and help").click()
    page.get_by_label("Enable these single-key shortcuts").check()
    page.keyboard.press("Escape")
    page.locator("body").press("/")
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.press("t")
    assert "#/explore" in page.url  # typed, not a command
    page.locator("#sentence").blur()
    page.locator("body").press("t")
    page.wait_for_function("() => location.hash.startsWith('#/translate')")


def test_a_server_that_refuses_is_quoted(explorer: Explorer, page: Page) -> None:
    explorer.goto(f"#/explore/map?text={'chat+' * 1100}")
    expect(page.locator(".panel-problem")).to_contain_text("5000")
    explorer.faults[:] = [fault for fault in explorer.faults if "422" not in fault]


def test_a_panel_that_closes_leaves_nothing_lit(explorer: Explorer) -> None:
    page = explorer.open("steps", side="cross")
    page.locator(".steps-sheet tbody tr").nth(2).hover()
    page.keyboard.press("3")
    page.mouse.move(0, 0)
    expect(page.locator(".tokens-chosen").first).to_have_attribute("data-token", "0")
