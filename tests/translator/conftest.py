"""Translators for these tests, made once a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_translators import write_random_model, write_taught_model
from translucid.translator import Translator, load


@pytest.fixture(scope="session")
def taught_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_taught_model(tmp_path_factory.mktemp("taught") / "taught")


@pytest.fixture(scope="session")
def taught(taught_folder: Path) -> Translator:
    """A network that says twelve French words in English, in reverse."""
    return load(taught_folder)


@pytest.fixture(scope="session")
def random_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("random") / "random")


@pytest.fixture(scope="session")
def babbling(random_folder: Path) -> Translator:
    """A network that was never trained, with BPE and bytes: it may write anything."""
    return load(random_folder)
