"""``translucid serve``: a real process, from its first line to its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from serve_process import LIMIT, clients, started
from small_translators import write_random_model
from translucid import errors
from translucid.cli.main import app
from translucid.cli.options import find_misspelt_variables, variable
from translucid.cli.serve import build_settings, known_variables
from translucid.errors import ConfigError, InputError, MissingPackageError
from translucid.serving.app import create_app
from translucid.serving.auth import check_origins
from translucid.serving.config import ServingConfig
from translucid.serving.served_models import ServedModels
from translucid.serving.server import Server, bind_socket, server_url


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("served") / "nonsense")


def problem_response(*arguments: str) -> tuple[int, str]:
    """Return exit code and message of a command that fails."""
    result = CliRunner().invoke(app, ["serve", *arguments])
    if isinstance(result.exception, errors.TranslucidError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


SLOW = {
    "texts": ["one two three four five six"] * 8,
    "search": {"beam": 8, "min_length": 100, "max_length": 100},
}


def wait_until_running(client: httpx.Client, requests: int) -> None:
    """Wait until the engine works on so many requests."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = re.search(r"^translucid_running (\d+)", client.get("/metrics").text, re.MULTILINE)
        if found and int(found[1]) >= requests:
            return
    raise AssertionError("the requests never ran together")


def wait_until_refused(client: httpx.Client) -> httpx.Response:
    """Wait until a signal has arrived; return how a new request is refused."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        answer = client.get("/v1/models")
        if answer.status_code != 200:
            return answer
    raise AssertionError("the signal never arrived")


def test_without_a_model_the_built_in_one_is_served() -> None:
    with started([]) as (_, url, _), clients(url) as (client, _):
        assert [model["name"] for model in client.get("/v1/models").json()["models"]] == ["fr-en"]
        answer = client.post("/v1/translate", json={"texts": ["Je ne sais pas."]}).json()
        assert (answer["source"], answer["target"]) == ("fr", "en")
        assert answer["translations"][0]["text"] == "I don't know."


def test_what_was_accepted_is_answered_after_sigterm_and_nothing_new_is(model: Path) -> None:
    with (
        started(["-m", f"nonsense={model}", "--request-seconds", "600"]) as (process, url, log),
        clients(url) as (client, pool),
    ):
        requests = [pool.submit(client.post, "/v1/translate", json=SLOW) for _ in range(3)]
        wait_until_running(client, 3)
        process.send_signal(signal.SIGTERM)
        refused = wait_until_refused(client)
        assert refused.status_code == 503
        assert refused.json()["type"] == "/problems/draining"
        assert refused.headers["connection"] == "close"
        answers = [request.result(LIMIT) for request in requests]
        assert process.wait(LIMIT) == 0
    assert [answer.status_code for answer in answers] == [200] * 3
    assert all(len(answer.json()["translations"]) == 8 for answer in answers)
    text = "".join(log)
    assert re.search(r"Shutting down \(requests still being answered: [34]\)", text)
    assert re.search(r"POST /v1/translate 200 [\d.]+ ms, \d+ bytes in, \d+ bytes out", text)
    assert "one two three" not in text


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["Ctrl-C", "SIGTERM"]
)
def test_exit_codes(model: Path, number: int, code: int) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        if line.startswith("Serving"):
            os.kill(os.getpid(), number)

    application = create_app(ServedModels.load([model]), ServingConfig())
    before = signal.getsignal(number)
    server = Server(application, bind_socket("127.0.0.1", 0), tell)
    server.run()
    assert server.exit_code == code
    assert told[0].startswith("Serving nonsense (fr→en) at http://127.0.0.1:")
    assert told[1].startswith("Shutting down (requests still being answered: 0)")
    assert signal.getsignal(number) is before


def test_a_second_signal_does_not_wait(model: Path) -> None:
    endless = {
        "texts": ["one two"] * 64,
        "search": {"beam": 16, "min_length": 500, "max_length": 500},
    }
    with started(["-m", str(model)]) as (process, url, _), clients(url) as (client, pool):
        pending = pool.submit(client.post, "/v1/translate", json=endless)
        wait_until_running(client, 1)
        process.send_signal(signal.SIGTERM)
        wait_until_refused(client)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 128 + signal.SIGTERM
        assert isinstance(pending.exception(LIMIT), httpx.TransportError)


@contextmanager
def unread(model: Path, stderr: int) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    """Run the command with a stderr that its parent does not read; yield it once it answers."""
    with bind_socket("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "translucid", "serve", "-m", str(model), "--threads", "1"]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=stderr)
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=LIMIT, trust_env=False
        ) as client:
            end = time.monotonic() + LIMIT
            while time.monotonic() < end and process.poll() is None:
                with suppress(httpx.ConnectError):
                    if client.get("/health/ready").status_code == 200:
                        break
            yield process, client
    finally:
        process.kill()
        process.wait(LIMIT)


def test_a_server_whose_log_was_closed_serves_and_ends(model: Path) -> None:
    reading, writing = os.pipe()
    with unread(model, writing) as (process, client):
        os.close(writing)
        os.close(reading)  # as `serve 2>&1 | head -1` does
        assert client.get("/v1/models").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="pipes of a chosen size are Linux's")
def test_a_server_whose_log_is_full_serves_and_ends(model: Path) -> None:
    import fcntl

    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with unread(model, writing) as (process, client):
        for _ in range(size // 50):  # a line has more bytes than that
            assert client.get("/health/live").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.readline().startswith("Serving")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_server_whose_log_cannot_be_written_serves_and_ends(model: Path) -> None:
    with Path("/dev/full").open("wb") as full, unread(model, full.fileno()) as (process, client):
        assert client.get("/v1/models").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0


def test_a_port_that_is_taken(model: Path) -> None:
    with bind_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        code, message = problem_response("-m", str(model), "--port", str(port))
    assert code == 1
    assert f"port {port} of 127.0.0.1 is taken by another program" in message
    assert "--port (0: any that is free)" in message


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-m", "nowhere"], 2, "nowhere does not exist"),
        (["-m", "a=nowhere"], 2, "nowhere does not exist"),
        (["-m", "MODEL", "-m", "MODEL"], 2, "several models have the name 'nonsense'"),
        (["-m", "MODEL", "--host", "no.such.host.invalid"], 2, "there is no such address"),
        (["-m", "MODEL", "--host", "192.0.2.1"], 2, "cannot listen on 192.0.2.1"),
        (["-m", "MODEL", "--api-key-file", "none.txt"], 2, "none.txt: there is no such file"),
        (["-m", "MODEL", "--allow-origin", "example.org"], 2, "give a scheme and a host"),
        (["-m", "MODEL", "--run", "nowhere"], 2, "nowhere"),
        (["-m", "MODEL", "-c", "none.toml"], 2, "none.toml: there is no such file"),
        (["--set", "max_text=3"], 2, "did you mean 'max_texts'?"),
        (["--set", "max_texts"], 2, "give KEY=VALUE"),
        (["--set", "max_texts=many"], 2, "'many' is not a number"),
        (["--set", "max_texts=0"], 2, "max_texts = 0"),
        (["--max-characters", "90000"], 2, "above max_total_characters = 50000"),
        (["--port", "70000"], 2, "65535"),
    ],
)
def test_what_cannot_be_served(model: Path, arguments: list[str], code: int, words: str) -> None:
    filled = [str(model) if argument == "MODEL" else argument for argument in arguments]
    found, message = problem_response(*filled)
    assert words in message
    assert found == code


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("TRANSLUCID_PORT=many", r"'TRANSLUCID_PORT'\).*integer"),
        ("TRANSLUCID_LOG_FORMAT=xml", r"'TRANSLUCID_LOG_FORMAT'\).*'text', 'json'"),
        ("TRANSLUCID_THREADS=0", r"'TRANSLUCID_THREADS'\).*1"),
        ("TRANSLUCID_LOG_TEXT=maybe", r"'TRANSLUCID_LOG_TEXT'\).*boolean"),
        ("TRANSLUCID_MAX_TEXTS=many", "TRANSLUCID_MAX_TEXTS=many: 'many' is not a number"),
        ("TRANSLUCID_MAX_TEXTS=0", r"max_texts = 0: .* \(set by TRANSLUCID_MAX_TEXTS\)"),
        (
            "TRANSLUCID_MAX_CHARACTERS=90000",
            r"above max_total_characters = 50000.*\(set by TRANSLUCID_MAX_CHARACTERS\)",
        ),
        ("TRANSLUCID_MODEL=fr-en x=none", "none does not exist.*value of TRANSLUCID_MODEL"),
        ("TRANSLUCID_CONFIG=none.toml", "none.toml: there is no such.*value of TRANSLUCID_CONFIG"),
        ("TRANSLUCID_RUN=none", "none.*value of TRANSLUCID_RUN"),
        ("TRANSLUCID_ALLOW_ORIGIN=example.org", "a scheme and.*value of TRANSLUCID_ALLOW_ORIGIN"),
    ],
)
def test_a_bad_value_in_the_environment_is_told_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, words: str
) -> None:
    name, _, value = variable.partition("=")
    monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "500")
    code, message = problem_response()
    assert code == 2
    assert re.search(words, message, re.DOTALL), message


def test_what_comes_before_what(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("max_texts = 1\nmax_beam = 2\nmax_n_best = 3\nmax_samples = 4\n")
    environment = {f"TRANSLUCID_{name}": "10" for name in ("MAX_TEXTS", "MAX_BEAM", "MAX_N_BEST")}
    found = build_settings(file, ["max_beam=20"], {"max_texts": 100}, environment)
    assert (found.max_texts, found.max_beam, found.max_n_best) == (100, 20, 10)
    assert (found.max_samples, found.max_length) == (4, ServingConfig().max_length)
    given = {"TRANSLUCID_MAX_TEXTS": "many", "TRANSLUCID_REQUEST_SECONDS": "7"}
    assert build_settings(None, [], {"max_texts": 2}, given).request_seconds == 7.0


def test_every_setting_of_the_server_has_a_variable() -> None:
    known = [*known_variables()]
    assert len(set(known)) == len(known)
    command: Any = typer.main.get_command(app)
    own = {one for option in command.commands["serve"].params for one in option.opts}
    long = {one for one in own if one.startswith("--")} - {"--set", "--limits", "--help"}
    spelled = {variable(one.removeprefix("--").replace("-", "_")) for one in long}
    limits = {variable(one) for one in ServingConfig.model_fields}
    assert set(known) == spelled | limits | {"TRANSLUCID_API_KEYS"}
    assert {"TRANSLUCID_MODEL", "TRANSLUCID_RUN", "TRANSLUCID_CONFIG", "TRANSLUCID_QUIET"} < spelled
    text = "".join(CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "80"}).output)
    for one in spelled:
        assert one in text
    assert "env var" not in CliRunner().invoke(app, ["info", "--help"]).output


def test_misspelt_variables_are_named_and_those_of_others_are_not() -> None:
    # Kubernetes gives the latter to all containers beside a service of that name.
    names = ["MAX_TEXT", "PORTS", "PORT", "SERVICE_HOST", "SERVICE_PORT", "PORT_80_TCP_ADDR"]
    given = {"MAX_TEXT": "", **{f"TRANSLUCID_{name}": "" for name in names}}
    assert [*find_misspelt_variables(given, known_variables())] == [
        "no setting has the variable TRANSLUCID_MAX_TEXT; did you mean TRANSLUCID_MAX_TEXTS?",
        "no setting has the variable TRANSLUCID_PORTS; did you mean TRANSLUCID_PORT?",
    ]


def test_a_server_that_the_environment_describes_and_its_log_in_json(model: Path) -> None:
    environment = {
        "TRANSLUCID_MODEL": f"one={model} two={model}",
        "TRANSLUCID_LOG_FORMAT": "json",
        "TRANSLUCID_API_KEYS": "a-key-of-16-characters",
        "TRANSLUCID_MAX_TEXTS": "3",
        "TRANSLUCID_MAX_BEAM": "2",
        "TRANSLUCID_MAX_BEEM": "2",
        "TRANSLUCID_PORT": "1",  # the command line says 0
    }
    secret = "nobody may read this"
    with (
        started(["--max-texts", "2"], environment) as (process, url, log),
        clients(url) as (
            client,
            _,
        ),
    ):
        client.headers["Authorization"] = "Bearer a-key-of-16-characters"
        limits = client.get("/v1/models").json()["limits"]
        assert (limits["max_texts"], limits["max_beam"]) == (2, 2)
        asked = {"texts": [secret], "model": "two", "search": {"max_length": 5}}
        answer = client.post("/v1/translate", json=asked)
        assert answer.status_code == 200
        streamed = {"text": secret, "model": "one", "search": {"max_length": 5}}
        assert client.post("/v1/translate/stream", json=streamed).status_code == 200
        assert client.get(f"/{secret}").status_code == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
    lines = [json.loads(line) for line in log]
    assert secret not in "".join(log)
    for line in lines:
        assert datetime.fromisoformat(line["time"]).tzinfo is not None
        assert line["level"] in ("info", "warning")
    requests = [line for line in lines if line["event"] == "request"]
    by_path = {line["path"]: line for line in requests}
    translated = by_path["/v1/translate"]
    assert translated["request_id"] == answer.headers["x-request-id"]
    assert (translated["method"], translated["status"]) == ("POST", 200)
    assert translated["milliseconds"] > 0
    assert translated["bytes_out"] == len(answer.content)
    assert translated["model"] == "two"
    assert translated["source_tokens"] > len(secret.split())
    assert translated["target_tokens"] == len(answer.json()["translations"][0]["tokens"])
    assert by_path["/v1/translate/stream"]["model"] == "one"
    assert by_path["/v1/translate/stream"]["source_tokens"] == translated["source_tokens"]
    assert 0 < by_path["/v1/translate/stream"]["target_tokens"] <= 5
    assert by_path["(no route)"]["status"] == 404
    assert "model" not in by_path["/v1/models"]
    others = [line["message"] for line in lines if line["event"] == "server"]
    assert others[-1].startswith("Shutting down")
    assert any("did you mean TRANSLUCID_MAX_BEAM?" in line.get("message", "") for line in lines)


def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingPackageError, match="translucid\\[serve\\]"):
        CliRunner().invoke(app, ["serve", "-m", str(model)], catch_exceptions=False)


def test_the_limits_that_are_listed_are_a_file_of_settings(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["serve", "--limits", "--max-texts", "7"])
    assert result.exit_code == 0
    file = tmp_path / "limits.toml"
    file.write_text(result.output)
    assert tomllib.loads(result.output)["max_texts"] == 7
    assert build_settings(file, [], {}, {}) == ServingConfig(max_texts=7)
    for name in ServingConfig.model_fields:
        assert name in result.output


def test_single_options_are_above_assignments_and_those_above_a_file(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("max_texts = 1\nmax_beam = 2\nmax_n_best = 3\n")
    found = build_settings(file, ["max_texts=10", "max_beam=20"], {"max_texts": 100}, {})
    assert (found.max_texts, found.max_beam, found.max_n_best) == (100, 20, 3)
    assert build_settings(None, ["request_seconds=10"], {}, {}).request_seconds == 10.0
    file.write_text("max_text = 1\n")
    with pytest.raises(ConfigError, match="did you mean 'max_texts'"):
        build_settings(file, [], {}, {})


def test_one_trace_must_fit_into_the_store() -> None:
    with pytest.raises(ConfigError, match="it could not be kept"):
        ServingConfig(max_trace_bytes=2048, trace_store_bytes=1024)


def test_origins_are_as_browsers_send_them() -> None:
    sites = ("https://example.org", "http://localhost:5173", "*")
    assert check_origins(sites) == sites
    for wrong in ("example.org", "https://", "https://example.org/", "ftp://example.org"):
        with pytest.raises(InputError, match="without a path"):
            check_origins([wrong])


def test_addresses_are_written_as_browsers_take_them() -> None:
    with bind_socket("127.0.0.1", 0) as bound:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server_url(bound))
    if socket.has_ipv6:
        with bind_socket("::1", 0) as bound:
            assert re.fullmatch(r"http://\[::1\]:\d+", server_url(bound))


def test_the_page_of_docs_and_help_have_the_defaults() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to-serve.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \| ([\d,.]+) \| (.+) \|$", page, re.MULTILINE)
    fields = ServingConfig.model_fields
    assert {name: (float(value.replace(",", "")), text) for name, value, text in told} == {
        name: (float(field.default), field.description) for name, field in fields.items()
    }
    text = " ".join(CliRunner().invoke(app, ["serve", "--help"]).output.split())
    options = re.findall(r"--([a-z-]+) [A-Z] [^\[]*\[default: (\d+)\]", text)
    numbers = {n.replace("-", "_"): int(v) for n, v in options if n.replace("-", "_") in fields}
    assert len(numbers) == 7
    assert numbers == {name: fields[name].default for name in numbers}


def test_help_has_examples() -> None:
    result = CliRunner().invoke(app, ["serve", "--help"])
    assert "translucid serve -m model --host 0.0.0.0 --api-key-file keys.txt" in result.output
    assert "130 or 0" in result.output
