"""The wheel, installed without PyTorch into an environment of its own, translates for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = 20


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, **options
    )  # type: ignore[call-overload, no-any-return]


def check(*command: str | Path) -> str:
    done = run(*command)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and install it, with its dependencies and the extra for serving."""
    place = tmp_path_factory.mktemp("bare")
    check(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place / "dist", ROOT)
    (wheel,) = (place / "dist").glob("*.whl")
    check(sys.executable, "-m", "venv", place / "venv")
    programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = (programs / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt")
    check(*pip, f"{wheel}[serve]")
    return programs


@pytest.fixture(scope="module")
def test_set(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A few pairs of sentences."""
    place = tmp_path_factory.mktemp("pairs")
    source, reference = place / "test.fr", place / "test.en"
    source.write_text("je suis étudiant\n" * LINES, encoding="utf-8")
    reference.write_text("I'm a student.\n" * LINES, encoding="utf-8")
    return source, reference


@contextmanager
def serving(programs: Path) -> Iterator[str]:
    """Run the server, and give its address."""
    command = [programs / "translucid", "serve", "--port", "0", "--quiet"]
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        try:
            yield line[line.index("http://") :].split()[0].rstrip("/")
        finally:
            server.terminate()


def test_it_translates_evaluates_and_scores(
    bin_folder: Path, test_set: tuple[Path, Path], tmp_path: Path
) -> None:
    probe = (
        "import importlib.util as u; print(u.find_spec('torch'), u.find_spec('ctranslate2').name)"
    )
    assert check(bin_folder / "python", "-c", probe).split() == ["None", "ctranslate2"]
    translucid = bin_folder / "translucid"
    assert check(translucid, "translate", "je suis étudiant") == "I'm a student.\n"
    assert check(translucid, "translate", "<b>je suis étudiant</b> {name}").count("{name}") == 1
    linked = check(translucid, "translate", "je suis étudiant", "--alignment", "--word-scores")
    assert linked.count("|||") == 2
    source, reference = test_set
    sets = ("--src", source, "--ref", reference)
    scores = json.loads(
        check(translucid, "evaluate", *sets, "-o", tmp_path / "scores", "--json", "--to", "en")
    )
    assert scores["scores"][0]["name"] == "BLEU"
    assert scores["scores"][0]["score"] > 99
    given = check(translucid, "score", "--src", source, "--tgt", reference, "--to", "en")
    assert len(given.splitlines()) == LINES


def test_it_exports_compared_with_itself_in_float32(bin_folder: Path, tmp_path: Path) -> None:
    words = ("export", "fr-en", "--to", "ctranslate2", "-o", tmp_path / "ct2")
    assert check(bin_folder / "translucid", *words) == f"{tmp_path / 'ct2'}\n"
    record = json.loads((tmp_path / "ct2" / "translucid-export.json").read_text(encoding="utf-8"))
    assert record["reference"].endswith("with CTranslate2 in float32")
    assert (record["sentences"], record["ties"]) == (500, 0)


def test_it_serves(bin_folder: Path) -> None:
    with serving(bin_folder) as address:
        body = json.dumps({"texts": ["je suis étudiant"], "alignment": True}).encode()
        request = urllib.request.Request(
            f"{address}/v1/translate", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert found["translations"][0]["text"] == "I'm a student."
        with urllib.request.urlopen(f"{address}/", timeout=60) as page:
            assert b"<!doctype html>" in page.read().lower()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}/v1/runs", timeout=60)
        assert refused.value.code == 501
        assert "translucid[train]" in json.load(refused.value)["detail"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "je suis étudiant", "-o", "x.html"],
        ["translate", "je suis étudiant", "--terms", "terms.tsv"],
        ["train", "data", "-o", "run"],
        ["translate", "je suis étudiant", "--engine", "pytorch"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[2:3]),
)
def test_what_needs_pytorch_says_how_to_install_it(
    bin_folder: Path, tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "terms.tsv").write_text("étudiant\tpupil\n", encoding="utf-8")
    done = run(bin_folder / "translucid", *arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "pip install 'translucid[train]'" in done.stderr
    assert "Traceback" not in done.stderr
