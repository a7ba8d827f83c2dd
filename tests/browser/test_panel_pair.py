"""Who decides? The page's shares are those of Python, and a click writes the sentence anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect
from served_page import PATIENCE, Explorer, Server, serving

from networks import network
from small_traces import pair_trace, taught_translator
from small_translators import write_directory
from translucid.interpret.explain import explain
from translucid.interpret.network import single_network
from translucid.interpret.page import saved_page
from translucid.interpret.patched_runs import Cell
from translucid.interpret.patching import PatchablePair, Patching, apply_patch

FIRST, SECOND = "chat noir dort", "chat noir mange"
PAIR = {"x-against": SECOND}


@pytest.fixture(scope="module")
def measured() -> Patching:
    patching = pair_trace(FIRST, SECOND).patching
    assert patching is not None
    return patching


def key_of(cell: Cell) -> str:
    return str(cell).replace(" ", ".")


def cell_of(page: Page, cell: Cell) -> Any:
    return page.locator(f'[data-cell="{key_of(cell)}"]')


def margin(page: Page) -> float:
    return float(page.locator(".pair-margin").get_attribute("data-margin") or "")


def test_the_map_has_the_shares_that_python_measures(
    explorer: Explorer, page: Page, measured: Patching
) -> None:
    explorer.open("pair", FIRST, **PAIR)
    page.wait_for_selector(".pair-map")
    shown = {
        one.get_attribute("data-cell"): float(one.get_attribute("data-share") or "")
        for one in page.locator(".pair-cell").all()
    }
    expected = {key_of(one.cell): one.share for one in measured.cells}
    assert shown == pytest.approx(expected, abs=1e-4)
    assert max(shown, key=shown.__getitem__) == max(expected, key=expected.__getitem__)
    striped = {one.get_attribute("data-cell") for one in page.locator(".pair-disagrees").all()}
    assert striped == {key_of(one.cell) for one in measured.cells if not one.agrees}
    assert margin(page) == pytest.approx(measured.decision.margins[0], abs=1e-4)


def test_a_click_moves_the_bar_and_writes_the_sentence_anew(
    explorer: Explorer, page: Page, measured: Patching
) -> None:
    explorer.open("pair", FIRST, **PAIR)
    best = measured.part("source")[0]
    row = page.locator('[data-row="patched"]')
    cell_of(page, best.cell).click()
    expect(row).to_contain_text("eats black cat")
    first, second = measured.decision.margins
    assert margin(page) == pytest.approx(first - best.forward * (first - second), abs=1e-4)
    assert margin(page) < 0 < first
    expect(page.locator(".pair-detail")).to_have_attribute("data-cell", str(best.cell))
    page.get_by_role("button", name="1 into 2").click()
    expect(row).to_contain_text("sleeps black cat")
    assert margin(page) > 0
    cell_of(page, best.cell).click()
    expect(row).to_contain_text("Click a cell to patch it")
    assert margin(page) == pytest.approx(second, abs=1e-4)


def test_cells_are_collected_and_a_link_keeps_them(
    explorer: Explorer, page: Page, measured: Patching
) -> None:
    explorer.open("pair", FIRST, **PAIR)
    chosen = [one.cell for one in measured.part("cross")[:3]]
    for cell in chosen:
        cell_of(page, cell).click(modifiers=["Shift"])
    translator = taught_translator()
    pair = PatchablePair.of(translator, *(explain(translator, text) for text in (FIRST, SECOND)))
    run, _ = apply_patch(pair, chosen)
    expect(page.locator('[data-row="patched"]')).to_contain_text(run.translation)
    page.wait_for_function(
        "value => Math.abs(document.querySelector('.pair-margin').dataset.margin - value) < 1e-4",
        arg=run.margin,
    )
    assert f"x-cells={'_'.join(map(key_of, chosen))}" in page.url
    page.reload()
    page.wait_for_selector(".pair-map")
    expect(page.locator('.pair-cell[aria-pressed="true"]')).to_have_count(3)
    expect(page.locator('[data-row="patched"]')).to_contain_text(run.translation)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator('.pair-cell[aria-pressed="true"]')).to_have_count(0)


def test_a_head_shows_where_it_looks_in_both_sentences(
    explorer: Explorer, page: Page, measured: Patching
) -> None:
    explorer.open("pair", FIRST, **PAIR)
    best = measured.part("cross")[0]
    cell_of(page, best.cell).hover()
    row = next(one for one in measured.rows if one.cell == best.cell)
    numbers = [
        float(one.get_attribute("data-value") or "")
        for one in page.locator(".pair-detail .pair-looks tbody tr").first.locator(".num").all()
    ]
    at = max(range(len(row.first)), key=lambda n: max(row.first[n], row.second[n]))
    expected = [row.first[at], row.second[at], row.second[at] - row.first[at]]
    assert numbers == pytest.approx(expected, abs=1e-4)


def test_the_other_sentence_is_written_and_what_is_refused_is_told(
    explorer: Explorer, page: Page
) -> None:
    explorer.open("pair", FIRST)
    expect(page.locator(".pair-hint")).to_be_visible()
    page.get_by_role("button", name="Copy the first").click()
    field = page.get_by_label("Other sentence")
    expect(field).to_have_value(FIRST)
    field.fill(SECOND)
    field.press("Enter")
    page.wait_for_selector(".pair-map")
    assert re.search(r"x-against=chat\+noir\+mange", page.url)
    best = page.locator(".pair-detail").get_attribute("data-cell")
    assert best is not None
    page.locator(".pair-grid[data-part=cross] .pair-cell").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".pair-grid[data-part=cross] .pair-cell").nth(1)).to_be_focused()
    explorer.open("map", FIRST, **PAIR)  # only the panel that shows it asks for a comparison
    expect(page.locator(".panel-problem")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_axe_finds_nothing(
    explorer: Explorer, page: Page, measured: Patching, scheme: Any
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme=scheme)
    explorer.open("pair", FIRST, **PAIR)
    cell_of(page, measured.part("source")[0].cell).click()
    expect(page.locator('[data-row="patched"]')).to_contain_text("eats black cat")
    page.wait_for_function("() => document.documentElement.scrollWidth <= 390")
    assert explorer.axe() == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720)])
def test_the_map_is_above_the_fold(explorer: Explorer, page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    explorer.open("pair", FIRST, **PAIR)
    box = page.locator(".pair-map").bounding_box()
    foot = page.locator(".explore-foot").bounding_box()
    assert box is not None
    assert foot is not None
    assert foot["y"] - box["y"] >= 0.6 * box["height"]


def test_a_sentence_that_decides_nothing_says_so(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/#/explore/pair?text=chat+noir+dort&x-against=chat+noir+dort")
    expect(page.locator(".panel-problem")).to_contain_text("so nothing is decided between them")
    expect(page.get_by_label("Other sentence")).to_have_value(FIRST)
    page.close()


def test_other_pairs_are_tried(explorer: Explorer, page: Page, server: Server) -> None:
    explorer.open("pair", FIRST, **PAIR)
    page.get_by_role("button", name="other pairs").click()
    body = {"text": FIRST, "against": SECOND, "model": "taught", "count": 10}
    expected = server.json("v1/patch/repeat", body)
    if expected["pairs"]:
        best = expected["heads"][0]
        row = page.locator(".pair-repeat tbody tr").first
        expect(row).to_contain_text(f"{best['leads']} of {len(expected['pairs'])}")
    else:
        expect(page.locator(".pair-repeat")).to_contain_text("other pairs with “dort” and “mange”")


@pytest.fixture
def file(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page saved with a pair, opened from disk with the network blocked."""
    path = tmp_path / "pair.html"
    trace = pair_trace(FIRST, SECOND)
    path.write_text(saved_page(trace, address="#/explore/pair").html, encoding="utf-8")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    sent: list[str] = []

    def refuse(route: Route, request: Request) -> None:
        if request.url.startswith(("file:", "blob:", "data:")):
            route.continue_()
        else:
            sent.append(request.url)
            route.abort()

    page.route("**/*", refuse)
    page.goto(path.as_uri())
    yield page
    assert sent == []
    page.close()


def test_a_saved_page_shows_what_was_recorded(file: Page, measured: Patching) -> None:
    file.wait_for_selector(".pair-map")
    expect(file.locator(".pair-cell")).to_have_count(len(measured.cells))
    best = measured.part("source")[0]
    cell_of(file, best.cell).click()
    expect(file.locator('[data-row="patched"]')).to_contain_text("eats black cat")
    still = next(one for one in measured.cells if one.translations == (None, None))
    cell_of(file, still.cell).click()
    expect(file.locator('[data-row="patched"]')).to_contain_text("It moves too little")
    cell_of(file, best.cell).click(modifiers=["Shift"])
    expect(file.locator(".saved-missing")).to_contain_text(["patch several cells", "other sent"])


def test_one_sentence_is_compared_under_two_models(browser: Browser, tmp_path: Path) -> None:
    taught = taught_translator()
    directories = {
        "taught": single_network(taught),
        "untaught": network(single_network(taught).config, 3),
    }
    words: list[str] = []
    for name, model in directories.items():
        path = write_directory(tmp_path / name, model, taught.tokenizer, taught.generation)
        words += ["-m", f"{name}={path}"]
    with serving(words) as two:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{two.url}/#/explore/pair?text=chat+noir+dort&model=taught")
        page.get_by_label("read by").select_option("untaught")
        page.wait_for_selector(".pair-map")
        expect(page.locator('[data-row="2"]')).to_contain_text("(untaught)")
        asked = {"text": FIRST, "against": FIRST, "model": "taught", "against_model": "untaught"}
        expected = two.json("v1/patch", asked)
        assert margin(page) == pytest.approx(expected["decision"]["margins"][0], abs=1e-4)
        assert "x-reader=untaught" in page.url
        expect(page.locator(".pair-repeat")).to_have_count(0)
        page.close()
