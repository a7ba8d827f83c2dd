"""The output panel: its numbers are the trace's, and forcing a token changes what is written."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect
from served_page import Explorer, Server

STEP = 1
Numbers = NDArray[np.float64]


def show(explorer: Explorer, **address: str | int | float) -> Page:
    page = explorer.open("output", **{"step": STEP, **address})
    expect(page.locator(".output-table tbody tr").first).to_be_visible()
    return page


def row_of(server: Server, name: str) -> Numbers:
    return server.tensor(server.trace(), name, STEP).astype(np.float64)


def softmax(logits: Numbers) -> Numbers:
    exps = np.exp(logits - logits.max())
    share: Numbers = exps / exps.sum()
    return share


def value_of(number: Locator) -> float:
    return float(number.locator(".num").first.get_attribute("data-value") or "")


def column(page: Page, name: str) -> dict[int, float]:
    """Return a column of the table as {token: number}; what is cut has none."""
    rows = page.locator(".output-table tbody tr")
    found = {}
    for place in range(rows.count()):
        cell = rows.nth(place).locator(f"[data-column={name}]")
        if cell.locator(".num").count():
            token = rows.nth(place).get_attribute("data-token")
            found[int(token or "")] = value_of(cell)
    return found


def slide(page: Page, name: str, value: float) -> None:
    """Move a slider as a reader does, and wait until the page shows its value."""
    page.locator(f"#{name}").fill(str(value))
    expect(page.locator(f"output[for={name}]")).to_contain_text(f"{value:g}")


def test_the_numbers_are_those_of_the_trace(explorer: Explorer, server: Server) -> None:
    page = show(explorer)
    shown = column(page, "probability")
    probabilities = np.exp(row_of(server, "log_probs"))
    assert len(shown) >= 12
    assert shown == pytest.approx({token: probabilities[token] for token in shown}, rel=1e-4)
    logits = row_of(server, "logits")
    assert column(page, "logit") == {token: logits[token] for token in shown}
    step = server.trace()["steps"][STEP]
    assert value_of(page.locator("[data-number=entropy]")) == pytest.approx(
        step["entropy"], rel=1e-4
    )
    assert page.locator("[data-number=rank]").inner_text() == str(step["rank"])


def test_every_step_shows_how_probable_its_token_was(explorer: Explorer, server: Server) -> None:
    page = show(explorer)
    steps = server.trace()["steps"]
    bars = page.locator(".output-strip-step")
    expect(bars).to_have_count(len(steps))
    for place, step in enumerate(steps):
        assert value_of(bars.nth(place)) == pytest.approx(np.exp(step["log_prob"]), rel=1e-6)
    bars.nth(2).click()
    expect(page.locator("[data-figure=softmax] h3")).to_contain_text("Step 3")
    assert "step=3" in page.url


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_temperature_divides_the_logits(
    explorer: Explorer, server: Server, temperature: float
) -> None:
    page = show(explorer)
    slide(page, "output-temperature", temperature)
    expected = softmax(row_of(server, "logits") / temperature)
    shown = column(page, "probability")
    assert shown == pytest.approx({token: expected[token] for token in shown}, rel=1e-9)
    assert column(page, "share") == pytest.approx(shown, rel=1e-9)


def test_a_temperature_of_0_leaves_the_most_probable_token(
    explorer: Explorer, server: Server
) -> None:
    page = show(explorer)
    slide(page, "output-temperature", 0)
    best = int(row_of(server, "logits").argmax())
    assert {t: p for t, p in column(page, "probability").items() if p} == {best: 1}
    expect(page.locator(".output-words")).to_contain_text("greedy")


def test_the_cuts_strike_tokens_out_and_scale_the_others_up(
    explorer: Explorer, server: Server
) -> None:
    page = show(explorer, temperature=3)
    page.locator("#output-k").fill("3")
    expected = np.sort(softmax(row_of(server, "logits") / 3))[::-1][:3]
    expect(page.locator(".output-cut").first).to_be_visible()
    shares = column(page, "share")
    assert list(shares.values()) == pytest.approx(expected / expected.sum(), rel=1e-9)
    decoration = page.locator(".output-cut .output-piece").first.evaluate(
        "piece => getComputedStyle(piece).textDecorationLine"
    )
    assert decoration == "line-through"
    slide(page, "output-p", 0.05)
    assert list(column(page, "share").values()) == [1]


def test_a_forced_token_changes_the_rest_and_the_link_keeps_it(
    explorer: Explorer, server: Server
) -> None:
    page = show(explorer)
    free = server.trace()
    token = free["steps"][STEP]["top"][3]
    page.locator(f"tr[data-token='{token['id']}'] button").press("Enter")
    prefix = [free["steps"][0]["token"]["id"], token["id"]]
    forced = server.trace(prefix=prefix)
    assert forced["translation"] != free["translation"]
    after = page.locator("[data-version=after]")
    expect(after).to_have_text(forced["translation"])
    expect(page.locator("[data-version=before]")).to_have_text(free["translation"])
    assert f"prefix={prefix[0]}.{prefix[1]}" in page.url
    page.reload()
    expect(after).to_have_text(forced["translation"])
    page.get_by_role("button", name="Release").click()
    expect(page.locator(".output-forced")).to_have_count(0)
    assert "prefix" not in page.url


def test_the_same_seed_draws_the_same_token(explorer: Explorer, server: Server) -> None:
    page = show(explorer, temperature=3)
    page.get_by_role("button", name="Draw", exact=True).click()
    page.locator("#output-seed").fill("41")
    drawn = page.locator("[data-drawn]").get_attribute("data-drawn")
    told = page.locator(".output-told").inner_text()
    page.reload()
    expect(page.locator(".output-told")).to_have_text(told)
    assert page.locator("[data-drawn]").get_attribute("data-drawn") == drawn


def test_the_products_of_state_and_row_add_up_to_the_logit(
    explorer: Explorer, server: Server
) -> None:
    page = show(explorer)
    token = server.trace()["steps"][STEP]["token"]["id"]
    total = value_of(page.locator("[data-figure=logit] figcaption"))
    assert total == pytest.approx(column(page, "logit")[token], rel=1e-4)


def test_the_figures_can_be_saved(explorer: Explorer, server: Server, tmp_path: Path) -> None:
    page = show(explorer)
    drawing = saved(page, "softmax", "SVG", tmp_path)
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    table = list(csv.DictReader(io.StringIO(saved(page, "softmax", "CSV", tmp_path))))
    logits = row_of(server, "logits")
    assert {int(row["id"]): float(row["logit"]) for row in table} == dict(enumerate(logits))


def saved(page: Page, figure: str, kind: str, folder: Path) -> str:
    with page.expect_download() as download:
        page.locator(f"[data-figure={figure}] .figure-head button").last.click()
        page.get_by_role("button", name=f"Save as {kind}").click()
    path = folder / f"{figure}.{kind}"
    download.value.save_as(path)
    return path.read_text(encoding="utf-8-sig")
