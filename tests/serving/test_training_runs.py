"""Training runs as a server shows them: while they train, when they are killed, and afterwards."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from inspected_server import problem, running

from networks import network
from small_traces import SENTENCE
from small_translators import write_taught_model
from translucid.checkpoint.model_directory import (
    load_model,
    named_weights,
)
from translucid.checkpoint.run_directory import RunDirectory, RunRecord
from translucid.checksums import write_checksums
from translucid.errors import DataError, InputError
from translucid.events import Trained, Validated
from translucid.files import is_locked, locked
from translucid.interpret.film import record_frames
from translucid.serving.config import ServingConfig
from translucid.serving.routes.runs import EventsAnswer, FilmAnswer, RunsAnswer
from translucid.serving.runs import FilmRequest, Films, Run, Runs, read_events
from translucid.training.config import TrainingConfig

HOLD = """
import sys
from pathlib import Path
from translucid.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
FILM = {"text": SENTENCE, "side": "cross", "layer": 1, "head": 2}


def trained(step: int) -> Trained:
    return Trained(step, 2.0, 100 / step, 10, 1.0, 1e-3, 1.0, 0)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of three checkpoints; the last of them is the taught network."""
    folder = tmp_path_factory.mktemp("runs") / "lesson"
    run = RunDirectory(folder)
    folder.mkdir()
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
        run.metrics.add(trained(step))
        run.metrics.add(Validated(step, 1 / step, 1.0, 1.0, 1.0, (), (), False))
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy of that run, to be changed."""
    return Path(shutil.copytree(original, tmp_path / "lesson"))


@pytest.fixture(scope="module")
def client(original: Path) -> Iterator[TestClient]:
    with running(runs=[original]) as found:
        yield found


def test_the_state_follows_the_lock_the_model_and_the_course(folder: Path) -> None:
    (run,) = Runs([folder])
    assert run.state() == "finished"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        assert run.state() == "training"
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        assert (folder / ".lock").exists()  # what a killed process leaves means nothing
        assert run.state() == "finished"
    RunDirectory(folder).metrics.add(trained(310))  # resumed, and then stopped before its end
    assert run.state() == "stopped"
    shutil.rmtree(folder / "model")
    assert run.state() == "stopped"


def test_looking_for_a_lock_leaves_the_folder_free(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    assert not list(tmp_path.iterdir())
    with locked(tmp_path):
        assert is_locked(tmp_path)
        assert is_locked(tmp_path)
    (tmp_path / ".lock").touch()
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path / "none")


def test_runs_are_listed_with_what_was_asked_for(client: TestClient, original: Path) -> None:
    answer = client.get("/v1/runs")
    (run,) = answer.json()["runs"]
    assert RunsAnswer.model_validate_json(answer.content).model_dump(mode="json") == answer.json()
    record = json.loads((original / "run.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", run.pop("started"))
    assert run == {
        "name": "lesson",
        "state": "finished",
        "step": 300,
        "max_steps": 300,
        "directions": [["fr", "en"]],
        "settings": {"model": record["model"], "training": record["training"]},
    }


def test_events_come_as_they_are_and_once(client: TestClient, original: Path) -> None:
    lines = (original / "metrics.jsonl").read_text().splitlines()
    whole = client.get("/v1/runs/lesson/events")
    assert whole.headers["cache-control"] == "no-store"
    told = EventsAnswer.model_validate_json(whole.content).model_dump()
    assert told["events"] == [json.loads(line) for line in lines]
    assert told["next"] == (original / "metrics.jsonl").stat().st_size
    assert (told["state"], told["more"], told["restarted"]) == ("finished", False, False)
    again = client.get("/v1/runs/lesson/events", params={"after": told["next"]}).json()
    assert (again["events"], again["next"]) == ([], told["next"])
    later = client.get("/v1/runs/lesson/events", params={"after": len(lines[0]) + 1}).json()
    assert later["events"] == told["events"][1:]
    for after in ("-1", "x", str(2**70)):
        answer = client.get("/v1/runs/lesson/events", params={"after": after})
        assert "after" in problem(answer, 422, "invalid-fields")


def test_a_line_that_is_being_written_comes_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert read_events(path, 0).next == 0
    first, second = b'{"step": 1}\n', b'{"step": 2}\n'
    for cut in range(len(second)):
        path.write_bytes(first + second[:cut])
        chunk = read_events(path, 0)
        assert (chunk.events, chunk.next, chunk.more) == (({"step": 1},), len(first), False)
        assert read_events(path, chunk.next).events == ()
    path.write_bytes(first + second)
    assert read_events(path, len(first)).events == ({"step": 2},)


def test_a_long_course_comes_in_chunks_of_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"step": step, "text": "x" * (step % 70)}) for step in range(100)]
    path.write_text("\n".join(lines) + "\n")
    found: list[dict[str, Any]] = []
    after, more, chunks = 0, True, 0
    while more:
        chunk = read_events(path, after, most=64)  # shorter than some of the lines
        assert chunk.next > after
        found += chunk.events
        after, more, chunks = chunk.next, chunk.more, chunks + 1
    assert found == [json.loads(line) for line in lines]
    assert after == path.stat().st_size
    assert chunks > 50


def test_a_run_that_has_dropped_its_last_lines_is_told_from_the_beginning(folder: Path) -> None:
    metrics = RunDirectory(folder).metrics
    before = read_events(metrics.path, 0)
    metrics.cut(100)
    chunk = read_events(metrics.path, before.next)
    assert chunk.restarted
    assert chunk.events == before.events[:2]
    assert chunk.next < before.next
    metrics.add(trained(101))
    assert not read_events(metrics.path, chunk.next).restarted
    assert read_events(metrics.path, chunk.next - 1).restarted  # no end of a line
    metrics.path.unlink()
    assert read_events(metrics.path, chunk.next).restarted


def test_lines_that_cannot_be_read_are_counted_and_no_number_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1, "loss": NaN}\n[]\n\xff\n{"step": 2, "loss": -Infinity}\n')
    chunk = read_events(path, 0)
    assert chunk.events == ({"step": 1, "loss": None}, {"step": 2, "loss": None})
    assert chunk.unreadable == 2


def test_the_step_is_that_of_the_newest_whole_line(folder: Path) -> None:
    (run,) = Runs([folder])
    with run.directory.metrics.path.open("ab") as file:
        file.write(b'nonsense\n{"event": "trained", "step": 99')
    assert run.step() == 300
    run.directory.metrics.path.write_bytes(b"")
    assert run.step() == 0
    run.directory.metrics.path.unlink()
    assert run.step() == 0


def test_a_film_has_the_weights_of_every_checkpoint(client: TestClient, original: Path) -> None:
    load = Run("lesson", original).checkpoint_loader()
    newest_first = [(step, load(step)) for step in (300, 200, 100)]
    frames = list(record_frames(newest_first, SENTENCE, target=None))[::-1]
    for side, layer, head in (("cross", 1, 2), ("encoder", 0, 3), ("decoder", 0, 0)):
        asked = {"text": SENTENCE, "side": side, "layer": layer, "head": head}
        answer = client.post("/v1/runs/lesson/film", json=asked)
        told = FilmAnswer.model_validate_json(answer.content).model_dump()
        trace = frames[-1].trace
        assert told["source_tokens"] == [token.piece for token in trace.source_tokens]
        assert told["target_tokens"] == [token.piece for token in trace.target_tokens]
        assert [frame["step"] for frame in told["frames"]] == [100, 200, 300]
        for shown, frame in zip(told["frames"], frames, strict=True):
            assert shown["translation"] == frame.translation
            assert shown["log_prob"] == frame.log_prob
            weights = frame.trace.attention(side, layer)[head]  # type: ignore[arg-type]
            assert shown["weights"] == weights.tolist()
    assert told["frames"][-1]["translation"] == "sleeps black cat"


def test_a_film_is_made_once_for_all_heads(folder: Path) -> None:
    with running(runs=[folder]) as client:
        first = client.post("/v1/runs/lesson/film", json=FILM)
        for file in folder.glob("checkpoints/*/model.safetensors"):
            file.write_bytes(b"damaged")
        other = client.post("/v1/runs/lesson/film", json={**FILM, "head": 0})
        assert other.status_code == 200
        assert client.post("/v1/runs/lesson/film", json=FILM).content == first.content
        fresh = client.post("/v1/runs/lesson/film", json={**FILM, "text": "chien"})
        detail = problem(fresh, 422, "unusable-input")
        assert detail == "the checkpoint of step 300 of the run lesson is damaged"


def test_frames_are_chosen_evenly_and_bounded(client: TestClient) -> None:
    for count, steps in ((1, [300]), (2, [100, 300]), (3, [100, 200, 300]), (24, [100, 200, 300])):
        told = client.post("/v1/runs/lesson/film", json={**FILM, "frames": count}).json()
        assert [frame["step"] for frame in told["frames"]] == steps
    answer = client.post("/v1/runs/lesson/film", json={**FILM, "frames": 25})
    assert "(max_film_frames)" in problem(answer, 422, "invalid-fields")


def test_a_checkpoint_that_training_has_deleted_meanwhile_is_left_out(folder: Path) -> None:
    class Deleting(Run):
        def checkpoint_loader(self) -> Any:
            shutil.rmtree(self.directory.checkpoints.path(100))
            return super().checkpoint_loader()

    run = Deleting("lesson", folder)
    frames = Films(ServingConfig()).frames(run, FilmRequest(SENTENCE, None, 3))
    assert [frame.step for frame in frames] == [200, 300]


@pytest.mark.parametrize(
    ("asked", "kind", "told"),
    [
        ({"layer": 9}, "unusable-input", "no such head: cross 10.3"),
        ({"head": 4}, "unusable-input", "no such head: cross 2.5"),
        ({"side": "sideways"}, "invalid-fields", "side"),
        ({"text": "a\nb"}, "unusable-input", "the text has 2 lines"),
        ({"target": "de"}, "unusable-input", "does not translate into 'de' but into en"),
    ],
)
def test_a_film_that_cannot_be_made_is_refused(
    client: TestClient, asked: dict[str, Any], kind: str, told: str
) -> None:
    answer = client.post("/v1/runs/lesson/film", json={**FILM, **asked})
    assert told in problem(answer, 422, kind)


def test_a_film_that_would_be_too_large_is_refused(original: Path) -> None:
    with running(runs=[original], max_trace_bytes=2048) as client:
        answer = client.post("/v1/runs/lesson/film", json=FILM)
        detail = problem(answer, 413, "trace-too-large")
        assert "a light trace of these 4 source tokens would take about" in detail


def test_a_run_without_checkpoints_or_model_says_so(folder: Path) -> None:
    with running(runs=[folder]) as client:
        shutil.rmtree(folder / "model")
        answer = client.post("/v1/runs/lesson/film", json=FILM)
        assert "has not saved a model yet" in problem(answer, 422, "unusable-input")
        shutil.rmtree(folder / "checkpoints")
        answer = client.post("/v1/runs/lesson/film", json=FILM)
        assert "lesson has no checkpoints yet" in problem(answer, 422, "unusable-input")


def test_unknown_runs_are_not_found(client: TestClient) -> None:
    for path in ("/v1/runs/leson/events", "/v1/runs/..%2flesson/events"):
        assert client.get(path).status_code == 404
    detail = problem(client.get("/v1/runs/leson/events"), 404, "unknown-run")
    assert "did you mean 'lesson'?" in detail
    detail = problem(client.post("/v1/runs/x/film", json=FILM), 404, "unknown-run")
    assert "no run is called 'x'" in detail
    with running() as alone:
        detail = problem(alone.get("/v1/runs/x/events"), 404, "unknown-run")
        assert "start the server with --run RUN" in detail
        assert alone.get("/v1/runs").json() == {"runs": []}


def test_runs_of_one_name_are_told_apart(original: Path, folder: Path) -> None:
    runs = Runs([original, folder, original])
    assert [run.name for run in runs] == ["lesson", "lesson-2", "lesson-3"]
    assert runs.find("lesson-2").path == folder
    assert (len(runs), len(Runs([]))) == (3, 0)


def test_a_run_that_is_gone_hides_no_other(original: Path, folder: Path) -> None:
    with running(runs=[folder, original]) as client:
        shutil.rmtree(folder)
        assert [run["name"] for run in client.get("/v1/runs").json()["runs"]] == ["lesson-2"]
        for path, body in (("events", None), ("film", FILM)):
            place = f"/v1/runs/lesson/{path}"
            answer = client.get(place) if body is None else client.post(place, json=body)
            assert "no longer exists" in problem(answer, 404, "unknown-run")


def test_languages_of_a_run_are_not_known_before_its_first_model(folder: Path) -> None:
    (run,) = Runs([folder])
    (folder / "model" / "generation_config.json").write_text("{")
    assert run.directory.directions() == []
    shutil.rmtree(folder / "model")
    assert run.directory.directions() == []


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match=r"--run .*none: there is no such folder"):
        Runs([tmp_path / "none"])
    with pytest.raises(InputError, match=r"holds no training run \(no run.json\)"):
        Runs([tmp_path])
    (folder / "run.json").write_text("{")
    with pytest.raises(DataError, match="not the record of a run"):
        Runs([folder])
