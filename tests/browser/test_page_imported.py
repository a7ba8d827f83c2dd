"""An imported model in the page: every panel opens, and shows the numbers of its trace."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from served_page import PANELS, PATIENCE, Explorer, Server, serving

import translucid
from marian_directories import write_marian

TEXT = "L'eau est ici, dans la bouteille."


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("imported")
    theirs = write_marian(folder / "theirs", tags=(">>eng<<", ">>deu<<"))
    model = translucid.import_model(theirs, folder / "model")
    with serving(["-m", str(model)]) as found:
        yield found


@pytest.fixture(scope="module")
def opened(imported: Server, browser: Browser) -> Iterator[Explorer]:
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    found = Explorer(context.new_page(), imported)
    found.watch()
    yield found
    context.close()


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens(opened: Explorer, panel: str) -> None:
    page = opened.open(panel, TEXT, target="de")
    expect(page.locator("#panel-title")).not_to_be_empty()
    assert page.locator("[role=alert]").count() == 0
    assert opened.faults == []


def test_the_map_shows_the_probabilities_of_the_trace(opened: Explorer) -> None:
    trace = opened.server.trace(TEXT, target="de")
    assert trace["source_tokens"][0]["piece"] == "→ de"
    opened.open("map", TEXT, target="de")
    best = [math.exp(one["log_prob"]) for one in trace["steps"][0]["top"][:3]]
    assert opened.values("[data-box='decoder.output'] .num") == pytest.approx(best)
    assert opened.faults == []
