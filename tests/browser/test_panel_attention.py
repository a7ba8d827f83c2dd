"""The attention panel: every number is the trace's; words, keys and links lead where they say."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect
from served_page import Explorer, Server

from translucid.interpret.attribution import stack_rollout, two_sided_rollout
from translucid.interpret.head_roles import classify_keys

STEMS = {
    "encoder": "encoder.{}.self_attention",
    "decoder": "decoder.{}.self_attention",
    "cross": "decoder.{}.cross_attention",
}
SIDES = tuple(STEMS)
LARGE = ".attention-large [role=application]"

Weights = NDArray[np.float32]


def show(explorer: Explorer, **address: str | int) -> Page:
    page = explorer.open("attention", **address)
    expect(page.locator(".attention-reading")).to_be_visible()
    return page


def weights_of(server: Server, trace: dict[str, Any], side: str, layer: int) -> Weights:
    return server.tensor(trace, f"{STEMS[side].format(layer)}.weights")


def reading(page: Page, what: str) -> tuple[int, list[float]]:
    """Return the place of the row or column that is read, and its list of numbers."""
    section = page.locator(f"[data-reading={what}]")
    place = int(section.get_attribute("data-place") or "")
    numbers = section.locator(".bars .num").evaluate_all("all => all.map(n => n.dataset.value)")
    return place, [float(number) for number in numbers]


def best_first(weights: NDArray[np.float32]) -> list[float]:
    return sorted(map(float, weights), reverse=True)[:8]


def saved(page: Page, figure: Locator, kind: str) -> str:
    figure.get_by_role("button", name=re.compile("^Save: ")).click()
    with page.expect_download() as download:
        figure.get_by_role("button", name=f"Save as {kind}").click()
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


@pytest.mark.parametrize("side", SIDES)
def test_row_and_column_are_the_traces(explorer: Explorer, server: Server, side: str) -> None:
    page = show(explorer, side=side, layer=0, head=1, query=2)
    weights = weights_of(server, server.trace(), side, 0)[1]
    row, looks = reading(page, "row")
    column, seen = reading(page, "column")
    visible = weights[row, : row + 1] if side == "decoder" else weights[row]
    assert row == 2
    assert looks == best_first(visible)
    seeing = weights[column:, column] if side == "decoder" else weights[:, column]
    assert seen == best_first(seeing)


@pytest.mark.parametrize("side", SIDES)
def test_facts_follow_the_librarys_definitions(
    explorer: Explorer, server: Server, side: str
) -> None:
    page = show(explorer, side=side, layer=0, head=0)
    trace = server.trace()
    weights = weights_of(server, trace, side, 0)[0].astype(float)
    source, target = (
        torch.tensor([[token["id"] for token in trace[f"{name}_tokens"]]])
        for name in ("source", "target")
    )
    looks = classify_keys(source, target)[side]  # type: ignore[index]
    asked = looks.queries_BL[0].numpy().astype(bool)
    rows = weights[asked]
    entropy = -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=1).mean()
    distance = (rows * looks.distance_BLM[0].numpy()[asked]).sum(axis=1).mean()
    assert explorer.values("[data-fact=entropy] .num") == pytest.approx([entropy], abs=1e-6)
    assert explorer.values("[data-fact=distance] .num") == pytest.approx([distance], abs=1e-5)
    assert page.locator("[data-figure$=all-heads] .attention-small").count() > 0


@pytest.mark.parametrize("side", SIDES)
def test_one_word_is_shown_across_all_heads(explorer: Explorer, server: Server, side: str) -> None:
    page = show(explorer, side=side, query=2)
    trace = server.trace()
    figure = page.locator(f"[data-figure={side}-one-word]")
    names, *rows = csv.reader(io.StringIO(saved(page, figure, "CSV")))
    layers = trace["model"]["encoder_layers" if side == "encoder" else "decoder_layers"]
    expected = np.stack([weights_of(server, trace, side, n)[:, 2] for n in range(layers)])
    found = np.array([row[2:] for row in rows], float)
    assert found == pytest.approx(expected.reshape(found.shape))
    heads = trace["model"]["heads"]
    places = [[str(1 + n // heads), str(1 + n % heads)] for n in range(len(rows))]
    assert [row[:2] for row in rows] == places
    assert names[:2] == ["layer", "head"]
    strips = figure.locator("[role=application]")
    strips.focus()
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.keyboard.press("Enter")
    heading = f"layer {layers}, head {heads}"
    expect(page.get_by_role("heading", name=heading)).to_be_visible()


def test_a_small_head_is_enlarged_by_click_and_by_keys(explorer: Explorer) -> None:
    page = show(explorer, side="encoder")
    page.locator(".attention-small[data-layer='0'][data-head='1']").click()
    expect(page.get_by_role("heading", name="layer 1, head 2")).to_be_visible()
    assert "head=2" in page.url
    page.locator(".attention-small[aria-pressed=true]").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="layer 1, head 1")).to_be_visible()
    assert "head=" not in page.url


def test_a_link_opens_the_same_head_row_and_shape(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="decoder", layer=0, head=1, query=1, shape="arcs")
    expect(page.get_by_role("button", name="Arcs")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("heading", name="layer 1, head 2")).to_be_visible()
    expect(page.locator(".attention-tokens button")).to_have_count(
        len(server.trace()["target_tokens"])
    )
    assert reading(page, "row")[0] == 1
    page.get_by_role("button", name="Matrix").click()
    expect(page.locator(LARGE)).to_be_visible()
    assert "shape=" not in page.url


def test_pointing_or_focusing_a_word_reads_it(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="cross", shape="arcs")
    weights = weights_of(server, server.trace(), "cross", 0)[0]
    translation = page.get_by_label("Translation, which looks").get_by_role("button")
    source = page.get_by_label("Source, which is looked at").get_by_role("button")
    translation.nth(3).hover()
    expect(page.locator("[data-reading=row][data-place='3']")).to_be_visible()
    assert reading(page, "row")[1] == best_first(weights[3])
    source.nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-reading=column][data-place='2']")).to_be_visible()
    translation.nth(3).dispatch_event("pointerleave")  # as when the page scrolls away under it
    assert reading(page, "column")[1] == best_first(weights[:, 2])
    expect(page.locator("[data-reading=column][data-place='2']")).to_be_visible()
    translation.nth(2).click()
    expect(page).to_have_url(re.compile("query=3"))


def test_the_cursor_of_the_matrix_tells_weights_and_picks_rows(
    explorer: Explorer, server: Server
) -> None:
    page = show(explorer, side="cross", query=0)
    weights = weights_of(server, server.trace(), "cross", 0)[0]
    page.locator(LARGE).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    row, column = reading(page, "row")[0], reading(page, "column")[0]
    expect(page.locator(".attention-large .matrix-words")).to_contain_text(
        f"{weights[row, column]:.4f}"
    )
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"query={row + 1}"))
    assert "step=" not in page.url  # the arrow keys were the matrix's own


def test_the_future_is_hatched_and_told(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="decoder", step=3, query=1)
    trace = server.trace()
    mask = server.tensor(trace, "decoder.0.self_attention.mask")
    page.locator(LARGE).focus()
    page.keyboard.press("End")
    expect(page.locator(".attention-large .matrix-words")).to_contain_text(
        "weight 0, the future is hidden (section 3.2.3)"
    )
    assert np.isneginf(mask[1, -1])
    later = int(np.isneginf(mask[1]).sum())
    expect(page.locator("[data-reading=row]")).to_contain_text(f"{later} later tokens are hidden")
    picture = saved(page, page.locator("[data-figure=decoder-layer-1-head-1]"), "SVG")
    assert picture.count("url(#hatch)") == np.isneginf(mask).sum()


def test_hidden_symbols_are_named_and_nothing_is_rescaled(
    explorer: Explorer, server: Server
) -> None:
    page = show(explorer, side="cross", query=1)
    weights = weights_of(server, server.trace(), "cross", 0)[0]
    before = reading(page, "row")[1]
    page.get_by_label("Hide </s>").check()
    note = page.locator(".attention-hiding")
    expect(note).to_contain_text("the column of </s>")
    told = float(note.locator(".num").get_attribute("data-value") or "")
    assert told == pytest.approx(weights[:, -1].mean(), abs=1e-6)
    after = reading(page, "row")[1]
    assert after == best_first(weights[1, :-1])
    assert set(after) <= set(before)
    expect(page.locator("[data-reading=row]")).to_contain_text("Not shown: 1 symbol")
    expect(page.locator(LARGE)).to_have_attribute(
        "aria-label", re.compile(f"{weights.shape[1] - 1} columns")
    )
    assert "x-symbols=hidden" in page.url


def test_summaries_are_named_as_such_and_equal_the_librarys(
    explorer: Explorer, server: Server
) -> None:
    trace = server.trace()
    means = {
        side: [
            torch.tensor(weights_of(server, trace, side, layer)).double().mean(dim=0)
            for layer in range(
                trace["model"]["encoder_layers" if side == "encoder" else "decoder_layers"]
            )
        ]
        for side in SIDES
    }
    rolled = two_sided_rollout(
        stack_rollout(means["encoder"]), means["decoder"], means["cross"]
    ).source_TS
    rolled = rolled / rolled.sum(dim=-1, keepdim=True)
    page = show(explorer, side="cross", query=1)
    for name, expected in (("Mean of the layer", means["cross"][0]), ("Rollout", rolled)):
        page.get_by_role("button", name=name).click()
        expect(page.locator(".attention-facts")).to_contain_text("not a number of the network")
        numbers = reading(page, "row")[1]
        assert numbers == pytest.approx(best_first(expected[1].numpy()), abs=1e-6)


def test_rows_not_yet_written_are_covered(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="cross")
    rows = len(server.trace()["target_tokens"])
    cover = page.locator(".attention-unwritten").first
    assert reading(page, "row")[0] == 0
    page.locator("h2").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-reading=row][data-place='1']")).to_be_visible()
    share = float(cover.evaluate("one => one.style.transform.match(/[0-9.]+/)[0]"))
    assert share == pytest.approx((rows - 2) / rows, abs=1e-4)


def test_a_head_that_is_off_says_so(explorer: Explorer) -> None:
    page = show(explorer, side="cross", without="cross.1.2", head=1)
    small = page.locator(".attention-small[data-layer='0'][data-head='1']")
    expect(small).to_have_attribute("aria-label", re.compile("switched off"))
    expect(page.locator(".attention-facts")).to_contain_text("zeros are passed on")


def test_heads_that_align_words_are_marked(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="cross")
    marked = page.locator(".attention-small[aria-label*='aligns words']").evaluate_all(
        "all => all.map(one => [+one.dataset.layer, +one.dataset.head])"
    )
    assert sorted(marked) == sorted(map(list, server.trace()["alignment_heads"]))


def test_saved_files_hold_the_weights(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="cross", head=1)
    trace = server.trace()
    weights = weights_of(server, trace, "cross", 0)[1]
    large = page.locator("[data-figure=cross-layer-1-head-2]")
    table = list(csv.reader(io.StringIO(saved(page, large, "CSV"))))
    assert len(table[0]) == 1 + len(trace["source_tokens"])
    assert np.array_equal(np.array([row[1:] for row in table[1:]], float), weights)
    assert saved(page, large, "SVG").count('height="25"') == weights.size
    page.get_by_role("button", name="Arcs").click()
    assert saved(page, large, "SVG").count("<path") == int((weights >= 0.02).sum())
    every = page.locator("[data-figure=cross-all-heads]")
    heads = trace["model"]["heads"] * trace["model"]["decoder_layers"]
    assert saved(page, every, "SVG").count("data:image/png") == heads
    assert len(saved(page, every, "CSV").splitlines()) == 1 + heads
