"""Models that replace others while the server runs, seen from inside the process."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_engines import in_loop, until

from served import Running, serving
from small_translators import write_random_model, write_taught_model
from translucid.serving import reload
from translucid.serving.app import create_app
from translucid.serving.config import ServingConfig
from translucid.serving.engine.engine import Engine
from translucid.serving.served_models import ServedModel, ServedModels
from translucid.serving.server import Server, bind_socket
from translucid.translator import load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_taught_model(tmp_path / "taught")


@pytest.fixture
def server(folder: Path) -> Iterator[Running]:
    with serving(models=ServedModels.load([folder])) as running:
        yield running


def reload_models(server: Running) -> str:
    """Reload, and return what became of it."""
    state = server.state
    state.reloads.clear()
    server.reload()
    while not state.reloads:
        server.client.get("/health/live")
    return state.reloads["taught"].outcome


def test_a_trace_of_a_replaced_model_keeps_its_numbers(server: Running, folder: Path) -> None:
    place = server.post("/v1/trace", {"text": "chat noir", "level": "full"}).headers["location"]
    before = server.client.get(place).json()
    assert server.client.get(f"{place}/lens").status_code == 200
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    write_random_model(folder)
    assert reload_models(server) == "replaced"
    assert server.client.get(place).json() == before
    assert server.client.get(f"{place}/file").status_code == 200
    for part in ("lens", "page"):
        detail = server.problem(server.client.get(f"{place}/{part}"), 410, "model-replaced")
        assert "'taught' was replaced after it made this trace" in detail
    shutil.rmtree(folder)
    kept.rename(folder)
    assert reload_models(server) == "replaced"
    assert server.client.get(f"{place}/lens").status_code == 200  # the same model is back


def test_a_model_that_came_from_no_directory_is_kept(folder: Path) -> None:
    with serving(models=ServedModels([ServedModel("taught", load(folder))])) as server:
        assert reload_models(server) == "kept"


def test_a_model_without_checksums_is_replaced_by_what_is_there(folder: Path) -> None:
    (folder / "checksums.json").unlink()
    with serving(models=ServedModels.load([folder])) as server:
        assert reload_models(server) == "replaced"
        (model,) = server.client.get("/v1/models").json()["models"]
        assert model["directory_hash"] is None


def test_one_bad_model_keeps_no_other_from_being_replaced(folder: Path, tmp_path: Path) -> None:
    other = write_random_model(tmp_path / "other", generation={"directions": [("en", "fr")]})
    with serving(models=ServedModels.load([folder, other])) as server:
        hashes = [one.hash for one in server.state.models]
        shutil.rmtree(folder)
        write_random_model(other, seed=1, generation={"directions": [("en", "de")]})
        assert reload_models(server) == "failed"
        while len(server.state.reloads) < 2:
            server.client.get("/health/live")
        first, second = server.client.get("/v1/models").json()["models"]
        assert first["hash"] == hashes[0]
        assert first["reload"]["problem"].startswith("taught does not exist")
        assert second["hash"] not in hashes
        assert second["directions"] == [["en", "de"]]
        assert second["reload"]["outcome"] == "replaced"
        codes = [one["code"] for one in server.client.get("/languages").json()]
        assert codes == ["de", "en", "fr"]


def test_a_model_that_could_not_translate_is_mended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm = reload._warm

    async def fail(*_: object) -> None:
        monkeypatch.setattr(reload, "_warm", warm)
        raise ZeroDivisionError

    monkeypatch.setattr(reload, "_warm", fail)
    state = create_app(ServedModels.load([folder]), ServingConfig()).state.server

    async def course() -> None:
        state.started = Engine(state.settings, state.metrics.count_event)
        await reload.warm_up(state)
        assert "ZeroDivisionError" in state.readiness.fault
        assert not state.readiness.ready
        state.reloader.request()
        state.reloader.request()  # one more: the second waits for the first
        await until(lambda: state.readiness.ready)
        assert state.readiness.fault is None
        await state.started.drain()

    in_loop(course)


def test_a_server_that_drains_loads_nothing(folder: Path) -> None:
    state = create_app(ServedModels.load([folder]), ServingConfig()).state.server
    state.in_flight.drain()
    state.reloader.request()  # which would need an event loop


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd's sockets are Unix's")
def test_systemd_is_told_once_the_models_are_warm(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(address))
        systemd.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(address))
        with serving(models=ServedModels.load([folder])):
            assert systemd.recv(100) == b"READY=1"


def test_a_server_in_the_background_is_reloaded_by_its_program(folder: Path) -> None:
    told: list[str] = []
    app = create_app(ServedModels.load([folder]), ServingConfig())
    with Server(app, bind_socket("127.0.0.1", 0), told.append) as server:
        server.start()
        write_random_model(folder)
        server.reload()
        while not app.state.server.reloads:
            pass
        assert app.state.server.models.default.hash == load(folder).hash


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals differ")
def test_a_server_ends_with_its_terminal(folder: Path) -> None:
    import pty

    process, terminal = pty.fork()
    if process == 0:
        command = [sys.executable, "-m", "translucid", "serve", "-m", str(folder), "--port", "0"]
        os.execv(sys.executable, command)
    told = b""
    while b"Serving" not in told:
        told += os.read(terminal, 1000)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
