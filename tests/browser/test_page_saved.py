"""The page saved as one file: opened from disk, offline, with every panel and no request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from served_page import PANELS, PATIENCE, SENTENCE, TITLES, Explorer, Server, write_run

from saved_pages import saved_content, saved_tensors
from translucid.checkpoint.run_directory import RunDirectory
from translucid.interpret.explain import explain
from translucid.interpret.film import load_checkpoint, record_frames
from translucid.interpret.page import SavedRun, notebook, saved_page
from translucid.translator import load

EVIL = '<img src=x onerror="document.title=1"> </script><script>document.title=2</script> <!--'
SIZES: tuple[ViewportSize, ...] = (
    {"width": 1440, "height": 900},
    {"width": 1280, "height": 720},
    {"width": 390, "height": 800},
)


@dataclass
class Opened:
    """A saved page in a browser without a network; whatever goes wrong in it is taken down."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def open(self, panel: str, **fields: str | int) -> Page:
        """Go to a panel by its link."""
        query = "&".join(f"{name}={value}" for name, value in fields.items())
        self.page.evaluate("hash => { location.hash = hash }", f"#/explore/{panel}?{query}")
        self.page.wait_for_selector("#panel-title")
        return self.page


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Opened]:
    """Open a file offline; after the block, nothing may have gone wrong or been asked for."""
    context = browser.new_context(viewport=SIZES[0], reduced_motion="reduce", offline=True)
    context.set_default_timeout(PATIENCE)
    found = Opened(context.new_page())
    found.page.on("console", lambda message: found.faults.append(f"console: {message.text}"))
    found.page.on("pageerror", lambda error: found.faults.append(f"page error: {error}"))
    found.page.on("request", lambda request: found.faults.append(f"request: {request.url}"))
    found.page.goto(address)
    asked = [fault for fault in found.faults if not re.match(r"request: (data|blob):", fault)]
    assert asked == [f"request: {address}"]
    found.faults.clear()
    try:
        yield found
        found.page.wait_for_timeout(100)
        assert not [one for one in found.faults if not re.match(r"request: (data|blob):", one)]
    finally:
        context.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved pages")  # with a space, as people's folders have


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    return write_run(folder / "run")


@pytest.fixture(scope="module")
def saved(folder: Path, run: Path) -> Path:
    """A page with a run in it, as `translucid explain --run` writes it."""
    translator = load(run)
    trace = explain(translator, SENTENCE)
    steps = (
        (step, load_checkpoint(RunDirectory(run), step, translator)) for step in (300, 200, 100)
    )
    frames = tuple(record_frames(steps, SENTENCE, target=None))[::-1]
    shown = SavedRun.read(RunDirectory(run), frames, translator.directions)
    page = saved_page(trace, translator=translator, target="en", run=shown)
    (folder / "inside.html").write_text(page.html, encoding="utf-8")
    return folder / "inside.html"


@pytest.fixture(scope="module")
def file(browser: Browser, saved: Path) -> Iterator[Opened]:
    with opened(browser, saved.as_uri()) as found:
        yield found


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_is_drawn_without_a_server(file: Opened, panel: str) -> None:
    page = file.open(panel)
    expect(page.locator(".sentence-target")).to_have_text("sleeps black cat small")
    expect(page.locator("#sentence")).to_have_value(SENTENCE)
    for size in SIZES:
        page.set_viewport_size(size)
        page.wait_for_timeout(50)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.set_viewport_size(SIZES[0])
    expect(page.locator(".notice, .panel-problem, .panel-waiting")).to_have_count(0)
    if panel not in ("guide", "training", "pair"):
        expect(page.locator("#content figure").first).to_be_visible()


def test_numbers_are_those_of_the_trace(file: Opened, saved: Path) -> None:
    html = saved.read_text(encoding="utf-8")
    weights = saved_tensors(html)["decoder.1.cross_attention.weights"][2]
    page = file.open("attention", side="cross", layer=2, head=3)
    page.wait_for_selector(".attention-facts")
    (found,) = [
        one
        for one in saved_content(html)["trace"]["heads"]
        if (one["side"], one["layer"], one["head"]) == ("cross", 1, 2)
    ]
    shown = page.locator("[data-fact=entropy] .num").get_attribute("data-value")
    assert float(shown or "") == pytest.approx(found["entropy"])
    expected = -(weights * np.log(weights)).sum(axis=1).mean()
    assert found["entropy"] == pytest.approx(expected, rel=1e-5)
    page.get_by_role("button", name="Rollout").click()
    expect(page.locator("#content")).to_contain_text("attention rollout over all layers")
    page.get_by_role("button", name="Mean of the layer").click()
    expect(page.locator("#content")).to_contain_text("mean of its heads")


def test_steps_are_played_and_panels_are_changed_by_keys(file: Opened) -> None:
    page = file.open("output")
    page.get_by_role("button", name="Forward").click()
    expect(page.locator(".timeline-count")).to_have_text("step 2 of 5")
    expect(page.locator(".output-table")).to_be_visible()
    page.locator("body").press("0")
    expect(page.locator("#panel-title")).to_have_text(TITLES["cache"])
    page.go_back()
    expect(page.locator("#panel-title")).to_have_text(TITLES["output"])
    page.locator("body").press("t")  # there is no other view
    expect(page.locator("#panel-title")).to_have_text(TITLES["output"])


def test_what_needs_the_network_is_hidden_or_says_so(file: Opened) -> None:
    page = file.open("output")
    expect(page.get_by_text("It cannot compute: to translate other sentences")).to_be_visible()
    expect(page.get_by_role("link", name="Translate")).to_have_count(0)
    expect(page.get_by_role("button", name="Save as one file")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("Share|Search:|Force"))).to_have_count(0)
    expect(page.locator("#sentence")).to_have_attribute("readonly", "")
    file.open("lens")
    missing = page.locator(".saved-missing")
    expect(missing).to_have_text(re.compile("cannot switch heads off.*Start translucid serve"))
    expect(page.get_by_text("Logit lens", exact=True)).to_be_visible()
    file.open("search")
    expect(page.locator("#search-beam")).to_have_count(0)
    expect(page.get_by_role("button", name="Greedy")).to_be_visible()
    page.evaluate("location.hash = '#/explore/map?text=autre&prefix=30&without=cross.1.1&beam=9'")
    expect(page.locator("#sentence")).to_have_value(SENTENCE)
    expect(page.locator(".changes")).to_have_count(0)


def test_the_run_that_was_saved_is_shown(file: Opened) -> None:
    page = file.open("training")
    expect(page.locator("#content")).to_contain_text("has finished")
    page.wait_for_selector(".training-strip li")
    expect(page.locator(".training-strip li")).to_have_count(3)
    expect(page.locator(".training-translations")).to_contain_text("sleeps black cat small")


def test_the_tour_works_on_the_saved_sentence(file: Opened) -> None:
    page = file.open("guide")
    page.get_by_role("button", name="Start the tour").click()
    for _ in range(4):
        page.get_by_role("button", name="Next").click()
    expect(page.locator(".sentence-target")).to_have_text("sleeps black cat small")
    page.locator("body").press("Escape")


def test_a_figure_is_saved_from_a_saved_page(file: Opened) -> None:
    page = file.open("attention")
    page.get_by_role("button", name="Save", exact=False).first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as SVG").click()
    assert "<svg" in Path(download.value.path()).read_text(encoding="utf-8")


def test_hostile_text_is_inert(browser: Browser, run: Path, folder: Path) -> None:
    translator = load(run)
    page = saved_page(explain(translator, EVIL, given=EVIL), translator=translator, address=EVIL)
    path = folder / "evil.html"
    path.write_text(page.html, encoding="utf-8")
    with opened(browser, path.as_uri()) as found:
        for panel in PANELS:
            found.open(panel)
            found.page.wait_for_timeout(100)
            assert found.page.locator("#sentence").input_value() == EVIL
            expect(found.page.locator("img[onerror]")).to_have_count(0)
            assert "Translucid" in found.page.title()


def test_a_light_trace_says_what_it_lacks(browser: Browser, run: Path, folder: Path) -> None:
    path = folder / "light.html"
    path.write_text(saved_page(explain(load(run), SENTENCE, level="light")).html, encoding="utf-8")
    with opened(browser, path.as_uri()) as found:
        for panel in ("output", "steps", "tokens"):
            page = found.open(panel)
            expect(page.locator(".saved-missing").first).to_contain_text("not in this trace")
        page = found.open("lens")
        expect(page.locator(".saved-missing")).to_have_count(2)
        page = found.open("training")
        expect(page.locator(".saved-missing")).to_contain_text("without a run")
        page = found.open("attention")
        expect(page.locator(".attention-small").first).to_be_visible()
        page = found.open("map")
        expect(page.locator("#content figure").first).to_be_visible()


def test_the_page_works_in_the_frame_of_a_notebook(
    browser: Browser, run: Path, folder: Path
) -> None:
    path = folder / "notebook.html"
    path.write_text(f"<!doctype html>{notebook(explain(load(run), SENTENCE))}", encoding="utf-8")
    with opened(browser, path.as_uri()) as found:
        frame = found.page.frame_locator("iframe")
        expect(frame.locator("#panel-title")).to_have_text("Map")
        frame.get_by_role("link", name="Attention").click()
        expect(frame.locator("#panel-title")).to_have_text("Attention")
        expect(frame.locator(".attention-small").first).to_be_visible()


def test_the_button_saves_the_file_that_python_writes(
    explorer: Explorer, server: Server, browser: Browser
) -> None:
    page = explorer.open("attention", SENTENCE, side="cross", layer=1, head=1, beam=2)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as one file").click()
    assert download.value.suggested_filename == "petit-chat-noir-dort.html"
    path = Path(download.value.path())
    content = saved_content(path.read_text(encoding="utf-8"))
    assert content["trace"]["search"]["beam"] == 2
    trace = server.trace(search={"beam": 2, "n_best": 1})
    direct = server.ask(f"v1/trace/{trace['id']}/page").decode()
    assert saved_content(direct)["trace"] == content["trace"]
    for name, tensor in saved_tensors(direct).items():
        np.testing.assert_array_equal(tensor, saved_tensors(path.read_text(encoding="utf-8"))[name])
    copy = path.with_suffix(".html")
    path.rename(copy)
    with opened(browser, copy.as_uri()) as found:
        expect(found.page.locator("#panel-title")).to_have_text("Attention")
        expect(found.page.locator(".attention-small[aria-pressed=true]")).to_have_attribute(
            "data-layer", "1"
        )


def test_a_changed_translation_is_saved_with_its_change(
    explorer: Explorer, browser: Browser
) -> None:
    page = explorer.open("lens", SENTENCE, without="cross.1.2")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as one file").click()
    copy = Path(download.value.path()).with_suffix(".html")
    Path(download.value.path()).rename(copy)
    with opened(browser, copy.as_uri()) as found:
        expect(found.page.locator(".changes")).to_contain_text("Heads off: cross 1.2")
        expect(found.page.get_by_role("button", name="All on")).to_have_count(0)


def test_a_saved_page_has_no_fault_of_access(file: Opened) -> None:
    for panel in ("map", "lens"):
        page = file.open(panel)
        page.wait_for_timeout(200)
        assert not Explorer(page, Server("")).axe()
