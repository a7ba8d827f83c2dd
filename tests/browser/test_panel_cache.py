"""The cache: what was computed, what reused, and what it saved, as the trace says."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from served_page import Explorer, Server


def so_far(trace: dict[str, Any], step: int, name: str) -> int:
    return sum(one[name] for one in trace["cache"]["steps"][: step + 1])


def test_the_account_of_every_step_is_the_trace_s(
    explorer: Explorer, page: Page, server: Server
) -> None:
    trace = server.trace()
    account = trace["cache"]["steps"]
    explorer.open("cache")
    last = len(account) - 1
    end = f"up to step {len(trace['steps'])}"  # where it opens
    expect(page.locator("[data-account=work] dt")).to_contain_text(end)
    page.locator("body").press("Home")
    for step in range(len(trace["steps"])):
        expect(page.locator("[data-account=work] dt")).to_contain_text(f"up to step {step + 1}")
        cached = so_far(trace, step, "multiplications")
        without = so_far(trace, step, "without_cache")
        assert explorer.values("[data-account=work] .num") == [cached, without]
        total = so_far(trace, last, "without_cache") / so_far(trace, last, "multiplications")
        factors = explorer.values("[data-account=factor] .num")
        assert factors == pytest.approx([without / cached, total])
        here = account[step]
        counts = explorer.values("[data-account=positions] .num")
        assert counts == [here["computed"], here["reused"]]
        sizes = explorer.values("[data-account=bytes] .num")
        assert sizes == [here["bytes"], trace["cache"]["source_bytes"]]
        alone = explorer.values(".cache-here .num")
        assert alone == [here["multiplications"], here["without_cache"]]
        page.keyboard.press("ArrowRight")


def test_thousands_stand_apart(explorer: Explorer, page: Page, server: Server) -> None:
    trace = server.trace()
    explorer.open("cache", step=3)
    words = page.locator("[data-account=work] .num").first.inner_text()
    assert words == f"{so_far(trace, 3, 'multiplications'):,}".replace(",", "\u202f")


def test_the_rows_of_a_step_are_the_beam_s(explorer: Explorer, page: Page, server: Server) -> None:
    trace = server.trace()
    nodes, step = trace["tree"]["nodes"], 2
    explorer.open("cache", step=step)
    paths = []
    for node in (one for one in nodes if one["step"] == step and one["status"] == "kept"):
        path = [node["token"]]
        while node["parent"] is not None:
            node = nodes[node["parent"]]
            path.insert(0, node["token"])
        paths.append([trace["pieces"][str(token)].strip() for token in path])
    rows = page.locator(".cache-rows li")
    assert rows.count() == trace["cache"]["steps"][step]["rows"]
    shown = [row.locator(".cache-entry").all_inner_texts() for row in rows.all()]
    assert [row for row in shown if row] == paths
    for row in rows.all():
        kinds = row.locator(".cache-entry").evaluate_all("all => all.map(e => e.dataset.kind)")
        assert kinds in ([], ["reused", "reused", "computed"])
    expect(page.locator(".cache-returned")).to_have_count(1)


def test_a_line_of_the_triangle_goes_to_its_step(explorer: Explorer, page: Page) -> None:
    explorer.open("cache")
    page.get_by_role("button", name="Go to step 3").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-figure=cache-rows] h3")).to_have_text("Rows of step 3")
    expect(page).to_have_url(re.compile("step=3"))
    title = "step 3, row 1: positions 1 to 2 reused"
    assert page.locator(".cache-lines title", has_text=title).count() == 1
    assert page.locator(".cache-lines title", has_text="step 4").count() == 0, "still to come"


def test_greedy_search_has_one_row(explorer: Explorer, page: Page, server: Server) -> None:
    trace = server.trace(search={"method": "greedy"})
    explorer.open("cache", step=3, method="greedy")
    expect(page.locator(".cache-rows li")).to_have_count(1)
    shown = page.locator(".cache-rows .cache-entry").all_inner_texts()
    assert shown == [one["piece"].strip() for one in trace["target_tokens"][:4]]


def test_the_saved_table_is_the_account(
    explorer: Explorer, page: Page, server: Server, tmp_path: Path
) -> None:
    trace = server.trace()
    explorer.open("cache")
    page.get_by_role("button", name="Save: Multiplications so far").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    download.value.save_as(tmp_path / "cache.csv")
    rows = csv.DictReader(io.StringIO((tmp_path / "cache.csv").read_text("utf-8-sig")))
    saved = [(int(row["computed"]), int(row["multiplications"])) for row in rows]
    steps = trace["cache"]["steps"]
    assert saved == [(one["computed"], one["multiplications"]) for one in steps]
