"""SIGHUP under load: a real server takes other models, and no request notices more than that."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve_process import LIMIT, clients, started
from small_translators import write_random_model
from translucid.checkpoint.model_directory import WEIGHTS
from translucid.translator import load

TEXTS = ["The cat sat.", "Où est l'eau ?", "The mat", "The cat sat on the mat.\nOù ?"]
TERMS = {"cat": "mat"}
ENOUGH = 4  # answers of each client before and after the exchange


@dataclass
class Client:
    """Asks the same things again and again, and keeps when, what and what for."""

    ask: Callable[[str], str]
    answers: list[tuple[float, str, str]] = field(default_factory=list)  # when asked, text, answer

    def run(self, stop: threading.Event) -> None:
        for text in itertools.cycle(TEXTS):
            begin = time.monotonic()
            self.answers.append((begin, text, self.ask(text)))
            if stop.is_set():
                return

    def count_since(self, moment: float) -> int:
        return sum(begin >= moment for begin, _, _ in self.answers)


def translate(client: httpx.Client, **options: Any) -> Callable[[str], str]:
    def ask(text: str) -> str:
        answer = client.post("/v1/translate", json={"texts": [text], **options})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["translations"][0]["text"])

    return ask


def stream(client: httpx.Client) -> Callable[[str], str]:
    def ask(text: str) -> str:
        with client.stream("POST", "/v1/translate/stream", json={"text": text}) as answer:
            assert answer.status_code == 200
            *_, last = (line for line in answer.iter_lines() if line.startswith("data: "))
        return str(json.loads(last.removeprefix("data: "))["translation"]["text"])

    return ask


def libretranslate(client: httpx.Client) -> Callable[[str], str]:
    def ask(text: str) -> str:
        answer = client.post("/translate", json={"q": text, "source": "fr", "target": "en"})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["translatedText"])

    return ask


def exchange(folder: Path, other: Path) -> None:
    """Put a copy of another model in a folder's place, as who deploys one does."""
    draft = folder.with_name("draft")
    shutil.copytree(other, draft)
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)


def wait_for_reload(client: httpx.Client, before: str | None) -> dict[str, Any]:
    """Wait for another attempt than the one at a time; return what clients are told of it."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        (model,) = client.get("/v1/models").json()["models"]
        if model["reload"] is not None and model["reload"] != before:
            return dict(model)
    raise AssertionError("the server never reloaded")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)  # between two looks


def measurement(client: httpx.Client, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found, name
    return float(found[1])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models that translate everything differently."""
    place = tmp_path_factory.mktemp("models")
    settings = {"extra_length": 4}  # nonsense has no end of its own
    first, second = (
        write_random_model(place / name, seed=seed, generation=settings)
        for seed, name in enumerate(["first", "second"])
    )
    return first, second


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP on this system")
def test_models_are_exchanged_under_load(models: tuple[Path, Path], tmp_path: Path) -> None:
    translators = [load(model) for model in models]
    plain = [{text: one.translate(text).text for text in TEXTS} for one in translators]
    terms = [{text: one.translate(text, terms=TERMS).text for text in TEXTS} for one in translators]
    assert not {*plain[0].values()} & {*plain[1].values()}
    folder = tmp_path / "served"
    exchange(folder, models[0])
    with (
        started(["-m", str(folder), "--threads", "2"]) as (process, url, log),
        clients(url) as (
            client,
            _,
        ),
    ):
        wait_for(lambda: client.get("/health/ready").status_code == 200)
        # Streams of beams and terms need PyTorch, which the server loads only now, or even after
        # the directory was replaced.
        load_of = [translate(client), translate(client), libretranslate(client), stream(client)]
        asking = [Client(ask) for ask in load_of]
        with_terms = Client(translate(client, terms=TERMS))
        stop = threading.Event()
        with ThreadPoolExecutor(len(asking) + 1) as pool:
            running = [pool.submit(one.run, stop) for one in asking]
            try:
                wait_for(lambda: all(len(one.answers) >= ENOUGH for one in asking))
                exchange(folder, models[1])
                running.append(pool.submit(with_terms.run, stop))
                wait_for(lambda: len(with_terms.answers) >= 1)
                hangup = time.monotonic()
                process.send_signal(signal.SIGHUP)
                model = wait_for_reload(client, None)
                after = time.monotonic()
                every = [*asking, with_terms]
                wait_for(lambda: all(one.count_since(after) >= ENOUGH for one in every))
            finally:
                stop.set()
            for one in running:
                one.result(LIMIT)
        for one, (old, new) in [(each, plain) for each in asking] + [(with_terms, terms)]:
            for begin, text, answer in one.answers:
                assert answer in (old[text], new[text])
                if begin >= after:
                    assert answer == new[text]
            assert one.answers[0][2] == old[one.answers[0][1]]
        assert all(one.answers[0][0] < hangup for one in every)
        assert model["reload"]["outcome"] == "replaced"
        assert model["hash"] == translators[1].hash
        assert model["directory_hash"] == translators[1].directory_hash
        assert model["since"] <= model["reload"]["at"]
        wait_for(lambda: measurement(client, "translucid_models_in_memory") == 1)
        metrics = client.get("/metrics").text
        assert f'hash="{translators[1].hash}"' in metrics
        assert f'hash="{translators[0].hash}"' not in metrics
        assert 'translucid_model_reloads_total{model="served",outcome="replaced"} 1.0' in metrics
        check_failures(process, client, folder, model, log)
        exchange(folder, models[0])
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: translate(client)(TEXTS[0]) == plain[0][TEXTS[0]])
    assert "replaced: its hash is" in "".join(log)


def check_failures(
    process: subprocess.Popen[str],
    client: httpx.Client,
    folder: Path,
    model: dict[str, Any],
    log: list[str],
) -> None:
    """See that a model which cannot be loaded leaves the old one where it is, and is told."""
    known = translate(client)(TEXTS[0])
    process.send_signal(signal.SIGHUP)
    model = wait_for_reload(client, model["reload"])
    assert model["reload"]["outcome"] == "unchanged"
    for fault, words in (
        (flip_a_bit, rf"served/{WEIGHTS}: the content was changed: its SHA-256 is"),
        (shutil.rmtree, r"served does not exist"),
    ):
        fault(folder)
        process.send_signal(signal.SIGHUP)
        model = wait_for_reload(client, model["reload"])
        assert model["reload"]["outcome"] == "failed"
        assert re.match(words, model["reload"]["problem"]), model["reload"]
        assert translate(client)(TEXTS[0]) == known
        assert client.get("/health/ready").status_code == 200
        wait_for(lambda: re.search(words, "".join(log)) is not None)  # noqa: B023 - at once
    name = 'translucid_model_reloads_total{model="served",outcome="failed"}'
    assert measurement(client, name) == 2


def flip_a_bit(folder: Path) -> None:
    content = bytearray((folder / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (folder / WEIGHTS).write_bytes(content)
