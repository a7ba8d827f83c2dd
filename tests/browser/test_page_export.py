"""Pictures and tables that one saves from the page."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page
from served_page import SENTENCE, Explorer

from dark_palette import DARK
from translucid.interpret.figures.colours import LIGHT, Palette

ONE_HEAD = 1  # the second figure of the attention panel
SVG = "{http://www.w3.org/2000/svg}"


def saved(page: Page, kind: str, figure: int = 0) -> bytes:
    """Save a figure of the open panel; return the file."""
    page.locator(".figure-head").get_by_role("button", name="Save").nth(figure).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as {kind}").click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return Path(download.value.path()).read_bytes()


def wait(explorer: Explorer, panel: str) -> Page:
    page = explorer.open(panel, SENTENCE)
    page.wait_for_load_state("networkidle")
    page.wait_for_selector(".figure-head .menu button")
    return page


@pytest.mark.parametrize(("scheme", "palette"), [("light", LIGHT), ("dark", DARK)])
def test_a_picture_stands_alone_in_the_colours_of_the_package(
    explorer: Explorer, scheme: str, palette: Palette
) -> None:
    explorer.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    picture = ElementTree.fromstring(saved(wait(explorer, "attention"), "SVG", ONE_HEAD))
    assert picture.tag == f"{SVG}svg"
    written = "".join(text for found in picture.iter(f"{SVG}text") for text in found.itertext())
    assert all(word in written for word in SENTENCE.split())
    elements = list(picture.iter())
    assert not [one for one in elements if "class" in one.attrib or "style" in one.attrib]
    fills = {one.attrib["fill"] for one in elements if one.attrib.get("fill", "").startswith("#")}
    plain = {getattr(palette, name) for name in ("ground", "ink", "muted", "line", "panel")}
    plain |= {palette.accent, palette.good, palette.masked, *palette.series, "#000000", "#ffffff"}
    assert fills & set(palette.heat)
    assert fills <= plain | set(palette.heat)


def test_a_picture_is_also_saved_as_dots(explorer: Explorer) -> None:
    page = wait(explorer, "attention")
    svg = saved(page, "SVG").decode()
    dots = saved(page, "PNG")
    assert dots.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(dots[at : at + 4], "big") for at in (16, 20))
    sizes = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert sizes is not None
    assert (width, height) == tuple(-(-float(size) * 2 // 1) for size in sizes.groups())


def test_a_table_is_saved_with_its_numbers_in_full(explorer: Explorer) -> None:
    content = saved(wait(explorer, "attention"), "CSV", ONE_HEAD).decode("utf-8-sig")
    header, *rows = csv.reader(io.StringIO(content))
    assert rows
    assert all(len(row) == len(header) for row in rows)
    longest = max(len(field) for row in rows for field in row if re.fullmatch(r"[\d.e-]+", field))
    assert longest > 8
