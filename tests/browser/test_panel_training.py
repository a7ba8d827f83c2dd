"""Train live: the course of a run, its samples, and the film of one head over checkpoints."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from served_page import KEY, PATIENCE, SENTENCE, Explorer, Server

from translucid.checkpoint.run_directory import RunDirectory
from translucid.events import Trained

RUN = "lesson"
HEAD = {"side": "cross", "layer": 1, "head": 0}


def events(server: Server, kind: str) -> list[dict[str, Any]]:
    lines = server.json(f"v1/runs/{RUN}/events?after=0")["events"]
    return [line for line in lines if line["event"] == kind]


def saved_csv(page: Page, figure: str) -> list[list[str]]:
    """Save a figure as CSV; return its lines without the header."""
    page.locator(f"[data-figure={figure}]").get_by_role("button", name="Save", exact=False).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(text)))[1:]


def entry(page: Page, name: str) -> float:
    number = page.locator(f"[data-entry='{name}'] .num")
    return float(number.get_attribute("data-value") or "")


def test_the_newest_numbers_of_a_run(explorer: Explorer, page: Page, server: Server) -> None:
    explorer.open("training")
    expect(page.locator(".training-state")).to_contain_text("has finished: step 300 of 300")
    trained, validated = events(server, "trained")[-1], events(server, "validated")[-1]
    assert entry(page, "training loss") == math.log(trained["perplexity"])
    assert entry(page, "dev loss") == validated["loss"]
    assert entry(page, "BLEU") == validated["bleu"]
    assert entry(page, "chrF") == validated["chrf"]


def test_charts_have_every_line_of_the_run(explorer: Explorer, page: Page, server: Server) -> None:
    explorer.open("training")
    expect(page.locator(".training-charts .figure")).to_have_count(5)
    trained, validated = events(server, "trained"), events(server, "validated")
    lines = saved_csv(page, "training-loss")
    found = {
        name: [(int(step), float(value)) for step, series, value in lines if series == name]
        for name in ("training", "dev set")
    }
    for name, told in (("training", trained), ("dev set", validated)):
        assert found[name] == [(line["step"], math.log(line["perplexity"])) for line in told]
    rates = [
        (int(step), float(value)) for step, _, value in saved_csv(page, "training-learning-rate")
    ]
    assert rates == [(line["step"], line["learning_rate"]) for line in trained]
    page.get_by_label("loss as perplexity").check()
    lines = saved_csv(page, "training-perplexity")
    assert [float(line[2]) for line in lines if line[1] == "dev set"] == [
        line["perplexity"] for line in validated
    ]


def test_a_step_that_is_picked_in_one_chart_is_marked_in_all(
    explorer: Explorer, page: Page
) -> None:
    explorer.open("training", **{"x-at": 200})
    readouts = page.locator(".training-charts .lines-words")
    expect(readouts).to_have_count(5)
    for number in range(5):
        expect(readouts.nth(number)).to_contain_text("step 200")
    page.locator("[data-figure=training-loss] .lines-box").press("ArrowRight")
    for number in range(5):
        expect(readouts.nth(number)).to_contain_text("step 300")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("x-at=300"))
    page.get_by_role("button", name="Remove the mark").click()
    expect(page).not_to_have_url(re.compile("x-at"))


def test_samples_over_time(explorer: Explorer, page: Page, server: Server) -> None:
    explorer.open("training")
    told = [(line["step"], line["samples"][0]) for line in events(server, "validated")]
    versions = page.locator(".training-samples li")
    expect(versions).to_have_count(len(told))
    for place, (step, sample) in enumerate(told):
        expect(versions.nth(place)).to_contain_text(f"step {step}")
        expect(versions.nth(place).locator(".marked")).to_have_text(sample["translation"])
        marked = versions.nth(place).locator("ins")
        expect(marked).to_have_count(0 if sample["translation"] == sample["reference"] else 1)


def test_the_film_has_the_weights_and_translations_of_every_checkpoint(
    explorer: Explorer, page: Page, server: Server
) -> None:
    explorer.open("training", side="cross", layer=1, head=0)
    page.get_by_role("button", name="Make the film").click()
    film = server.json(f"v1/runs/{RUN}/film", {"text": SENTENCE, "target": "en", **HEAD})
    expect(page.locator(".training-strip li")).to_have_count(3)
    rows = page.locator(".training-translations li")
    for place, frame in enumerate(film["frames"]):
        expect(rows.nth(place)).to_contain_text(f"step {frame['step']}")
        expect(rows.nth(place).locator(".marked")).to_have_text(frame["translation"] or "nothing")
    assert explorer.values(".training-translations .num") == pytest.approx(
        [frame["log_prob"] for frame in film["frames"]], rel=1e-6
    )
    weights = [weight for frame in film["frames"] for row in frame["weights"] for weight in row]
    shown = [float(line[-1]) for line in saved_csv(page, "film")]
    assert shown == pytest.approx(weights, rel=1e-6)


def test_the_film_plays_to_its_end_and_a_link_keeps_the_frame(
    explorer: Explorer, page: Page
) -> None:
    explorer.open("training", **{"x-film": 1, "x-frame": 0})
    pressed = page.locator(".training-strip [aria-pressed=true]")
    expect(pressed).to_have_text("step 100")
    page.locator(".training-film-controls").get_by_role("button", name="Play").click()
    expect(pressed).to_have_text("step 300")
    page.get_by_label("Checkpoint at step").fill("1")
    expect(pressed).to_have_text("step 200")
    expect(page).to_have_url(re.compile("x-frame=1"))
    page.reload()
    expect(pressed).to_have_text("step 200")


def test_a_film_is_accessible_and_fits_a_phone(explorer: Explorer, page: Page) -> None:
    explorer.open("training", **{"x-film": 1})
    expect(page.locator(".training-strip")).to_be_visible()
    assert explorer.axe() == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert explorer.width() <= 320


@pytest.fixture
def page_of_its_own(browser: Browser) -> Iterator[Page]:
    """A page for a server other than that of all tests."""
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE)
        yield context.new_page()


def test_a_run_that_trains_is_followed_even_past_an_outage(
    page_of_its_own: Page, guarded: Server, live_run: RunDirectory
) -> None:
    page = page_of_its_own
    page.add_init_script(f"sessionStorage.setItem('translucid-key', '{KEY}')")
    page.goto(f"{guarded.url}/#/explore/training")
    state = page.locator(".training-state")
    expect(state).to_contain_text("is training: step 300 of 500")
    expect(state).to_contain_text("to go")
    page.context.set_offline(True)
    expect(page.locator(".panel-problem")).to_contain_text("does not answer", timeout=PATIENCE)
    live_run.metrics.add(Trained(400, 0.5, 1.5, 10, 2.0, 1e-3, 1.0, 0))
    page.context.set_offline(False)
    expect(state).to_contain_text("step 400 of 500", timeout=PATIENCE)
    expect(page.locator(".panel-problem")).to_have_count(0)
    assert entry(page, "training loss") == math.log(1.5)


def test_without_a_run_two_commands_are_shown(page_of_its_own: Page) -> None:
    from served import serving as serving_here

    with serving_here() as running:
        page_of_its_own.goto(f"{running.url}/#/explore/training")
        commands = page_of_its_own.locator(".training-none pre")
        expect(commands).to_contain_text("translucid train DATA -o RUN")
        expect(commands).to_contain_text("translucid serve -m RUN --run RUN")
