"""Tokens and positions: ids, spans and vectors are the trace's."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from served_page import SENTENCE, Explorer, Server


@pytest.mark.parametrize("stream", ["source", "target"])
def test_tokens_have_their_ids_and_spans(
    explorer: Explorer, page: Page, server: Server, stream: str
) -> None:
    trace = server.trace()
    explorer.open("tokens")
    figure = page.locator(f"[data-figure=tokens-{stream}]")
    tokens = trace[f"{stream}_tokens"]
    assert figure.locator(".token-id").all_inner_texts() == [str(one["id"]) for one in tokens]
    for index in (0, 2, len(tokens) - 1):
        figure.locator(".token").nth(index).hover()
        chosen = figure.locator(".tokens-chosen")
        expect(chosen).to_have_attribute("data-token", str(index))
        expect(chosen).to_contain_text(f"id {tokens[index]['id']}")
        start, end = tokens[index]["start"], tokens[index]["end"]
        span = "no characters" if start == end else f"characters {start + 1} to {end}"
        expect(chosen).to_contain_text(span)


def test_symbols_and_the_language_tag_are_explained(explorer: Explorer, page: Page) -> None:
    explorer.open("tokens", "le chat", model="both", target="fr")
    source = page.locator("[data-figure=tokens-source]")
    source.locator(".token").first.hover()
    expect(source.locator(".tokens-chosen")).to_contain_text("Language tag")
    expect(source.locator(".tokens-chosen")).to_contain_text("into French")
    source.locator(".token").last.hover()
    expect(source.locator(".tokens-chosen")).to_contain_text("End symbol")
    source.locator("summary").click()
    expect(source.locator("tbody tr")).to_have_count(source.locator(".token").count())


@pytest.mark.parametrize("stream", ["source", "target"])
def test_the_numbers_under_the_cursor_are_the_tensors(
    explorer: Explorer, page: Page, server: Server, stream: str
) -> None:
    trace = server.trace()
    explorer.open("tokens", SENTENCE, **{"x-stream": stream})
    table = page.get_by_role("application", name="Embedding")
    table.focus()
    for key in ("ArrowDown", "PageDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("[data-place]")).to_have_attribute("data-place", "1,17")
    shown = explorer.values(".tokens-read .num")
    names = (f"{stream}.embedding", f"{stream}.positions", f"{stream}.sum")
    assert shown == [float(server.tensor(trace, name, 1)[17]) for name in names]
    assert shown[0] + shown[1] == pytest.approx(shown[2], abs=1e-6)


def test_the_wavelength_is_that_of_the_position_vectors(
    explorer: Explorer, page: Page, server: Server
) -> None:
    trace = server.trace()
    explorer.open("tokens")
    page.get_by_role("application", name="Positions. 5 tokens").focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    words = page.locator("[data-place='0,8']").inner_text()
    found = re.search(r"sine, wavelength ([\d.]+) positions", words)
    assert found, words
    sines = server.tensor(trace, "source.positions")[:, 8]
    places = np.arange(len(sines))
    assert sines == pytest.approx(np.sin(2 * np.pi * places / float(found[1])), abs=0.01)


def test_positions_can_be_left_out(explorer: Explorer, page: Page) -> None:
    explorer.open("tokens")
    page.get_by_role("button", name="without", exact=True).click()
    page.wait_for_url(re.compile("x-positions=off"))
    expect(page.locator("[data-figure=embedding-source] .tokens-off")).to_have_count(1)
    expect(page.locator("[data-figure=embedding-source]")).to_contain_text(
        "if there were no positions"
    )
    page.get_by_role("button", name="with positions").click()
    expect(page.locator(".tokens-off")).to_have_count(0)


def test_the_factor_of_the_embedding_is_named(
    explorer: Explorer, page: Page, server: Server
) -> None:
    d_model = server.trace()["model"]["d_model"]
    explorer.open("tokens")
    expect(page.locator(".tokens-maps h4").first).to_contain_text(f"√{d_model}")
    assert explorer.values(".tokens-maps h4 .num") == [pytest.approx(d_model**0.5)]


def test_positions_are_compared_by_dot_product(
    explorer: Explorer, page: Page, server: Server
) -> None:
    positions = server.tensor(server.trace(), "source.positions").astype(float)
    explorer.open("tokens")
    page.get_by_role("application", name="Dot products of positions").focus()
    page.keyboard.press("ArrowDown")
    product = positions[1] @ positions[0]
    expect(page.locator("[data-figure=position-similarity-source] .matrix-words")).to_have_text(
        f"positions 2 and 1, distance 1: {product:.2f}"
    )


def test_every_number_is_in_the_saved_table(
    explorer: Explorer, page: Page, server: Server, tmp_path: Path
) -> None:
    trace = server.trace()
    explorer.open("tokens")
    page.get_by_role("button", name="Save: Embedding + position").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    download.value.save_as(tmp_path / "embedding.csv")
    rows = csv.DictReader(io.StringIO((tmp_path / "embedding.csv").read_text("utf-8-sig")))
    sums = [float(row["sum"]) for row in rows]
    assert sums == server.tensor(trace, "source.sum").flatten().tolist()


def test_a_heat_map_is_saved_as_a_picture(explorer: Explorer, page: Page, tmp_path: Path) -> None:
    explorer.open("tokens")
    page.get_by_role("button", name="Save: Embedding + position").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as PNG").click()
    download.value.save_as(tmp_path / "embedding.png")
    assert (tmp_path / "embedding.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "embedding.png").stat().st_size > 2000
