"""The map: figure 1 with the numbers of the trace, as the steps go by."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect
from served_page import SENTENCE, Explorer, Server


def state(page: Page, box: str) -> str | None:
    return page.locator(f"[data-box='{box}']").get_attribute("data-state")


def test_the_output_shows_the_probabilities_of_each_step(
    explorer: Explorer, page: Page, server: Server
) -> None:
    trace = server.trace()
    explorer.open("map")
    for number, step in enumerate(trace["steps"]):
        expect(page.locator(".map-now strong")).to_have_text(
            f"Step {number + 1} of {len(trace['steps'])}"
        )
        shown = explorer.values("[data-box='decoder.output'] .num")
        top = [math.exp(one["log_prob"]) for one in step["top"][:3]]
        assert shown == pytest.approx(top, rel=1e-12)
        assert explorer.values(".map-now .num") == pytest.approx([math.exp(step["log_prob"])])
        written = page.locator(".map-rival[data-written=true] .map-rival-name")
        expect(written).to_have_text(step["token"]["piece"].strip())
        page.keyboard.press("ArrowRight")


def test_the_encoder_works_once_and_the_decoder_at_every_step(
    explorer: Explorer, page: Page
) -> None:
    explorer.open("map")
    assert state(page, "encoder.0.self_attention") == "computed"
    assert state(page, "decoder.output") == "computed"
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-box='encoder.0.self_attention']")).to_have_attribute(
        "data-state", "kept"
    )
    assert state(page, "encoder.memory") == "kept"
    assert state(page, "decoder.0.cross_attention") == "computed"


def test_shapes_are_those_of_the_trace(explorer: Explorer, page: Page, server: Server) -> None:
    trace = server.trace()
    explorer.open("map", step=2)
    heads, source, width = trace["tensors"]["encoder.0.self_attention.q"]
    d_model = trace["tensors"]["memory"][1]
    assert heads * width == d_model
    for box, shape in {
        "encoder.0.self_attention": f"{heads} × {source} × {source}",
        "encoder.memory": f"{source} × {d_model}",
        "decoder.0.self_attention": f"{heads} × 1 × 3",
        "decoder.0.cross_attention": f"{heads} × 1 × {source}",
        "decoder.linear": f"1 × {trace['model']['target_vocab_size']}",
    }.items():
        expect(page.locator(f"[data-box='{box}'] .map-shape")).to_have_text(shape)
    read = page.locator("[data-box='decoder.tokens'] .map-chip")
    assert read.all_inner_texts() == [one["piece"].strip() for one in trace["target_tokens"][:3]]


@pytest.mark.parametrize(
    ("box", "address"),
    [
        ("encoder.tokens", r"/explore/tokens\?.*x-stream=source"),
        ("decoder.embedding", r"/explore/tokens\?.*x-stream=target"),
        ("encoder.0.self_attention", r"/explore/attention\?.*side=encoder"),
        ("decoder.1.self_attention", r"/explore/attention\?.*side=decoder&layer=2"),
        ("decoder.1.feed_forward", r"/explore/feed\?.*side=decoder&layer=2"),
        ("encoder.memory", r"/explore/cache"),
        ("decoder.softmax", r"/explore/output"),
        ("decoder.output", r"/explore/output"),
    ],
)
def test_a_box_leads_to_its_panel(explorer: Explorer, page: Page, box: str, address: str) -> None:
    explorer.open("map", layer=1)
    page.locator(f"[data-box='{box}']").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(address))
    page.go_back()
    expect(page.locator(f"[data-box='{box}']")).to_be_visible()


def test_every_box_leads_to_a_panel_whose_heading_names_it(explorer: Explorer, page: Page) -> None:
    explorer.open("map", layer=1)
    boxes = page.locator(".map-drawing button:not(.map-layer)")
    for number in range(boxes.count()):
        told = (boxes.nth(number).get_attribute("aria-label") or "").split(",")[0]
        boxes.nth(number).click()
        heading = page.locator("#panel-title").inner_text().lower()
        # "Masked self-attention" is named by "Attention", "Source tokens" by "Tokens, …".
        words = [word.rstrip("s") for word in re.findall("[a-z]{3,}", told.lower())]
        assert any(word in heading for word in words), (told, heading)
        page.go_back()
        expect(page.locator("#panel-title")).to_have_text("Map")


def test_a_closed_layer_opens_and_leads_on(explorer: Explorer, page: Page) -> None:
    explorer.open("map")
    assert page.locator("[data-box='decoder.1.cross_attention']").count() == 0
    page.get_by_role("button", name="Layer 2, decoder").click()
    page.wait_for_url(re.compile("layer=2"))
    page.locator("[data-box='decoder.1.cross_attention']").click()
    page.wait_for_url(re.compile(r"/explore/attention\?.*layer=2"))
    assert "side=" not in page.url, "cross-attention is the usual side"


def test_every_box_is_a_button_with_a_name(explorer: Explorer, page: Page) -> None:
    explorer.open("map", step=1)
    boxes = page.locator(".map-drawing button")
    names = boxes.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert len(set(names)) == len(names), "each name is of one box"
    assert "Cross-attention, decoder layer 1" in " ".join(names)
    assert all("go to" in name or "open it" in name for name in names)


def test_pointing_at_a_box_shows_its_tensor(explorer: Explorer, page: Page, server: Server) -> None:
    trace = server.trace()
    explorer.open("map")
    for box, tensor in {
        "encoder.memory": "memory",
        "encoder.embedding": "source.embedding",
        "decoder.0.self_attention": "decoder.0.self_attention.weights",
        "encoder.0.feed_forward": "encoder.0.feed_forward.inner",
    }.items():
        page.locator(f"[data-box='{box}']").hover()
        page.wait_for_selector(f"[data-tensor='{tensor}']")
        values = server.tensor(trace, tensor)
        assert explorer.values(".map-ends .num") == pytest.approx(
            [values.min(), values.max()], rel=1e-6
        )
    page.locator("[data-box='decoder.linear']").focus()
    page.mouse.move(0, 0)
    page.wait_for_selector("[data-tensor='logits']")
    logits = server.tensor(trace, "logits", 0)
    assert explorer.values(".map-ends .num") == pytest.approx([logits.min(), logits.max()])


@pytest.fixture
def moving(page: Page) -> Iterator[Page]:
    page.emulate_media(reduced_motion="no-preference")
    yield page
    page.emulate_media(reduced_motion="reduce")


def test_the_token_is_fed_back_and_goes_up(explorer: Explorer, moving: Page) -> None:
    explorer.open("map")
    moving.wait_for_selector("[data-box='decoder.output'][data-state=computed]")
    moving.keyboard.press("ArrowRight")
    moving.wait_for_selector(".map-pulse")
    moving.wait_for_selector("[data-box='decoder.output'][data-state=waiting]")
    moving.wait_for_selector("[data-box='decoder.embedding'][data-state=computed]")
    moving.wait_for_selector("[data-box='decoder.output'][data-state=computed]")
    expect(moving.locator(".map-pulse")).to_have_count(0)


def test_nothing_moves_where_motion_is_reduced(explorer: Explorer, page: Page) -> None:
    explorer.open("map")
    seen = page.evaluate(
        """() => new Promise(resolve => {
            let count = 0;
            const watcher = new MutationObserver(() => {
                count += document.querySelectorAll('.map-pulse').length;
            });
            watcher.observe(document.body, {childList: true, subtree: true});
            document.body.dispatchEvent(
                new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
            requestAnimationFrame(() => requestAnimationFrame(() => resolve(count)));
        })"""
    )
    assert seen == 0
    assert state(page, "encoder.memory") == "kept"


def test_a_phone_draws_the_stacks_below_each_other(explorer: Explorer, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    explorer.open("map")
    order = ["encoder.tokens", "encoder.memory", "decoder.tokens", "decoder.output"]
    boxes = [page.locator(f"[data-box='{box}']").bounding_box() for box in order]
    heights = [box["y"] for box in boxes if box]
    assert len(heights) == len(order)
    assert heights == sorted(heights)


def test_the_map_is_saved_as_picture_and_table(
    explorer: Explorer, page: Page, tmp_path: Path
) -> None:
    explorer.open("map", step=1)
    for ending in ("SVG", "CSV"):
        page.get_by_role("button", name="Save: ").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {ending}").click()
        download.value.save_as(tmp_path / f"map.{ending}")
    words = "".join(ElementTree.parse(tmp_path / "map.SVG").getroot().itertext())
    assert "Cross-attention" in words
    assert f"{SENTENCE} → sleeps black cat small" in words
    rows = list(csv.DictReader(io.StringIO((tmp_path / "map.CSV").read_text("utf-8-sig"))))
    assert {row["state"] for row in rows if row["stack"] == "encoder"} == {"kept"}
    drawn = page.locator(".map-drawing button").count()
    assert len(rows) == drawn
