"""One server and one browser a worker; one page, which every test finds as if new.

A test takes `explorer` (or `page` and `server`) and may use::

    explorer.open("attention", "chat noir", layer=1)     # a panel, its trace there
    explorer.goto("#/translate?text=chat")               # any address, as a link
    explorer.values(".attention-cell .num")              # numbers in full precision
    trace = server.trace("chat noir")                    # the same trace by HTTP
    server.tensor(trace, "logits", 0)                    # its row 0 as a NumPy array

After each test: no error in the console, and no request has left the server.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from served_page import FLAGS, PATIENCE, Explorer, Server, chromium, serving, write_models

WIDE: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments of `translucid serve` for the models and the run of all tests."""
    chromium()
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def server(models: list[str]) -> Iterator[Server]:
    with serving(models) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def _explorer(browser: Browser, server: Server) -> Iterator[Explorer]:
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    context.set_default_timeout(PATIENCE)
    explorer = Explorer(context.new_page(), server)
    explorer.watch()
    yield explorer
    context.close()


@pytest.fixture
def explorer(_explorer: Explorer) -> Iterator[Explorer]:
    page = _explorer.page
    yield _explorer
    faults = _explorer.faults.copy()
    if page.url.startswith(_explorer.server.url):
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.mouse.move(0, 0)  # else it points at something in the next test
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    _explorer.faults.clear()
    assert not faults


@pytest.fixture
def page(explorer: Explorer) -> Page:
    return explorer.page
