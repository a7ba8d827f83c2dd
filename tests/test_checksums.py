"""Damage is detected and named: in model directories, prepared data and traces."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_folders import make_data, random_lengths, records_of_lengths
from small_traces import taught_trace
from small_translators import write_taught_model
from translucid import checksums
from translucid.built_in import DEFAULT
from translucid.checkpoint.model_directory import CARD, GENERATION, WEIGHTS
from translucid.checksums import (
    CHECKSUMS,
    load_verified,
    new_listed_file,
    read_checksums,
    verify,
    write_checksums,
)
from translucid.data.shards import open_data
from translucid.engines.heads import ALIGNMENT, default_heads
from translucid.errors import DataError
from translucid.interpret.trace_file import read_trace, write_trace
from translucid.translator import Calibration, load, save_alignment_heads, save_calibration
from translucid.translator.confidence import CONFIDENCE, FEATURES
from translucid.translator.source_language import (
    LANGUAGES,
    SourceLanguages,
    save_source_languages,
)

COMMAND = 'python -c "from translucid.checksums import write_checksums'


def flip(path: Path, position: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[position % len(data)] ^= 1 << bit
    path.write_bytes(data)


def files_of(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def refusal(work: Callable[[], object]) -> DataError:
    with pytest.raises(DataError) as caught:
        work()
    return caught.value


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory with everything that training leaves in one."""
    folder = write_taught_model(tmp_path_factory.mktemp("models") / "taught")
    translator = load(folder)
    save_alignment_heads(folder, default_heads(translator.members[0].model.config))
    size = translator.tokenizer.vocab_size
    save_source_languages(
        folder, SourceLanguages.from_counts({"fr": torch.ones(size), "en": torch.ones(size)})
    )
    numbers = (0.0,) * len(FEATURES)
    flat = Calibration(
        means=numbers, scales=(1.0,) * len(FEATURES), weights=numbers, bias=0.0, lines=9, auc=0.5,
        curve=(),
    )  # fmt: skip
    save_calibration(folder, flat)
    return folder


def test_every_file_of_a_model_directory_is_listed_as_it_is_added(model: Path) -> None:
    listed = read_checksums(model)
    assert listed is not None
    assert sorted([*listed, CHECKSUMS]) == files_of(model)
    assert {ALIGNMENT, CONFIDENCE, LANGUAGES, CARD} <= listed.keys()
    verify(model)
    load(model)


@settings(max_examples=40)
@given(data=st.data())
def test_a_flipped_bit_anywhere_in_a_model_is_refused_by_name(
    model: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([name for name in files_of(model) if name != CARD]))
    size = (model / name).stat().st_size
    position, bit = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, 7))
    flip(model / name, position, bit)
    try:
        error = refusal(lambda: load(model))
    finally:
        flip(model / name, position, bit)
    assert error.path == model / name
    assert COMMAND in error.remedy


@pytest.mark.parametrize(("name", "place"), [(WEIGHTS, -5), ("tokenizer.model", 1000)])
def test_a_flipped_bit_in_the_built_in_model_is_refused(
    tmp_path: Path, name: str, place: int
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(DEFAULT, copy)
    flip(copy / name, place, 2)
    error = refusal(lambda: load(copy))
    assert error.path == copy / name
    assert "the content was changed: its SHA-256 is" in error.problem


def test_the_built_in_model_is_what_its_checksums_say() -> None:
    """After a change of its card by hand, the command in the module's docstring lists it anew."""
    listed = read_checksums(DEFAULT)
    assert listed is not None
    assert sorted([*listed, CHECKSUMS]) == files_of(DEFAULT)
    verify(DEFAULT)


def test_what_cannot_even_be_parsed_is_told_as_damage_of_the_file_that_is(
    model: Path, tmp_path: Path
) -> None:
    """A broken generation_config.json was once told as a fault of the folder."""
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / GENERATION).write_text("{")
    assert refusal(lambda: load(copy)).path == copy / GENERATION
    (copy / CHECKSUMS).unlink()
    assert refusal(lambda: load(copy)).path == copy / GENERATION


def test_a_file_that_is_missing_is_told_and_one_that_is_the_users_own_is_not(
    model: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / "notes.txt").write_text("mine")
    (copy / CARD).write_text("a better card")
    load(copy)
    (copy / ALIGNMENT).unlink()
    error = refusal(lambda: load(copy))
    assert (error.path, error.problem) == (copy / ALIGNMENT, "the file is missing")


def test_a_folder_without_checksums_is_read_as_before(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    (copy / CHECKSUMS).unlink()
    assert load(copy).translate("chat noir").text == "black cat"
    save_alignment_heads(copy, default_heads(load(copy).members[0].model.config))
    assert not (copy / CHECKSUMS).exists()  # nobody can vouch for the other files


def test_a_change_on_purpose_is_listed_by_the_command_that_the_message_names(
    model: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    text = (copy / GENERATION).read_text().replace('"beam": 4', '"beam": 3')
    (copy / GENERATION).write_text(text)
    command = refusal(lambda: load(copy)).remedy.split(COMMAND)[1]
    assert command == f"; write_checksums('{copy}')\""
    write_checksums(copy)
    assert load(copy).default_search.beam == 3


def test_killed_while_a_file_is_replaced_the_folder_is_still_read(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checksums, "compute_checksum", killed)
    with pytest.raises(KeyboardInterrupt), new_listed_file(copy / ALIGNMENT) as file:
        file.write((model / ALIGNMENT).read_bytes().rstrip())
    monkeypatch.undo()
    listed = read_checksums(copy)
    assert listed is not None
    assert ALIGNMENT not in listed
    load(copy)


def test_a_folder_that_is_replaced_while_it_is_loaded_is_loaded_again(
    model: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    loaded: list[bytes] = []

    def read() -> bytes:
        if not loaded:  # as training does, which replaces its best model
            with new_listed_file(copy / ALIGNMENT) as file:
                file.write(b"another")
        loaded.append((copy / ALIGNMENT).read_bytes())
        return loaded[-1]

    assert load_verified([copy], read) == b"another"
    assert len(loaded) == 2


def test_checksums_of_another_version_or_of_none_are_refused(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    for content in (b"", b"[]", b"{}", b"\xff", b'{"version": 1, "files": {}, "sha256": "0"}'):
        (copy / CHECKSUMS).write_bytes(content)
        assert refusal(lambda: load(copy)).path == copy / CHECKSUMS
    content = {"version": 2, "files": {}}
    stated = {**content, "sha256": checksums.digest_json(content)}
    (copy / CHECKSUMS).write_text(json.dumps(stated))
    assert "it is of version 2, and this Translucid reads 1" in refusal(lambda: load(copy)).problem


def test_a_flipped_bit_anywhere_in_prepared_data_is_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    make_data(folder, records_of_lengths(random_lengths(50)))
    for name in files_of(folder):
        size = (folder / name).stat().st_size
        for position in (0, size // 2, size - 1):
            flip(folder / name, position, 1)
            assert refusal(lambda: open_data(folder)).path == folder / name
            flip(folder / name, position, 1)
    open_data(folder)
    (folder / CHECKSUMS).unlink()
    open_data(folder)


@settings(max_examples=60)
@given(st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_anywhere_in_a_trace_is_refused(
    trace_file: Path, position: int, bit: int
) -> None:
    flip(trace_file, position, bit)
    try:
        error = refusal(lambda: read_trace(trace_file, None))
    finally:
        flip(trace_file, position, bit)
    assert error.path == trace_file


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "trace.safetensors"
    write_trace(path, taught_trace())
    assert read_trace(path, None).translation == taught_trace().translation
    return path
