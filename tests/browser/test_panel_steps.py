"""One head, six steps: the sheet is the trace's, and a pocket calculator agrees with the page."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect
from served_page import Explorer, Server

STEMS = {
    "encoder": "encoder.0.self_attention",
    "decoder": "decoder.0.self_attention",
    "cross": "decoder.0.cross_attention",
}


def show(explorer: Explorer, **address: str | int) -> Page:
    page = explorer.open("steps", **address)
    expect(page.locator(".steps-sheet")).to_be_visible()
    return page


class Head:
    """The tensors of one head of a trace, by HTTP."""

    def __init__(self, server: Server, trace: dict[str, Any], side: str, head: int) -> None:
        self.server, self.trace, self.stem, self.head = server, trace, STEMS[side], head

    def __getattr__(self, name: str) -> NDArray[np.float32]:
        at = () if name == "mask" else (self.head,)
        return self.server.tensor(self.trace, f"{self.stem}.{name}", *at)


def rows(page: Page) -> list[list[float]]:
    """Return the numbers of the sheet: product, scaled, mask, exponential, weight of each key."""
    found = page.locator("tr[data-key]").evaluate_all(
        "all => all.map(tr => [...tr.querySelectorAll('.num')].map(n => n.dataset.value))"
    )
    return [[float(word.replace("Infinity", "inf")) for word in row] for row in found]


def line(page: Page, card: int, number: int = 0) -> str:
    words = page.locator(f"[data-card='{card}'] .steps-line").nth(number).inner_text()
    return words.replace("−", "-")


def printed(words: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", words)]


@pytest.mark.parametrize("side", STEMS)
def test_the_sheet_is_the_traces(explorer: Explorer, server: Server, side: str) -> None:
    page = show(explorer, side=side, head=1, query=2)
    head = Head(server, server.trace(), side, 1)
    found = np.array(rows(page))
    scores = head.scaled_scores[2].astype(float) + head.mask[2]
    assert np.array_equal(found[:, 0], head.raw_scores[2])
    assert np.array_equal(found[:, 1], head.scaled_scores[2])
    assert np.array_equal(found[:, 2], head.mask[2])
    assert found[:, 3] == pytest.approx(np.exp(scores), rel=1e-9)
    assert np.array_equal(found[:, 4], head.weights[2])
    assert found[:, 3] / found[:, 3].sum() == pytest.approx(head.weights[2], abs=1e-6)


def test_minus_infinity_is_written_and_hatched(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="decoder", query=1, **{"x-key": 4})
    mask = Head(server, server.trace(), "decoder", 0).mask[1]
    hidden = page.locator("tr[data-masked=true]")
    assert hidden.count() == np.isneginf(mask).sum() > 0
    expect(hidden.first.locator(".steps-hatched")).to_have_text("−∞")
    expect(page.locator("[data-card='3'] .steps-line")).to_contain_text("−∞ = −∞")
    expect(page.locator("[data-card='3']")).to_contain_text("the future is hidden (section 3.2.3)")
    assert printed(line(page, 4, 2))[-1] == 0


@pytest.mark.parametrize("side", STEMS)
def test_a_pocket_calculator_agrees(explorer: Explorer, side: str) -> None:
    page = show(explorer, side=side, head=1, query=2, **{"x-key": 2, "x-dim": 4})
    page.get_by_text(re.compile("All .* products")).click()
    table = page.locator(".steps-products tbody tr").evaluate_all(
        "all => all.map(tr => [...tr.querySelectorAll('.num')].map(n => n.innerText))"
    )
    terms = [[float(word.replace("−", "-")) for word in row] for row in table]
    raw = printed(line(page, 1))[-1]
    for q, k, product in terms:
        assert product == pytest.approx(q * k, abs=0.0006 + 0.0005 * (abs(q) + abs(k)))
    assert sum(q * k for q, k, _ in terms) == pytest.approx(raw, abs=0.02)
    before, _, again, root, scaled = printed(line(page, 2))
    assert before == again == raw
    assert before / root == pytest.approx(scaled, abs=0.001)
    first, mask, score = printed(line(page, 3))
    assert (first, mask, score) == (scaled, 0, scaled)
    exponent, exponential = printed(line(page, 4, 0))
    assert exponent == score
    assert exponential == pytest.approx(math.exp(score), rel=0.001)
    total = printed(line(page, 4, 1))
    assert total[-1] == pytest.approx(
        float(page.locator("[data-sum]").get_attribute("data-value") or ""), rel=0.0006
    )
    own, divisor, weight = printed(line(page, 4, 2))
    assert (own, divisor) == (exponential, total[-1])
    # Both are printed to four digits, so each may be off by 0.05 %.
    assert weight == pytest.approx(own / divisor, rel=0.0011, abs=0.0001)
    share, value, weighted = printed(line(page, 5))
    assert share == weight
    assert weighted == pytest.approx(share * value, abs=0.001)


def test_the_sum_is_the_heads_output_in_any_dimension(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="cross", query=1)
    head = Head(server, server.trace(), "cross", 0)
    output, weights, values = head.heads[1], head.weights[1], head.v
    field = page.locator("[data-card='6']").get_by_role("spinbutton")
    assert int(field.input_value()) == int(np.abs(output).argmax()) + 1
    for dimension in (0, len(output) - 1):
        field.fill(str(dimension + 1))
        expect(page).to_have_url(re.compile(f"x-dim={dimension + 1}"))
        shown = explorer.values("[data-card='6'] .steps-line .num")
        assert shown[-1] == float(output[dimension])
        assert output[dimension] == pytest.approx(weights @ values[:, dimension], abs=1e-5)


def test_query_and_key_are_picked_by_click_and_keys(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="encoder", query=0)
    head = Head(server, server.trace(), "encoder", 0)
    page.get_by_label("The word that looks").get_by_role("button").nth(2).click()
    expect(page).to_have_url(re.compile("query=3"))
    assert [row[0] for row in rows(page)] == list(map(float, head.raw_scores[2]))
    strongest = int(head.weights[2].argmax())
    expect(page.locator(f"tr[data-key='{strongest}'][data-chosen=true]")).to_be_visible()
    page.locator("tr[data-key='1'] button").click()
    expect(page).to_have_url(re.compile("x-key=2"))
    page.keyboard.press("ArrowDown")
    expect(page.locator("tr[data-key='2'][data-chosen=true]")).to_be_visible()
    assert explorer.values("[data-card='2'] .num")[0] == float(head.raw_scores[2, 2])
    assert "step=" not in page.url


def test_a_link_shows_one_step_and_hides_later_ones(explorer: Explorer) -> None:
    page = show(explorer, side="cross", **{"x-stage": 2})
    expect(page.locator("[data-card]")).to_have_count(1)
    expect(page.locator("[data-card='2']")).to_be_visible()
    numbers = page.locator("tr[data-key='0'] .num")
    expect(numbers.nth(1)).to_be_visible()
    for later in (2, 3, 4):
        expect(numbers.nth(later)).to_be_hidden()
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("[data-card]")).to_have_count(6)
    expect(numbers.nth(4)).to_be_visible()


def test_the_six_steps_play(explorer: Explorer) -> None:
    page = show(explorer, side="cross")
    page.get_by_role("button", name="Play the six steps").click()
    expect(page.locator("[data-card='1']")).to_be_visible()
    expect(page.locator("[data-card='2']")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play the six steps")).to_be_visible()


def test_what_follows_shows_all_heads(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="cross", head=1)
    model = server.trace()["model"]
    strips = page.locator(".steps-concat figure")
    expect(strips).to_have_count(model["heads"])
    assert strips.nth(1).get_attribute("data-own") == "true"
    expect(page.locator(".steps-follows")).to_contain_text(f"{model['heads'] * model['d_v']} numb")


def test_a_head_that_is_off_hands_on_zeros(explorer: Explorer) -> None:
    page = show(explorer, side="cross", without="cross.1.1")
    expect(page.get_by_text("zeros are passed on")).to_be_visible()
    assert explorer.values("[data-card='6'] .steps-line .num")[-1] == 0


def test_saved_files_hold_every_number(explorer: Explorer, server: Server) -> None:
    page = show(explorer, side="decoder", query=2)
    head = Head(server, server.trace(), "decoder", 0)
    texts = {}
    for kind in ("CSV", "SVG"):
        page.get_by_role("button", name=re.compile("^Save: Masked")).click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {kind}").click()
        texts[kind] = Path(download.value.path()).read_text(encoding="utf-8-sig")
    names, *lines = csv.reader(io.StringIO(texts["CSV"]))
    keys = len(head.raw_scores[2])
    column = names.index("k1")
    found = np.array([row[column:] for row in lines[:keys]], float)
    assert np.array_equal(found, np.concatenate([head.k, head.v], axis=1))
    assert [row[names.index("mask")] for row in lines[:keys]].count("−∞") == keys - 3
    assert texts["SVG"].count("url(#hatch)") == keys - 3
