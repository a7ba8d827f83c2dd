"""Lens and heads: the page's numbers are the API's, and a head that is off changes what it says."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect
from served_page import SENTENCE, Explorer, Server

Head = dict[str, Any]


def heads_of(trace: dict[str, Any]) -> list[Head]:
    """Return all heads of the trace's network, in the page's order."""
    model = trace["model"]
    layers = {
        "encoder": model["encoder_layers"],
        "decoder": model["decoder_layers"],
        "cross": model["decoder_layers"],
    }
    return [
        {"side": side, "layer": layer, "head": head}
        for side, count in layers.items()
        for layer in range(count)
        for head in range(model["heads"])
    ]


def name_of(head: Head) -> str:
    return f"{head['side']} {head['layer'] + 1}.{head['head'] + 1}"


def deciding(server: Server) -> tuple[list[Head], dict[str, Any]]:
    """Return a layer without whose heads the sentence is translated otherwise, and the trace."""
    whole = server.trace()
    heads = heads_of(whole)
    for side, layer in dict.fromkeys((head["side"], head["layer"]) for head in heads):
        off = [head for head in heads if (head["side"], head["layer"]) == (side, layer)]
        changed = server.trace(without=off)
        if changed["translation"] != whole["translation"]:
            return off, changed
    raise AssertionError("no layer of the taught network decides anything")


def number_in(place: Locator) -> float:
    return float(place.locator(".num").first.get_attribute("data-value") or "")


def log_prob_given(server: Server, without: list[Head]) -> float:
    """Return log P of the whole network's translation, read without some heads."""
    given = server.trace()["translation"]
    trace = server.trace(level="light", given=given, without=without, keep=False)
    found: float = trace["log_prob"]
    return found


def test_cells_of_both_lenses_are_those_of_the_api(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("lens")
    lens = server.json(f"v1/trace/{server.trace()['id']}/lens")
    both = {"logit": lens["logit"], "decoder": [row["cells"] for row in lens["decoder"]]}
    for name, rows in both.items():
        cells = [cell for row in rows for cell in row]
        shown = page.locator(f"[data-figure={name}-lens] .lens-cell button")
        expect(shown).to_have_count(len(cells))
        pieces = shown.evaluate_all("all => all.map(one => [one.dataset.piece, one.dataset.rank])")
        assert pieces == [[cell["top"][0]["piece"], str(cell["rank"])] for cell in cells]
        assert explorer.values(f"[data-figure={name}-lens] .lens-cell .num") == pytest.approx(
            [math.exp(cell["top"][0]["log_prob"]) for cell in cells], rel=1e-6
        )


def test_the_decoder_reads_every_layer_of_the_encoder(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("lens")
    lens = server.json(f"v1/trace/{server.trace()['id']}/lens")["decoder"]
    rows = page.locator(".lens-own-table tbody tr")
    expect(rows).to_have_count(len(lens))
    for place, reading in enumerate(lens):
        expect(rows.nth(place).locator("td").first).to_have_text(
            reading["translation"] or "nothing"
        )
        assert number_in(rows.nth(place)) == pytest.approx(reading["log_prob"], rel=1e-6)


def test_arrow_keys_move_from_cell_to_cell_and_a_link_keeps_the_place(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("lens", **{"x-lens-row": 1})
    page.locator("[data-figure=logit-lens] [aria-pressed=true]").press("ArrowRight")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[data-figure=logit-lens] .lens-cell button:focus")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    cell = server.json(f"v1/trace/{server.trace()['id']}/lens")["logit"][1][1]
    detail = page.locator("[data-figure=logit-lens] .lens-detail")
    expect(detail).to_contain_text("Step 2, decoder layer 2")
    assert number_in(detail) == pytest.approx(cell["log_prob"], rel=1e-6)
    expect(page).to_have_url(re.compile("step=2.*x-lens-row=2"))
    page.reload()
    expect(detail).to_contain_text("Step 2, decoder layer 2")


def test_switches_do_not_move_when_one_is_pressed(explorer: Explorer, page: Page) -> None:
    """A finger that switches off several heads, one after another, must hit them all."""
    explorer.open("lens")
    switch = page.locator("[data-head='encoder 1.1']")
    table = page.locator(".lens-switches")
    before = table.bounding_box()
    switch.click()
    expect(page.locator("[data-number=again] .num")).to_be_visible()
    assert table.bounding_box() == before


def test_heads_that_are_off_change_the_translation_as_the_api_says(
    explorer: Explorer, page: Page, server: Server
) -> None:
    off, changed = deciding(server)
    explorer.open("lens")
    for head in off:
        switch = page.locator(f"[data-head='{name_of(head)}']")
        expect(switch).to_have_attribute("aria-pressed", "true")
        switch.click()
        expect(switch).to_have_attribute("aria-pressed", "false")
    whole = server.trace()
    for _ in range(2):  # at once, and after a reload of the address
        expect(page.locator(".lens-switch[aria-pressed=false]")).to_have_count(len(off))
        expect(page.locator("[data-row=after] dd").first).to_have_text(changed["translation"])
        expect(page.locator("[data-row=after] ins")).not_to_have_count(0)
        expect(page.locator("[data-row=before] dd").first).to_have_text(whole["translation"])
        assert number_in(page.locator("[data-row=before]")) == pytest.approx(whole["log_prob"])
        assert number_in(page.locator("[data-row=after]")) == pytest.approx(changed["log_prob"])
        expect(page.locator("[data-number=again] .num")).to_be_visible()
        assert number_in(page.locator("[data-number=again]")) == pytest.approx(
            log_prob_given(server, off), rel=1e-6
        )
        page.reload()
        explorer.wait_for_trace()


def test_one_head_that_is_off_changes_the_probability_as_the_api_says(
    explorer: Explorer, page: Page, server: Server
) -> None:
    head = {"side": "cross", "layer": 0, "head": 1}
    explorer.open("lens", without="cross.1.2")
    changed = server.trace(without=[head])
    assert changed["log_prob"] != server.trace()["log_prob"]
    assert number_in(page.locator("[data-row=after]")) == pytest.approx(changed["log_prob"])


def test_a_layer_is_switched_as_a_whole_and_everything_back_on(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("lens")
    off = page.locator(".lens-switch[aria-pressed=false]")
    page.get_by_role("button", name="all of cross layer 1").click()
    expect(off).to_have_count(server.trace()["model"]["heads"])
    expect(page).to_have_url(re.compile("without=cross.1.1_cross.1.2"))
    page.locator("[data-figure=head-switches]").get_by_role("button", name="All on").click()
    expect(off).to_have_count(0)
    expect(page).not_to_have_url(re.compile("without"))


def test_switches_are_reached_by_keyboard(explorer: Explorer, page: Page) -> None:
    explorer.open("lens")
    page.locator("[data-head='cross 1.1']").press("ArrowDown")
    page.keyboard.press("ArrowRight")
    switch = page.locator("[data-head='cross 2.2']")
    expect(switch).to_be_focused()
    page.keyboard.press("Space")
    expect(switch).to_have_attribute("aria-pressed", "false")
    expect(switch).to_be_focused()
    expect(page).to_have_url(re.compile("without=cross.2.2"))
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="all of cross layer 2")).to_be_focused()


def test_every_head_is_tried_on_the_decision_of_a_step(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("lens", step=2)
    trace = server.trace()
    step = trace["steps"][2]
    rivals = [one["id"] for one in step["top"] if one["id"] != step["token"]["id"]]
    chosen = page.get_by_label("The token that might have come")
    for rival in (rivals[0], rivals[3]):
        if rival != rivals[0]:
            chosen.select_option(str(rival))
            expect(page.locator(".lens-sweep")).to_have_count(0)
            assert f"x-rival={rival}" in page.url
        page.get_by_role("button", name="Which head matters most?").click()
        first = page.locator(".lens-sweep [data-first]")
        expect(first).to_be_visible()
        tokens = [step["token"]["id"], rival]
        body = {"text": SENTENCE, "model": "taught", "step": 2, "tokens": tokens}
        found = server.json("v1/heads", body)
        losses = {name_of(head): found["margin"] - head["margin"] for head in found["heads"]}
        for name, loss in losses.items():
            shown = number_in(page.locator(f"[data-head='{name}']"))
            assert shown == pytest.approx(loss, rel=1e-5, abs=1e-5)
        assert losses[first.inner_text()] == pytest.approx(max(losses.values()), rel=1e-5)
        flips = [name_of(head) for head in found["heads"] if head["flips"]]
        expect(page.locator("[data-flips]")).to_have_attribute("data-flips", str(len(flips)))
        marked = page.locator(".lens-flips").all()
        assert [one.get_attribute("data-head") for one in marked] == flips


def test_the_lens_is_saved_as_table_and_picture(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("lens")
    figure = page.locator("[data-figure=logit-lens]")
    lens = server.json(f"v1/trace/{server.trace()['id']}/lens")["logit"]
    files = {}
    for kind in ("CSV", "SVG"):
        figure.get_by_role("button", name="Save: Logit lens").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {kind}").click()
        files[kind] = Path(download.value.path()).read_text(encoding="utf-8-sig")
    header, *lines = csv.reader(io.StringIO(files["CSV"]))
    assert header[:3] == ["layer", "step", "written token"]
    assert [float(line[5]) for line in lines] == pytest.approx(
        [cell["log_prob"] for row in lens for cell in row], rel=1e-6
    )
    words = "".join(ElementTree.fromstring(files["SVG"]).itertext())
    assert "Logit lens" in words
    assert "decoder layer 1" in words
