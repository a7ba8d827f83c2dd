"""Downloading against a real server on this machine that cuts, ignores, refuses and stalls."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import (
    FileServer,
    another_range,
    cut,
    file_server,
    hang_up,
    refuse,
    stall,
    whole,
    without_length,
)
from hypothesis import given
from hypothesis import strategies as st

from translucid import __version__
from translucid.data.download import BLOCK, Download, RetryPolicy, copy_blocks, download
from translucid.errors import DataError, TranslucidError
from translucid.events import Event, Notice

BODY = random.Random(7).randbytes(5 * BLOCK + 123)
AT_ONCE = RetryPolicy(timeout=30.0, attempts=4, pause=0.0)
ONCE = RetryPolicy(timeout=30.0, attempts=1, pause=0.0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with file_server() as server:
        server.files["file"] = BODY
        yield server


class Run:
    """One download of the server's file and what it said."""

    def __init__(self, server: FileServer, folder: Path) -> None:
        self.part = folder / "file.part"
        self.events: list[Event] = []
        self.sizes: list[int] = []
        self.job = Download(server.url("file"), self.part, len(BODY), self.sizes.append)

    def __call__(self, retries: RetryPolicy = AT_ONCE) -> bytes:
        download(self.job, retries=retries, emit=self.events.append)
        return self.part.read_bytes()

    def notices(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Notice)]


@pytest.fixture
def run(server: FileServer, tmp_path: Path) -> Run:
    return Run(server, tmp_path)


def test_a_whole_file_in_one_request(server: FileServer, run: Run) -> None:
    assert run() == BODY
    assert server.ranges() == [None]
    assert server.agents == {f"translucid/{__version__}"}
    assert run.sizes == sorted(run.sizes)
    assert (run.sizes[0], run.sizes[-1]) == (0, len(BODY))
    assert run.events == []


def test_a_cut_connection_is_continued_by_range(server: FileServer, run: Run) -> None:
    server.script.append(cut(after=2 * BLOCK + 5))
    assert run() == BODY
    assert server.ranges() == [None, f"bytes={2 * BLOCK + 5}-"]
    assert len(run.notices()) == 1
    assert run.notices()[0].startswith("file: ")
    assert f"after {2 * BLOCK + 5:,} of {len(BODY):,} bytes" in run.notices()[0]
    assert "trying again in 0 s" in run.notices()[0]


def test_the_next_run_continues_what_the_last_one_left(server: FileServer, run: Run) -> None:
    server.script.append(cut(after=1000))
    with pytest.raises(TranslucidError) as caught:
        run(ONCE)
    assert f"gave up after 1 attempts with 1,000 of {len(BODY):,} bytes" in str(caught.value)
    assert "run the same command\n  again: it continues from there" in str(caught.value)
    assert "--mirror DIR" in str(caught.value)
    assert run.part.read_bytes() == BODY[:1000]
    assert run() == BODY
    assert server.ranges() == [None, "bytes=1000-"]


def test_a_server_that_ignores_ranges_starts_over(server: FileServer, run: Run) -> None:
    run.part.write_bytes(BODY[:1000])
    server.script.append(whole)
    assert run() == BODY
    assert server.ranges() == ["bytes=1000-"]


def test_a_server_that_ignores_ranges_and_always_cuts_is_given_up(
    server: FileServer, run: Run
) -> None:
    server.script.extend([cut(after=1000)] * 4)
    with pytest.raises(
        TranslucidError, match=f"gave up after 4 attempts with 1,000 of {len(BODY):,}"
    ):
        run()
    assert len(server.requests) == 4


def test_a_server_that_sends_another_range_starts_over(server: FileServer, run: Run) -> None:
    run.part.write_bytes(BODY[:1000])
    server.script.append(another_range)
    assert run() == BODY
    assert server.ranges() == ["bytes=1000-", None]
    assert "another range than requested; starting over" in run.notices()[0]


def test_a_range_that_the_server_does_not_have_starts_over(server: FileServer, run: Run) -> None:
    run.part.write_bytes(BODY[:1000])
    server.script.append(refuse(416))
    assert run() == BODY
    assert server.ranges() == ["bytes=1000-", None]
    assert "no such range; starting over" in run.notices()[0]


def test_a_complete_part_asks_for_nothing(server: FileServer, run: Run) -> None:
    run.part.write_bytes(BODY)
    assert run() == BODY
    assert server.requests == []


def test_a_part_longer_than_the_file_starts_over(server: FileServer, run: Run) -> None:
    run.part.write_bytes(BODY + b"more")
    assert run() == BODY
    assert server.ranges() == [None]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_passing_refusal_is_tried_again(server: FileServer, run: Run, status: int) -> None:
    server.script.append(refuse(status))
    assert run() == BODY
    assert f"the server answered {status}" in run.notices()[0]


@pytest.mark.parametrize("status", [204, 401, 403, 404, 410])
def test_a_lasting_refusal_is_an_error_at_once(server: FileServer, run: Run, status: int) -> None:
    server.script.append(refuse(status))
    with pytest.raises(TranslucidError, match=f"the server answered {status}") as caught:
        run()
    assert len(server.requests) == 1
    assert str(caught.value).startswith(server.url("file"))
    assert "use --mirror DIR" in str(caught.value)
    assert caught.value.exit_code == 1
    assert not run.part.exists()


def test_a_file_of_another_size_is_refused_unread(server: FileServer, run: Run) -> None:
    server.files["file"] = b"<html>please log in</html>"
    with pytest.raises(DataError) as caught:
        run()
    assert f"offers 26 bytes, but the known file has {len(BODY):,}" in str(caught.value)
    assert "A proxy or a login page may have answered" in str(caught.value)
    assert not run.part.exists()


def test_the_rest_of_a_file_of_another_size_is_refused(server: FileServer, run: Run) -> None:
    run.part.write_bytes(BODY[:1000])
    server.files["file"] = BODY + b"x"
    with pytest.raises(DataError, match=f"offers {len(BODY) + 1:,} bytes"):
        run()


def test_a_file_of_untold_length(server: FileServer, run: Run) -> None:
    server.script.append(without_length)
    assert run() == BODY


def test_more_than_the_file_is_not_written(server: FileServer, run: Run) -> None:
    server.files["file"] = BODY + bytes(10 * BLOCK)
    server.script.append(without_length)
    with pytest.raises(DataError, match=f"offers more than {len(BODY):,} bytes"):
        run()
    assert run.part.stat().st_size <= len(BODY)


def test_hanging_up_without_an_answer_is_tried_again(server: FileServer, run: Run) -> None:
    server.script.append(hang_up)
    assert run() == BODY
    assert "no answer: " in run.notices()[0]


def test_a_silent_server_is_left(server: FileServer, run: Run) -> None:
    server.script.append(stall(after=1000))
    with pytest.raises(TranslucidError, match="timed out"):
        run(RetryPolicy(timeout=0.05, attempts=1, pause=0.0))


def test_no_server_at_all(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    job = Download(f"http://127.0.0.1:{port}/file", run.part, 5, run.sizes.append)
    with pytest.raises(TranslucidError, match=r"with 0 of 5 bytes: no connection: .*refused"):
        download(job, retries=AT_ONCE, emit=run.events.append)
    assert len(run.notices()) == 3


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/file", "ftp://127.0.0.1/file"])
def test_a_redirect_that_drops_the_encryption_is_not_followed(
    server: FileServer, run: Run, target: str
) -> None:
    server.script.append(refuse(302, Location=target))
    with pytest.raises(TranslucidError, match=f"redirected to {target}, which is not https"):
        run()
    assert len(server.requests) == 1


def test_a_redirect_to_a_local_file_is_not_followed(
    server: FileServer, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(BODY)
    server.script.append(refuse(302, Location=(tmp_path / "secret").as_uri()))
    with pytest.raises(TranslucidError, match="the server answered 302"):
        run()
    assert not run.part.exists()


def test_a_redirect_to_https_is_followed(server: FileServer, run: Run) -> None:
    # The server speaks no TLS: that the handshake fails shows that the redirect was followed.
    https = server.url("file").replace("http:", "https:")
    server.script.append(refuse(302, Location=https))
    with pytest.raises(TranslucidError, match="SSL"):
        run(ONCE)


def test_a_proxy_is_used(server: FileServer, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url("").rstrip("/"))
    monkeypatch.setenv("no_proxy", "")
    url = "http://corpora.invalid/some/file"
    download(
        Download(url, run.part, len(BODY), run.sizes.append),
        retries=AT_ONCE,
        emit=run.events.append,
    )
    assert run.part.read_bytes() == BODY
    assert server.requests == [(url, None)]


def test_kill_9_in_the_middle_and_again(server: FileServer, run: Run) -> None:
    server.script.append(stall(after=3 * BLOCK))
    code = (
        "import sys; from pathlib import Path\n"
        "from translucid.data.download import Download, RetryPolicy, download\n"
        "url, part, size = sys.argv[1:]\n"
        "job = Download(url, Path(part), int(size), lambda done: print(done, flush=True))\n"
        "download(job, retries=RetryPolicy(60.0, 1, 0.0), emit=print)\n"
    )
    command = [sys.executable, "-c", code, server.url("file"), str(run.part), str(len(BODY))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        while int(child.stdout.readline()) < 3 * BLOCK:  # its words come after its bytes
            pass
        os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert run.part.read_bytes() == BODY[: 3 * BLOCK]
    assert run() == BODY
    assert server.ranges() == [None, f"bytes={3 * BLOCK}-"]


@given(
    blocks=st.lists(st.binary(min_size=1, max_size=5), max_size=8),
    limit=st.integers(0, 30),
    start=st.integers(0, 5),
)
def test_pouring_writes_whole_blocks_up_to_the_limit(
    blocks: list[bytes], limit: int, start: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "poured"
    given_blocks = iter([*blocks, b""])
    told: list[int] = []
    with path.open("wb") as file:
        reached = copy_blocks(
            lambda: next(given_blocks), file, start=start, progress=told.append, limit=limit
        )
    written = path.read_bytes()
    everything = b"".join(blocks)
    assert everything.startswith(written)
    assert told[0] == start
    assert told[-1] == start + len(written)
    if start + len(everything) <= limit:
        assert (written, reached) == (everything, start + len(everything))
    elif blocks:
        assert reached > limit or start > limit
        assert start + len(written) <= max(limit, start)


def test_the_rest_between_attempts_doubles(server: FileServer, run: Run) -> None:
    server.script.extend([refuse(503)] * 3)
    assert run(RetryPolicy(timeout=30.0, attempts=4, pause=0.001)) == BODY
    rests = [notice.partition("trying again in ")[2] for notice in run.notices()]
    assert rests == ["0.001 s", "0.002 s", "0.004 s"]


def test_the_server_answers_ranges_as_the_standard_says(server: FileServer) -> None:
    """The tests above stand on this server: its plain answer is checked by another client."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as client:
        client.sendall(b"GET /file HTTP/1.0\r\nRange: bytes=10-\r\n\r\n")
        got = b"".join(iter(lambda: client.recv(BLOCK), b""))
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"206" in head.splitlines()[0]
    assert f"Content-Range: bytes 10-{len(BODY) - 1}/{len(BODY)}".encode() in head
    assert body == BODY[10:]
