"""A real server, a real Chromium, and the page between them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from numpy.typing import NDArray
from playwright.sync_api import ConsoleMessage, Page, Request

from networks import network
from small_translators import write_random_model, write_taught_model
from translucid.checkpoint.model_directory import (
    load_model,
    named_weights,
)
from translucid.checkpoint.run_directory import RunDirectory, RunRecord
from translucid.checksums import write_checksums
from translucid.events import Sample, Trained, Validated
from translucid.training.config import TrainingConfig

SENTENCE = "petit chat noir dort"  # the taught model says it in reverse: sleeps black cat small
TITLES = {
    "guide": "Guide", "map": "Map", "tokens": "Tokens, embeddings, positions",
    "attention": "Attention", "steps": "One head, six steps", "feed": "Feed-forward",
    "norm": "Add & norm", "output": "Output: linear, softmax, token", "search": "Search",
    "cache": "Memory and cache", "pair": "Who decides?", "lens": "Lens and heads",
    "space": "Space", "training": "Training",
}  # fmt: skip
PANELS = tuple(TITLES)
FROM_ONE = ("layer", "head", "query", "step", "tour")  # in addresses; tests count from 0
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
FOLLOW = """async (address) => {
  const click = (hash) => new Promise((resolve) => {
    addEventListener("hashchange", () => setTimeout(resolve), { once: true });
    location.hash = hash;
  });
  await click(location.hash === "#/translate" ? "#/" : "#/translate");
  await click(address === "" ? "#" : address);
}"""
KEY = "a-key-that-is-long-enough"
PATIENCE = 30_000  # milliseconds: long enough for a machine that does much else


def chromium() -> str:
    """Return where Chromium is; where there is none, all browser tests are left out, loudly."""
    places = (os.environ.get("CHROMIUM"), "/usr/bin/chromium", "chromium", "chromium-browser")
    found = next((path for place in places if place and (path := shutil.which(place))), None)
    if found is None:
        pytest.skip(
            "THE BROWSER TESTS WERE NOT RUN: no Chromium. Install it (apt-get install chromium) "
            "or name it in the variable CHROMIUM."
        )
    return found


def write_run(folder: Path) -> Path:
    """Write the folder of a run of three checkpoints; the last of them is the taught network."""
    folder.mkdir()
    run = RunDirectory(folder)
    write_taught_model(run.model)
    (run.model / "provenance.json").write_text(json.dumps({"step": 300}))
    write_checksums(run.model)
    model = load_model(run.model)
    for step, seed in ((100, 1), (200, 2), (300, None)):
        weights = named_weights(model if seed is None else network(model.config, seed))
        run.checkpoints.save(step, {"model": weights}, {})
    record = RunRecord(
        model.config,
        TrainingConfig(max_steps=300).model_dump(mode="json"),
        data="data",
        fingerprint="0",
    )
    run.write_record(record)
    for step in (100, 200, 300):
        sample = Sample("chat noir", "black cat", "black cat" if step == 300 else "cat cat")
        run.metrics.add(Trained(step, 300 / step, 100 / step, 10, 1.0, 1e-3, 1.0, 0))
        run.metrics.add(
            Validated(step, 200 / step, 50 / step, step / 10, step / 5, (), (sample,), True)
        )
    return folder


def write_models(folder: Path) -> list[str]:
    """Write a run whose model is the taught one, and a random one that goes both ways."""
    run = write_run(folder / "lesson")
    both = write_random_model(
        folder / "both",
        generation={"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}},
    )
    return ["-m", f"taught={run / 'model'}", "-m", f"both={both}", "--run", str(run)]


@dataclass(frozen=True)
class Server:
    """A running `translucid serve`."""

    url: str

    def ask(self, path: str, body: Any = None) -> bytes:
        """Send a request and return the body of its answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE / 1000) as answer:
            content: bytes = answer.read()
        return content

    def json(self, path: str, body: Any = None) -> Any:
        """Send a request and return the JSON of its answer."""
        return json.loads(self.ask(path, body))

    def trace(self, text: str = SENTENCE, **fields: Any) -> dict[str, Any]:
        """Make a trace, as the page does."""
        trace: dict[str, Any] = self.json("v1/trace", {"text": text, **fields})
        return trace

    def tensor(self, trace: dict[str, Any], name: str, *at: int) -> NDArray[np.float32]:
        """Return a tensor of a trace; `at` picks leading indices."""
        query = f"?at={','.join(map(str, at))}" if at else ""
        data = self.ask(f"v1/trace/{trace['id']}/tensors/{name}{query}")
        return np.frombuffer(data, "<f4").reshape(trace["tensors"][name][len(at) :])


@contextmanager
def serving(words: Sequence[str], **environment: str) -> Iterator[Server]:
    """Run `translucid serve` on a free port until the end of the block."""
    command = [sys.executable, "-m", "translucid", "serve", "--port", "0", "--quiet", *words]
    with subprocess.Popen(
        [*command, "--threads", "1"],
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
    ) as process:
        assert process.stderr is not None
        told = ""
        while " at http://" not in told:
            line = process.stderr.readline()
            assert line, f"the server did not start: {told}"
            told += line
        try:
            yield Server(told.split(" at ")[-1].strip())
        finally:
            process.terminate()
            process.stderr.read()
            assert process.wait(60) == 0


@dataclass
class Explorer:
    """The page in a browser; whatever goes wrong in it is taken down."""

    page: Page
    server: Server
    faults: list[str] = field(default_factory=list)
    fresh: bool = True  # the next address is opened in a page that is loaded anew

    def watch(self) -> None:
        """Begin to take down errors of the console, and requests that leave the server."""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.server.url + "/", "blob:", "data:")):
            self.faults.append(f"a request left the server: {request.url}")

    def goto(self, address: str) -> Page:
        """Open an address such as ``#/explore/attention?text=chat``, as a link would, and wait.

        The page is loaded anew only where `fresh` says so: its scripts, and traces it has already,
        cost half of the time of all tests. Else a link inside the page is followed, from the empty
        Translate view, in which no panel and no sentence is left.
        """
        if not self.page.url.startswith(f"{self.server.url}/"):
            self.page.goto(f"{self.server.url}/{address}")
        elif self.fresh:
            self.page.evaluate("address => history.replaceState(null, '', address)", f"/{address}")
            self.page.reload()
        else:
            self.page.evaluate(FOLLOW, address)
        self.fresh = False
        self.page.wait_for_selector("#sentence")
        return self.page

    def open(self, panel: str, text: str = SENTENCE, **fields: str | int | float) -> Page:
        """Open a panel on a sentence, and wait for its trace and for the panel.

        Layers, heads and steps count from 0 here, as in the trace.
        """
        fields |= {name: int(fields[name]) + 1 for name in FROM_ONE if name in fields}
        page = self.goto(f"#/explore/{panel}?{urlencode({'text': text, **fields})}")
        self.wait_for_trace()
        page.wait_for_selector("#panel-title")
        return page

    def wait_for_trace(self) -> None:
        """Wait until the trace of the present address is on the page."""
        self.page.wait_for_selector(".sentence-target[data-state=ready]")

    def wait_for_translation(self, text: str) -> None:
        """Wait until the Translate view shows this translation, done."""
        self.page.wait_for_function(
            "text => document.querySelector('#translation')?.innerText === text"
            " && !document.querySelector('.box-text[aria-busy=true]')",
            arg=text,
        )

    def values(self, selector: str) -> list[float]:
        """Return the numbers in full precision that these elements show."""
        script = "found => found.map(one => one.dataset.value)"
        return [float(value) for value in self.page.locator(selector).evaluate_all(script)]

    def width(self) -> int:
        """Return how wide the page's content is: beyond the window, it would scroll sideways."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth")
        return width

    def axe(self) -> list[str]:
        """Return what axe finds wrong with the page as it is."""
        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:200]}"
            for rule in Axe().run(self.page).response["violations"]
            for node in rule["nodes"]
        ]
