"""Feed-forward, Add & norm and Space: what is worked out is what the network recorded."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from served_page import Explorer, Server


def test_a_unit_is_worked_out_as_the_network_did(
    explorer: Explorer, page: Page, server: Server
) -> None:
    trace = server.trace()
    inner = server.tensor(trace, "encoder.0.feed_forward.inner", 1)
    explorer.open("feed", side="encoder", query=1)
    page.wait_for_selector(".sublayer-cards .sublayer-line")
    strongest = int(np.abs(inner).argmax())
    expect(page.locator(".bar[data-chosen=true]")).to_contain_text(f"unit {strongest + 1}")
    bent, recorded = explorer.values(".sublayer-cards li:nth-child(2) .num")
    assert bent == pytest.approx(recorded, abs=1e-4)
    assert recorded == pytest.approx(inner[strongest], abs=1e-6)
    page.get_by_label("In dimension").fill("3")
    output = server.tensor(trace, "encoder.0.feed_forward.output", 1)
    total = page.locator(".sublayer-cards li:nth-child(3) .sublayer-line").last.locator(".num")
    expect(page.locator(".sublayer-cards li:nth-child(3) h4")).to_be_visible()
    page.wait_for_function("() => location.hash.includes('x-dim=3')")
    assert float(total.last.get_attribute("data-value") or "") == pytest.approx(output[2], abs=1e-4)


@pytest.mark.parametrize("sublayer", ["self_attention", "cross_attention", "feed_forward"])
def test_sum_and_norm_are_those_of_the_network(
    explorer: Explorer, page: Page, server: Server, sublayer: str
) -> None:
    explorer.open("norm", side="decoder", layer=0, query=2, **{"x-sublayer": sublayer})
    page.wait_for_selector(".sublayer-vectors")
    expect(page.locator(".sublayer-cards .muted").first).to_contain_text("The network recorded")
    for card in page.locator(".sublayer-cards li").all():
        said = card.locator(".muted .num")
        if said.count():
            worked = card.locator(".sublayer-line").last.locator(".num").last
            values = [float(one.get_attribute("data-value") or "") for one in (worked, said)]
            assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_the_parts_of_a_logit_sum_to_it(explorer: Explorer, page: Page, server: Server) -> None:
    trace = server.trace()
    logits = server.tensor(trace, "logits", 1)
    explorer.open("output", step=1)
    page.wait_for_selector(".output-parts")
    written = trace["steps"][1]["token"]["id"]
    assert explorer.values("[data-total] .num") == pytest.approx([logits[written]], abs=1e-3)
    cells = page.locator(".output-part").evaluate_all("all => all.map(one => +one.dataset.value)")
    embedding, *layers, constants, total = explorer.values(".output-parts-sum .num")
    assert sum(cells) == pytest.approx(sum(layers), abs=1e-3)
    assert embedding + sum(layers) + constants == pytest.approx(total, abs=1e-6)
    rival = next(top["id"] for top in trace["steps"][1]["top"] if top["id"] != written)
    page.get_by_label("less that of").select_option(str(rival))
    page.wait_for_function("() => location.hash.includes('x-less')")
    difference = logits[written] - logits[rival]
    assert explorer.values("[data-total] .num") == pytest.approx([difference], abs=1e-3)


def test_distances_in_space_are_the_real_ones(
    explorer: Explorer, page: Page, server: Server
) -> None:
    trace = server.trace()
    states = server.tensor(trace, "encoder.0.output")
    explorer.open("space", side="encoder", layer=0, query=1)
    page.wait_for_selector(".space-near .bar")
    apart = np.linalg.norm(states - states[1], axis=1)
    shown = explorer.values(".space-near .bars:nth-of-type(1) .num")
    assert shown == pytest.approx(sorted(apart)[1 : len(shown) + 1], abs=1e-4)
    before = page.locator(".space-point[aria-pressed=true]").text_content() or ""
    page.locator(".space-point[aria-pressed=true]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".space-point[aria-pressed=true]")).not_to_have_text(before)
    assert explorer.axe() == []
