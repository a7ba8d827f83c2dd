"""One server and one browser a worker; one page, which every test finds as if new.

A test takes `explorer` (or `page` and `server`) and may use::

    explorer.open("attention", "chat noir", layer=1)     # a panel, its trace there
    explorer.goto("#/translate?text=chat")               # any address, as a link
    explorer.fresh = True                                # the next one with the page loaded anew
    explorer.values(".attention-cell .num")              # numbers in full precision
    trace = server.trace("chat noir")                    # the same trace by HTTP
    server.tensor(trace, "logits", 0)                    # its row 0 as a NumPy array

After each test: no error in the console, and no request has left the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from served_page import (
    FLAGS,
    KEY,
    PATIENCE,
    Explorer,
    Server,
    chromium,
    serving,
    write_models,
    write_run,
)

from translucid.checkpoint.run_directory import RunDirectory
from translucid.files import locked

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
def live_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunDirectory]:
    """A run that trains: step 300 of 500."""
    run = RunDirectory(write_run(tmp_path_factory.mktemp("live") / "run"))
    record = json.loads(run.record_path.read_text())
    record["training"]["max_steps"] = 500
    run.record_path.write_text(json.dumps(record))
    with locked(run.path):
        yield run


@pytest.fixture(scope="session")
def guarded(live_run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that wants a key, and shows the run that trains."""
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(f"{KEY}\n")
    words = ["-m", str(live_run.model), "--run", str(live_run.path), "--api-key-file", str(keys)]
    with serving(words) as found:
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


@pytest.fixture(scope="module")
def _new_page(_explorer: Explorer) -> None:
    """Load the page anew for each file of tests."""
    _explorer.fresh = True


@pytest.fixture
def explorer(
    _explorer: Explorer, _new_page: None, request: pytest.FixtureRequest
) -> Iterator[Explorer]:
    page = _explorer.page
    failed = request.session.testsfailed
    yield _explorer
    faults = _explorer.faults.copy()
    # What a reader has chosen stays with the page, and so does what a failed test has left.
    _explorer.fresh |= bool(faults) or request.session.testsfailed > failed
    if page.url.startswith(_explorer.server.url):
        _explorer.fresh |= page.evaluate("() => localStorage.length + sessionStorage.length > 0")
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.mouse.move(0, 0)  # else it points at something in the next test
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    _explorer.faults.clear()
    assert not faults


@pytest.fixture
def page(explorer: Explorer) -> Page:
    return explorer.page
