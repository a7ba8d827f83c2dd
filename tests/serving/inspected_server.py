"""A real server in this process, for tests of what looks inside: taught and random models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from small_traces import random_translator, taught_translator
from translucid.engines import Engines
from translucid.serving.app import create_app
from translucid.serving.config import ServingConfig
from translucid.serving.served_models import ServedModel, ServedModels
from translucid.translator import Translator


def tagged_translator() -> Translator:
    """A random network that has two target languages."""
    plain = random_translator()
    languages = {"directions": [("fr", "en"), ("fr", "de")], "tags": {"en": 4, "de": 5}}
    generation = plain.generation.replace(**languages)
    return Translator("tagged", plain.tokenizer, plain.engines, generation)


@contextmanager
def running(*, runs: Sequence[Path] = (), **settings: Any) -> Iterator[TestClient]:
    """Serve the taught model, a random one with tags, and some runs; return a client."""
    both = Translator(
        "both",
        taught_translator().tokenizer,
        Engines.of(taught_translator().members * 2),
        taught_translator().generation,
    )
    models = [
        ServedModel("taught", taught_translator()),
        ServedModel("tagged", tagged_translator()),
        ServedModel("both", both),
    ]
    app = create_app(ServedModels(models), ServingConfig(**settings), runs)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def problem(answer: Any, status: int, kind: str) -> str:
    """Return the detail of an answer, which must be this problem."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert (told["status"], told["type"]) == (status, f"/problems/{kind}")
    detail: str = told["detail"]
    return detail
