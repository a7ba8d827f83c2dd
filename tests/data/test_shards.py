"""Shards: the bytes on disk, reading them back, and what a damaged folder is refused with."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
import signal
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shard_folders import make_data, manifest_of, random_lengths, record, records_of_lengths
from translucid.data.manifest import VERSION, Layout, Manifest
from translucid.data.shards import (
    TOKENIZER,
    PreparedData,
    Record,
    measure,
    merge_parts,
    open_data,
    write_part,
)
from translucid.errors import DataError, InputError

LAYOUT = Layout(("fr", "en"), 300)
FILES = sorted(
    ["origin"]
    + [f"{a}.{b}" for a in ("fr", "en") for b in ("tokens", "offsets", "text", "text_offsets")]
)
# Any text that UTF-8 can hold: NUL, U+2028, combining marks, both directions, beyond the BMP.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.lists(st.integers(1, LAYOUT.vocab_size - 1), max_size=6)
ORIGINS = st.integers(0, 2**32 - 1)
RECORDS = st.lists(
    st.builds(Record, TEXTS, TEXTS, IDS, IDS, st.integers(0, 9), ORIGINS), max_size=9
)
folders = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def data(tmp_path: Path) -> PreparedData:
    return make_data(tmp_path / "DATA", records_of_lengths([(3, 1), (0, 2), (5, 4)]))


# ------------------------------------------------------------------------------ layout and reading


@pytest.mark.parametrize(("vocab_size", "code"), [(65_536, "H"), (65_537, "I")])
def test_the_files_hold_what_the_layout_says(tmp_path: Path, vocab_size: int, code: str) -> None:
    records = [
        Record("été", "Sum mer", [7, 65_535], [9, 8, 7], corpus=0, line=12),
        Record("", "x", [], [20], corpus=3, line=2**32 - 1),
    ]
    entry = write_part(tmp_path / "part", records, Layout(("fr", "en"), vocab_size))
    files = content(tmp_path / "part")
    assert sorted(files) == FILES
    assert files["fr.tokens"] == struct.pack(f"<2{code}", 7, 65_535)
    assert files["fr.offsets"] == struct.pack("<3Q", 0, 2, 2)
    assert files["fr.text"] == "été".encode()
    assert files["fr.text_offsets"] == struct.pack("<3Q", 0, 5, 5)
    assert files["en.tokens"] == struct.pack(f"<4{code}", 9, 8, 7, 20)
    assert files["en.offsets"] == struct.pack("<3Q", 0, 3, 4)
    assert files["en.text_offsets"] == struct.pack("<3Q", 0, 7, 8)
    assert files["origin"] == struct.pack("<4I", 0, 12, 3, 2**32 - 1)
    assert dataclasses.asdict(entry) == {
        "pairs": 2,
        "tokens": {"fr": 2, "en": 4},
        "text_bytes": {"fr": 5, "en": 8},
    }


@given(records=RECORDS)
@folders
def test_what_was_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record]
) -> None:
    split = make_data(tmp_path_factory.mktemp("data"), records).split("train")
    assert len(split) == len(records)
    for pair, written in enumerate(records):
        assert split.text("fr", pair) == written.source
        assert split.text("en", pair) == written.target
        assert split.tokens("fr", pair).tolist() == written.source_ids
        assert split.tokens("en", pair).tolist() == written.target_ids
        assert split.origin(pair) == (written.corpus, written.line)
    assert split.lengths("fr", np.arange(len(split))).tolist() == [
        len(r.source_ids) for r in records
    ]
    assert split.lengths("en", np.arange(len(split))).tolist() == [
        len(r.target_ids) for r in records
    ]


def test_several_rows_are_the_single_rows_in_the_order_asked_for(data: PreparedData) -> None:
    split = data.split("train")
    pairs = np.array([2, 0, 2, 1])
    tokens, lengths = split.rows("fr", pairs)
    assert tokens.tolist() == [i for pair in pairs for i in split.tokens("fr", pair).tolist()]
    assert lengths.tolist() == split.lengths("fr", pairs).tolist() == [5, 3, 5, 0]
    assert split.corpora(pairs).tolist() == [0, 0, 0, 0]
    nothing, none = split.rows("fr", pairs[:0])
    assert nothing.tolist() == none.tolist() == []


def test_an_empty_split_has_length_zero(tmp_path: Path) -> None:
    split = make_data(tmp_path / "DATA", []).split("train")
    assert len(split) == 0
    assert split.lengths("fr", np.arange(len(split))).tolist() == []
    split.release()


def test_a_split_opens_its_files_anew_in_another_process(data: PreparedData) -> None:
    split = data.split("train")
    here = [split.text("en", pair) for pair in range(len(split))]  # so that its maps are open
    code = (
        "import pickle, sys; split = pickle.loads(sys.stdin.buffer.read())\n"
        "sys.stdout.buffer.write(pickle.dumps([split.text('en', n) for n in range(len(split))]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(split), capture_output=True, check=True
    )
    assert pickle.loads(done.stdout) == here


def resident_file_pages() -> int:
    status = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in status if line.startswith("Shared_Clean")) + sum(
        int(line.split()[1]) for line in status if line.startswith("Private_Clean")
    )


def test_released_pages_leave_the_memory_and_come_back(tmp_path: Path) -> None:
    ids = list(range(20, 300)) * 100
    split = make_data(tmp_path / "DATA", [record(ids, ids)] * 100).split("train")
    total = sum(split.tokens("fr", pair).sum() for pair in range(100))  # 5.6 MB
    before = resident_file_pages()
    split.release()
    assert before - resident_file_pages() > 5000
    assert sum(split.tokens("fr", pair).sum() for pair in range(100)) == total


def test_a_large_split_gives_its_pages_back_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = list(range(20, 300)) * 100
    data = make_data(tmp_path / "DATA", [record(ids, ids)] * 100)
    everything = np.arange(100)

    def grown() -> int:
        split = data.split("train")
        before = resident_file_pages()
        tokens, lengths = split.rows("fr", everything)
        assert tokens.tolist() == ids * 100
        assert lengths.tolist() == [len(ids)] * 100
        for pair in range(100):
            assert split.text("en", pair).endswith(" 299")
            assert split.tokens("en", pair).tolist() == ids
        return resident_file_pages() - before

    assert grown() > 10_000
    monkeypatch.setattr("translucid.data.shards._SMALL", 0)
    monkeypatch.setattr("translucid.data.shards._SENTENCES_BETWEEN_RELEASES", 7)
    assert grown() < 5_000


# ------------------------------------------------------------------------------ merging


@given(records=RECORDS, cuts=st.lists(st.integers(0, 9), max_size=4), block=st.integers(1, 4))
@folders
def test_merged_parts_do_not_depend_on_where_they_were_cut(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], cuts: list[int], block: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    bounds = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    parts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translucid.data.shards._RECORDS_AT_A_TIME", block)
        patch.setattr("translucid.data.shards._OFFSETS_AT_A_TIME", block)
        for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
            parts.append(folder / f"{number}")
            write_part(parts[-1], records[begin:end], LAYOUT)
        merged = merge_parts(parts, folder / "merged", LAYOUT)
    whole = write_part(folder / "whole", records, LAYOUT)
    assert content(folder / "merged") == content(folder / "whole")
    assert merged == whole == measure(folder / "merged", LAYOUT)


def test_no_parts_merge_to_an_empty_split(tmp_path: Path) -> None:
    assert merge_parts([], tmp_path / "merged", LAYOUT) == measure(tmp_path / "merged", LAYOUT)
    assert measure(tmp_path / "merged", LAYOUT).pairs == 0


def test_memory_of_merging_does_not_grow_with_the_data(tmp_path: Path) -> None:
    write_part(tmp_path / "part", records_of_lengths(random_lengths(20_000)), LAYOUT)

    def peak(parts: int) -> int:
        tracemalloc.start()
        merge_parts([tmp_path / "part"] * parts, tmp_path / "merged", LAYOUT)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    assert peak(10) < 1.2 * peak(1)


def test_a_damaged_part_is_not_merged(tmp_path: Path) -> None:
    write_part(tmp_path / "part", records_of_lengths([(3, 1), (2, 2)]), LAYOUT)
    (tmp_path / "part" / "en.tokens").write_bytes(b"1234")
    with pytest.raises(DataError, match=r"en\.tokens: the file has 4 bytes instead of 6"):
        merge_parts([tmp_path / "part"], tmp_path / "merged", LAYOUT)
    assert not (tmp_path / "merged").exists()


# ------------------------------------------------------------------------------ all or nothing


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> object:
        yield from records_of_lengths([(3, 1)])
        raise KeyError("bad line")

    with pytest.raises(KeyError):
        write_part(tmp_path / "part", failing(), LAYOUT)
    assert list(tmp_path.iterdir()) == []


def test_a_part_replaces_an_older_one(tmp_path: Path) -> None:
    for lengths in ([(3, 1), (2, 2)], [(1, 1)]):
        write_part(tmp_path / "part", records_of_lengths(lengths), LAYOUT)
    assert measure(tmp_path / "part", LAYOUT).pairs == 1
    assert [path.name for path in tmp_path.iterdir()] == ["part"]


def test_a_killed_writer_leaves_no_part_and_can_start_again(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from translucid.data.shards import Layout, Record, write_part\n"
        "def records():\n"
        "    for line in range(10_000): yield Record('a', 'b', [20, 21], [22], 0, line)\n"
        "    print('half', flush=True); sys.stdin.read()\n"
        "write_part(Path(sys.argv[1]), records(), Layout(('fr', 'en'), 300))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "part")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        assert not (tmp_path / "part").exists()
        assert (tmp_path / "part.translucid-partial").exists()
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert not (tmp_path / "part").exists()
    subprocess.run(command, input=b"", capture_output=True, check=True)
    assert measure(tmp_path / "part", LAYOUT).pairs == 10_000
    assert list(tmp_path.iterdir()) == [tmp_path / "part"]


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("wrong", [0, 300, -1])
def test_a_token_that_cannot_be_is_not_written(tmp_path: Path, wrong: int) -> None:
    bad = Record("a", "b", [20], [21, wrong], corpus=2, line=41)
    with pytest.raises(InputError, match=rf"token id {wrong} \(en side, corpus 2, line 41\)") as e:
        write_part(tmp_path / "part", [*records_of_lengths([(1, 1)]), bad], LAYOUT)
    assert "ids go from 1 to 299" in str(e.value)
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_no_unicode_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lone surrogate U\+D800"):
        write_part(tmp_path / "part", [Record("a\ud800", "b", [20], [21], 0, 1)], LAYOUT)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("missing", [1, 8])
def test_a_truncated_file_is_refused_by_name(data: PreparedData, name: str, missing: int) -> None:
    path = data.folder / "train" / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing])
    with pytest.raises(DataError) as caught:
        open_data(data.folder)
    assert caught.value.path == path
    assert f"has {len(whole) - missing:,} bytes instead of {len(whole):,}" in str(caught.value)
    assert "Run `translucid prepare` again." in str(caught.value)


def test_a_missing_file_is_refused_by_name(data: PreparedData) -> None:
    (data.folder / "train" / "en.offsets").unlink()
    with pytest.raises(DataError, match=r"train/en\.offsets: the file is missing"):
        open_data(data.folder)


def test_offsets_that_end_elsewhere_are_refused(data: PreparedData) -> None:
    path = data.folder / "train" / "fr.offsets"
    path.write_bytes(path.read_bytes()[:-8] + struct.pack("<Q", 9))
    with pytest.raises(DataError, match=r"fr\.offsets: the last offset is 9 instead of 8"):
        open_data(data.folder)


def test_an_empty_index_of_a_part_is_refused(tmp_path: Path) -> None:
    write_part(tmp_path / "part", [], LAYOUT)
    (tmp_path / "part" / "fr.offsets").write_bytes(b"")
    with pytest.raises(DataError, match="0 bytes, which is not a whole number of 8-byte offsets"):
        measure(tmp_path / "part", LAYOUT)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no such folder .*\n  Run `translucid prepare"):
        open_data(tmp_path / "nowhere")


def test_an_unfinished_folder_is_refused(data: PreparedData) -> None:
    (data.folder / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"preparation was not finished \(no manifest\.json\)"):
        open_data(data.folder)


def test_another_tokenizer_is_refused(data: PreparedData) -> None:
    data.tokenizer_path.write_bytes(b"another")
    with pytest.raises(DataError, match=r"tokenizer\.model: this is not the tokenizer that made"):
        open_data(data.folder)
    data.tokenizer_path.unlink()
    with pytest.raises(DataError, match=rf"{TOKENIZER}: the file is missing"):
        open_data(data.folder)


def test_unknown_splits_languages_and_pairs_are_refused(data: PreparedData) -> None:
    with pytest.raises(InputError, match=r"no split 'trian'; did you mean 'train'\?"):
        data.split("trian")
    split = data.split("train")
    with pytest.raises(InputError, match="no language 'de'; it has fr and en"):
        split.tokens("de", 0)
    for pair in (-1, 3):
        with pytest.raises(InputError, match=rf"no pair {pair}: it has 3, counted from 0"):
            split.text("fr", pair)
        with pytest.raises(InputError, match=rf"no pair {pair}"):
            split.origin(pair)


# ------------------------------------------------------------------------------ manifest


def test_lower_case_stands_in_the_manifest_of_such_text_only(data: PreparedData) -> None:
    """A run knows its data by this text: folders from before there was such text keep theirs."""
    before = data.manifest.to_json()
    assert "lowercase" not in before
    lower = dataclasses.replace(data.manifest, lowercase=True)
    assert json.loads(lower.to_json()) == {**json.loads(before), "lowercase": True}
    assert Manifest.from_json(lower.to_json(), Path("manifest.json")) == lower


def test_target_pieces_stand_in_the_manifest_where_there_are_fewer(data: PreparedData) -> None:
    before, entry = data.manifest.to_json(), data.manifest.tokenizer
    assert "target_pieces" not in before
    assert entry.sizes == (entry.vocab_size, entry.vocab_size)
    fewer = dataclasses.replace(
        data.manifest, tokenizer=dataclasses.replace(entry, target_pieces=280)
    )
    assert Manifest.from_json(fewer.to_json(), Path("manifest.json")) == fewer
    assert fewer.tokenizer.sizes == (entry.vocab_size, 280)
    both = dataclasses.replace(fewer, directions=(("fr", "en"), ("en", "fr")))
    with pytest.raises(DataError, match=r"target_pieces: only BPE and data of one"):
        Manifest.from_json(both.to_json(), Path("manifest.json"))
    for size in (275, entry.vocab_size + 1):
        text = fewer.to_json().replace('"target_pieces": 280', f'"target_pieces": {size}')
        with pytest.raises(
            DataError, match=rf"must be from 276 to the vocabulary's .*, not {size}"
        ):
            Manifest.from_json(text, Path("manifest.json"))


def test_the_manifest_comes_back_from_its_json(data: PreparedData) -> None:
    text = data.manifest.to_json()
    assert Manifest.from_json(text, Path("manifest.json")) == data.manifest
    assert json.loads(text)["directions"] == [["fr", "en"]]
    assert data.manifest.layout == LAYOUT


def changed(**changes: object) -> str:
    return json.dumps({**json.loads(manifest_of({}).to_json()), **changes})


def test_a_newer_folder_is_refused_whatever_else_it_says() -> None:
    with pytest.raises(DataError, match=rf"version {VERSION + 1}; this translucid reads up to 1"):
        Manifest.from_json(json.dumps({"version": VERSION + 1, "new": []}), Path("manifest.json"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"version": 1,\n', r"manifest\.json, line 3: not valid JSON"),
        ("[]", "content: Input should be"),
        (changed(tagged="perhaps"), "tagged: Input should be a valid boolean"),
        (changed(corpora=[{}]), r"corpora\.0\.paths: Field required; corpora\.0\.weight: Field"),
        (changed(languages={"en": 0}), "languages gives no tag slot to 'fr'"),
        (changed(languages={"en": 0, "fr": 0}), r"tag slots must be different and from 0 to 15"),
        (changed(languages={"en": 0, "fr": 16}), r"from 0 to 15, not \[0, 16\]"),
        (changed(directions=[]), "directions: must be one or two different ones"),
        (changed(directions=[["fr", "de"]]), "does not join 'fr' and 'en'"),
        (changed(source_lang="../x"), r"'\.\./x' cannot be the name of a language or split"),
        (changed(splits={"dev": {"pairs": 0, "tokens": {}, "text_bytes": {}}}), "splits.dev: must"),
        (
            changed(corpora=[{"paths": ["a"], "weight": -1.0, "pairs": 1}]),
            r"corpora\.0\.weight: must be 0 or more, not -1\.0",
        ),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Manifest.from_json(text, Path("manifest.json"))
    assert "Restore the file, or run `translucid prepare` again." in str(caught.value)


def test_a_manifest_that_is_no_text_is_refused(data: PreparedData) -> None:
    (data.folder / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not valid UTF-8"):
        open_data(data.folder)
