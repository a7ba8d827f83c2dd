"""A trace as a file: all of it comes back, and what is no such file is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from saved_pages import saved_content
from small_traces import given_trace, pair_trace, random_translator, taught_trace, taught_translator
from translucid.decoding.config import SearchConfig
from translucid.errors import DataError, InputError
from translucid.interpret import explain
from translucid.interpret.figures.beam_tree import beam_tree, decode_pieces
from translucid.interpret.trace import VERSION, Trace
from translucid.interpret.trace_file import KEY, file_bytes, file_parts


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "one.safetensors"
    taught_trace().save(path)
    return path


@pytest.mark.parametrize(
    "trace",
    [
        taught_trace,
        lambda: taught_trace("light"),
        lambda: given_trace("cat"),
        pair_trace,
    ],
    ids=["full", "light", "given", "pair"],
)
def test_all_of_it_comes_back(trace: Callable[[], Trace], tmp_path: Path) -> None:
    before, path = trace(), tmp_path / "trace.safetensors"
    before.save(path)
    after = Trace.load(path, taught_translator())
    assert after.to_json() == before.to_json()
    for name in ("model", "search", "steps", "tree", "flags", "cache", "source_tokens", "patching"):
        assert getattr(after, name) == getattr(before, name)
    assert after.alignment_heads == before.alignment_heads
    assert list(after.tensors) == list(before.tensors)
    assert all(torch.equal(after.tensors[name], t) for name, t in before.tensors.items())


def test_the_name_chooses_the_form(tmp_path: Path) -> None:
    trace = taught_trace()
    trace.save(tmp_path / "one.json")
    saved = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert saved == json.loads(json.dumps(trace.to_json()))
    trace.save(tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert saved_content(page)["trace"]["translation"] == "sleeps black cat"
    with pytest.raises(InputError, match=r"one\.svg: a trace is saved as \.html, \.json"):
        trace.save(tmp_path / "one.svg")
    assert not (tmp_path / "one.svg").exists()


def test_any_reader_of_safetensors_reads_it(saved: Path) -> None:
    tensors = load_file(saved)
    assert tensors.keys() == taught_trace().tensors.keys()
    assert all(torch.equal(tensors[name], t) for name, t in taught_trace().tensors.items())
    with safe_open(saved, framework="pt") as file:
        assert json.loads(file.metadata()[KEY])["translation"] == "sleeps black cat"


def test_saving_replaces_an_older_file_and_leaves_no_other(saved: Path) -> None:
    taught_trace("light").save(str(saved))
    assert Trace.load(str(saved)).level == "light"
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_truncated_file_is_refused(saved: Path, share: float) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(DataError, match=r"truncated, damaged or no trace") as refusal:
        Trace.load(saved)
    assert str(saved) in str(refusal.value)
    assert "Make the trace again" in str(refusal.value)


def test_a_file_of_another_model_is_refused(saved: Path) -> None:
    with pytest.raises(DataError, match="another model made it: 'taught' with the hash") as refusal:
        Trace.load(saved, random_translator())
    assert "not 'random' with" in str(refusal.value)
    assert Trace.load(saved).translation == "sleeps black cat"


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the header of a file says of the trace."""
    with safe_open(path, framework="pt") as file:
        facts = json.loads(file.metadata()[KEY])
    change(facts)
    save_file(load_file(path), path, metadata={KEY: json.dumps(facts)})


def test_a_file_of_a_newer_version_is_refused(saved: Path) -> None:
    rewritten(saved, lambda facts: facts.update(version=VERSION + 1, something="new"))
    with pytest.raises(DataError, match=rf"version {VERSION + 1}, and .* reads up to {VERSION}"):
        Trace.load(saved)


def test_a_file_of_version_1_is_read_with_the_pieces_that_it_has(tmp_path: Path) -> None:
    def older(facts: dict[str, Any]) -> None:
        del facts["pieces"], facts["prefix_length"]
        facts["version"] = 1

    search = SearchConfig(beam=8, max_length=6)
    newest = explain(random_translator(), "Le chat", level="light", search=search)
    newest.save(tmp_path / "old.safetensors")
    rewritten(tmp_path / "old.safetensors", older)
    alone = Trace.load(tmp_path / "old.safetensors")
    assert (alone.version, alone.prefix_length) == (VERSION, 0)
    named = {token.id for token in (*alone.source_tokens, *alone.target_tokens)}
    named |= {top.id for step in alone.steps for top in (step.token, *step.top)}
    assert alone.pieces == {token: newest.pieces[token] for token in named}
    assert set(alone.pieces) < set(newest.pieces)
    assert newest.tree is not None
    grown = {node.token for node in newest.tree.nodes}
    assert grown - decode_pieces(alone, None).keys()
    assert grown <= decode_pieces(alone, random_translator()).keys()
    assert beam_tree(alone, random_translator()).body == beam_tree(newest).body
    with_model = Trace.load(tmp_path / "old.safetensors", random_translator())
    assert with_model.to_json() == newest.to_json()


def test_a_file_of_version_2_has_no_patching(saved: Path) -> None:
    def older(facts: dict[str, Any]) -> None:
        del facts["patching"]
        facts["version"] = 2

    rewritten(saved, older)
    assert Trace.load(saved).to_json() == taught_trace().to_json()


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts["patching"].pop("decision"),
        lambda facts: facts["patching"]["cells"][0].update(forward="much"),
        lambda facts: facts["patching"]["cells"][0]["cell"].update(part="elsewhere"),
        lambda facts: facts.pop("patching"),
    ],
)
def test_patching_that_nobody_measured_is_refused(tmp_path: Path, change: Any) -> None:
    pair_trace().save(tmp_path / "pair.safetensors")
    rewritten(tmp_path / "pair.safetensors", change)
    with pytest.raises(DataError, match="its description does not make a trace"):
        Trace.load(tmp_path / "pair.safetensors")


def test_the_parts_of_a_file_are_the_file(saved: Path) -> None:
    parts = b"".join(map(bytes, file_parts(taught_trace())))
    assert parts == saved.read_bytes()
    assert file_bytes(taught_trace()) == len(parts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.pop("version"), "names no version"),
        (lambda facts: facts.update(version=0), "a trace of version 0"),
        (lambda facts: facts.pop("steps"), "does not make a trace: KeyError 'steps'"),
        (lambda facts: facts.pop("pieces"), "does not make a trace: KeyError 'pieces'"),
        (lambda facts: facts.update(pieces=["a"]), "does not make a trace: AttributeError"),
        (lambda facts: facts.pop("score"), "does not make a trace: TypeError"),
        (lambda facts: facts["model"].update(heads=0), "does not make a trace: ConfigError"),
        (
            lambda facts: facts["source_tokens"].pop(),
            "of other shapes: source.embedding is (4, 48)",
        ),
        (lambda facts: facts.update(level="foo"), "invalid level or number of steps"),
        (lambda facts: facts["steps"].pop(), "invalid level or number of steps"),
        (lambda facts: facts["tree"].update(results=[10**6]), "its search tree is invalid"),
        (lambda facts: facts["tree"]["nodes"][1].update(parent=1), "its search tree is invalid"),
        (lambda facts: facts.update(level="light"), "(4, 4, 12) instead of absent, and 74 more"),
    ],
)
def test_a_header_that_fits_no_trace_is_refused(saved: Path, change: Any, message: str) -> None:
    rewritten(saved, change)
    with pytest.raises(DataError) as refusal:
        Trace.load(saved)
    assert message in str(refusal.value)


def test_a_missing_tensor_is_named(saved: Path) -> None:
    with safe_open(saved, framework="pt") as file:
        metadata = file.metadata()
    tensors = load_file(saved)
    del tensors["memory"]
    save_file(tensors, saved, metadata=metadata)
    with pytest.raises(DataError, match=r"memory is missing instead of \(4, 48\)"):
        Trace.load(saved)


def test_other_files_are_refused(tmp_path: Path) -> None:
    weights, text, folder = tmp_path / "model.safetensors", tmp_path / "a.txt", tmp_path / "folder"
    save_file({"weight": torch.zeros(3)}, weights)
    text.write_text("Le chat dort.\n" * 30)
    folder.mkdir()
    with pytest.raises(DataError, match="not those of a trace"):
        Trace.load(weights)
    with pytest.raises(DataError, match="truncated, damaged or no trace"):
        Trace.load(text)
    for missing in (tmp_path / "none.safetensors", folder):
        with pytest.raises(DataError, match="there is no such file"):
            Trace.load(missing)
    save_file({"weight": torch.zeros(3)}, weights, metadata={KEY: "{"})
    with pytest.raises(DataError, match="its description is not valid JSON"):
        Trace.load(weights)
