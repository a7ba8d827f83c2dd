"""The blocks of docs/how-to-extend.md, extracted and executed."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import translucid
from doc_pages import DOCS, code_blocks
from translucid.config import KERNELS, POSITIONS
from translucid.data.readers import corpus
from translucid.errors import DataError
from translucid.text import tokenizer
from translucid.training.config import LOSSES

PAGE = (DOCS / "how-to-extend.md").read_text(encoding="utf-8")
PYTHON = code_blocks(PAGE, "python")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder a reader works in: files of the page, practice data, registries as before."""
    path = tmp_path_factory.mktemp("extend")
    for block in [*PYTHON, *code_blocks(PAGE, "toml")]:
        if named := re.match(r"# (\S+\.(?:py|toml))\n", block):
            (path / named[1]).write_text(block, encoding="utf-8")
    importlib.import_module("translucid.training.train")  # built-in parts register themselves
    for kind in tokenizer.tokenizer_kinds():
        tokenizer.get_tokenizer_kind(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for registry in (KERNELS, POSITIONS, LOSSES):
            patch.setattr(registry, "_parts", dict(registry._parts))
        patch.setattr(corpus, "_FORMATS", dict(corpus._FORMATS))
        patch.setattr(tokenizer, "_REGISTRY", dict(tokenizer._REGISTRY))
        run_code(PYTHON[0])
        yield path


def run_code(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "how-to-extend.md", "exec"), names)
    return names


def run_file(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a saved block as a script; worker processes and pickling find it by its module's name."""
    monkeypatch.syspath_prepend(folder)
    names = runpy.run_path(str(folder / name), run_name=Path(name).stem)
    main = (folder / name).read_text(encoding="utf-8").partition('if __name__ == "__main__":\n')[2]
    exec(compile("if True:\n" + main, name, "exec"), names)
    return names


def test_blocks_are_short() -> None:
    assert len(PYTHON) == 8
    assert max(block.count("\n") for block in PYTHON) < 40


def test_a_kernel(folder: Path) -> None:
    names = run_code((folder / "quiet.py").read_text(encoding="utf-8"))
    trace, translator = names["trace"], names["translator"]
    assert trace.model.attention == "quiet"
    assert (trace.attention("encoder", 0).sum(dim=-1) < 1).all()  # its own weights are recorded
    heads = trace.tensor("encoder.0.self_attention.heads")
    weights = trace.attention("encoder", 0)
    assert heads.allclose(weights @ trace.tensor("encoder.0.self_attention.v"), atol=1e-6)
    alignment = translator.translate("Le chat dort.", alignment=True, prefix="The").alignment
    assert alignment is not None


def test_positions(folder: Path) -> None:
    names = run_code((folder / "alibi.py").read_text(encoding="utf-8"))
    mask = names["trace"].tensor("encoder.0.self_attention.mask")
    assert mask[0, 0, :3].tolist() == pytest.approx([0, -1 / 16, -1 / 8])
    assert mask[1, 0, :3].tolist() == pytest.approx([0, -1 / 256, -1 / 128])
    weights = names["trace"].attention("encoder", 0)
    scores = names["trace"].tensor("encoder.0.self_attention.scaled_scores")
    assert weights.allclose((scores + mask).softmax(dim=-1), atol=1e-6)
    names["trace"].save(folder / "alibi.html")


def test_a_loss(folder: Path) -> None:
    names = run_code((folder / "focal.py").read_text(encoding="utf-8"))
    assert (names["run"].model / "model.safetensors").is_file()


def test_another_programs_sentencepiece_model(folder: Path) -> None:
    (block,) = [block for block in PYTHON if "SentencePieceTrainer" in block]
    names = run_code(block)
    pieces = names["sentencepiece"].SentencePieceProcessor(model_file="mine.model")
    ours = translucid.load(names["run"]).tokenizer
    mine = [ours.piece(token) for token in ours.encode("le chat dort")]
    assert mine == pieces.encode("le chat dort", out_type=str)


def test_a_tokenizer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_file(folder, "halves.py", monkeypatch)
    assert translucid.load(names["run"]).tokenizer.kind == "halves"


def test_a_reader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_file(folder, "semicolons.py", monkeypatch)
    (read,) = names["data"].report["read"]["corpora"]
    assert read["pairs"] == 51
    assert read["skipped"]["too few columns"]["count"] == 1


def test_settings_name_parts_and_models_without_them_are_refused(folder: Path) -> None:
    """The commands of the page, with and without the file that registers the parts."""
    commands = re.findall(r"^python (mine\.py .*)$", PAGE, flags=re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["train", "translate", "serve"]
    for command in commands[:2]:
        done = subprocess.run(
            [sys.executable, *shlex.split(command)],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(POSITIONS, "_parts", {n: POSITIONS._parts[n] for n in POSITIONS.built_in})
        with pytest.raises(DataError) as caught:
            translucid.load("alibi-run")
    assert f"error: {caught.value}" in PAGE
