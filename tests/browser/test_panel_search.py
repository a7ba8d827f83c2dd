"""The search panel: the tree is the trace's, and the score written out comes to the node's."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from served_page import Explorer, Server

from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import length_penalty


def show(explorer: Explorer, **address: str | int | float) -> Page:
    page = explorer.open("search", **address)
    expect(page.locator("[role=treeitem]").first).to_be_visible()
    expect(page.locator(".search-version")).to_have_count(2)
    return page


def trace_of(server: Server, model: str = "taught", **search: object) -> dict[str, Any]:
    return server.trace(model=model, target="en", search={"method": "beam", **search})


def boxes(page: Page) -> dict[int, tuple[float, float]]:
    """Return log P and score of every box that is shown."""
    found = page.locator("[role=treeitem]").evaluate_all(
        """boxes => boxes.map(box => [
            Number(box.dataset.node),
            ...[...box.querySelectorAll('.num')].map(number => Number(number.dataset.value)),
        ])"""
    )
    return {int(node): (log_prob, score) for node, log_prob, score in found}


def part(page: Page, name: str) -> float:
    number = page.locator(f"[data-part={name}] .num")
    return float(number.get_attribute("data-value") or "")


def numbers(trace: dict[str, Any]) -> dict[int, tuple[float, float]]:
    nodes = enumerate(trace["tree"]["nodes"])
    return {number: (node["log_prob"], node["score"]) for number, node in nodes if number}


def path_of(trace: dict[str, Any], number: int) -> list[int]:
    nodes = trace["tree"]["nodes"]
    path: list[int] = []
    while nodes[number]["parent"] is not None:
        path.insert(0, number)
        number = nodes[number]["parent"]
    return path


def test_the_boxes_are_the_candidates_of_the_trace(explorer: Explorer, server: Server) -> None:
    page = show(explorer)
    trace = trace_of(server)
    nodes = trace["tree"]["nodes"]
    shown = boxes(page)
    followed = {number for number in numbers(trace) if nodes[number]["status"] != "dropped"}
    assert set(shown) == followed
    assert shown == {number: numbers(trace)[number] for number in followed}
    won = page.locator("[data-won]").evaluate_all("boxes => boxes.map(b => +b.dataset.node)")
    assert sorted(won) == path_of(trace, trace["tree"]["results"][0])


def test_dropped_candidates_unfold(explorer: Explorer, server: Server) -> None:
    page = show(explorer)
    before = set(boxes(page))
    page.get_by_role("button", name="Show dropped").click()
    expect(page.locator("[data-status=dropped]").first).to_be_visible()
    trace = trace_of(server)
    more = set(boxes(page)) - before
    assert {trace["tree"]["nodes"][number]["status"] for number in more} == {"dropped"}
    assert "x-dropped=4" in page.url


@pytest.mark.parametrize("search", [{}, {"beam": 3, "length_penalty": 1.5}])
def test_the_score_is_written_out_for_the_chosen_box(
    explorer: Explorer, server: Server, search: dict[str, float]
) -> None:
    trace = trace_of(server, **search)
    fields = {"beam": search.get("beam"), "alpha": search.get("length_penalty"), "method": "beam"}
    page = show(explorer, **{name: value for name, value in fields.items() if value is not None})
    settings = SearchConfig(**{"method": "beam", **search})
    for number in list(boxes(page))[:6]:
        page.locator(f"[data-node='{number}']").click()
        expect(page.locator(f"[data-node='{number}']")).to_have_attribute("aria-selected", "true")
        path = path_of(trace, number)
        total = sum(trace["tree"]["nodes"][one]["log_prob"] for one in path)
        assert part(page, "log-prob") == pytest.approx(total, rel=1e-9)
        assert part(page, "penalty") == pytest.approx(length_penalty(len(path), settings), rel=1e-9)
        assert part(page, "score") == trace["tree"]["nodes"][number]["score"]
        assert part(page, "score") == pytest.approx(
            part(page, "log-prob") / part(page, "penalty"), rel=1e-6
        )


def test_width_and_penalty_are_set_here(explorer: Explorer, server: Server) -> None:
    page = show(explorer)
    page.locator("#search-beam").fill("2")
    page.locator("#search-beam").press("Enter")
    expect(page.locator("[data-figure=search-beam] h3")).to_have_text("Beam of 2")
    page.locator("#search-alpha").fill("1.2")
    trace = trace_of(server, beam=2, length_penalty=1.2)
    end = trace["tree"]["results"][0]
    score = page.locator(f"[data-end='{end}'] .num").last
    expect(score).to_have_attribute("data-value", str(trace["tree"]["nodes"][end]["score"]))
    assert "beam=2" in page.url
    assert "alpha=1.2" in page.url


def test_arrow_keys_go_from_box_to_box(explorer: Explorer, server: Server) -> None:
    page = show(explorer)
    trace = trace_of(server)
    won = path_of(trace, trace["tree"]["results"][0])
    page.locator(f"[data-node='{won[0]}']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(f"[data-node='{won[1]}']")).to_be_focused()
    assert "step=2" in page.url
    page.keyboard.press("ArrowDown")
    below = focused(page, trace)
    assert below["step"] == 2
    page.keyboard.press("ArrowLeft")
    assert focused(page, trace) == trace["tree"]["nodes"][below["parent"]]


def focused(page: Page, trace: dict[str, Any]) -> dict[str, Any]:
    """Return the node that has the focus, and check that its score is written out below."""
    box = page.locator("[role=treeitem]:focus")
    expect(box).to_have_attribute("aria-selected", "true")
    node: dict[str, Any] = trace["tree"]["nodes"][int(box.get_attribute("data-node") or "")]
    assert part(page, "score") == node["score"]
    return node


def test_the_tree_grows_with_the_steps(explorer: Explorer, server: Server) -> None:
    page = show(explorer, step=1)
    everything = len(boxes(page))
    page.get_by_label("Only up to the current step").check()
    levels = page.locator("[role=treeitem]").evaluate_all("all => all.map(b => +b.ariaLevel)")
    assert max(levels) == 2
    page.get_by_label("Only up to the current step").uncheck()
    expect(page.locator("[role=treeitem]")).to_have_count(everything)


@pytest.mark.parametrize("model", ["taught", "both"])
def test_greedy_and_beam_are_compared(explorer: Explorer, server: Server, model: str) -> None:
    page = show(explorer, model=model, target="en")
    greedy = trace_of(server, model, method="greedy")
    beam = trace_of(server, model)
    shown = page.locator(".search-version-numbers").evaluate_all(
        "lines => lines.map(line => Number(line.querySelector('.num').dataset.value))"
    )
    assert shown == pytest.approx([greedy["log_prob"], beam["log_prob"]])
    tokens = [[step["token"]["id"] for step in trace["steps"]] for trace in (greedy, beam)]
    if tokens[0] == tokens[1]:
        words, forks = "the same translation", 0
    else:
        words, forks = "than the greedy one", 2
    expect(page.locator(".search-verdict")).to_contain_text(words)
    expect(page.locator("[data-fork]")).to_have_count(forks)
    if forks:
        apart = next(at for at, pair in enumerate(zip(*tokens, strict=False)) if pair[0] != pair[1])
        page.get_by_role("button", name=f"Go to step {apart + 1}").click()
        expect(page.locator(".search-step")).to_contain_text(f"Step {apart + 1}:")


def test_both_trees_can_be_seen_and_saved(
    explorer: Explorer, server: Server, tmp_path: Path
) -> None:
    page = show(explorer)
    page.get_by_role("button", name="Both").click()
    expect(page.locator("[role=tree]")).to_have_count(2)
    with page.expect_download() as download:
        page.locator("[data-figure=search-beam] .figure-head button").last.click()
        page.get_by_role("button", name="Save as CSV").click()
    path = tmp_path / "tree.csv"
    download.value.save_as(path)
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))
    saved = {int(row["node"]): (float(row["log P"]), float(row["score"])) for row in rows}
    del saved[0]
    assert saved == numbers(trace_of(server))
