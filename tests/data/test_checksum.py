"""Whether a file is the one that is meant."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.checksums import compute_checksum
from translucid.data.known_corpora import KnownContent


def known(data: bytes) -> KnownContent:
    return KnownContent("thing", len(data), hashlib.sha256(data).hexdigest())


@given(meant=st.binary(max_size=20), there=st.binary(max_size=20))
def test_a_file_is_known_exactly_if_it_has_the_known_bytes(
    meant: bytes, there: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "checked"
    path.write_bytes(there)
    assert compute_checksum(path).sha256 == hashlib.sha256(there).hexdigest()
    assert known(meant).is_at(path) == (meant == there)
    assert known(there).is_at(path)


def test_nothing_and_a_folder_are_not_known_files(tmp_path: Path) -> None:
    assert not known(b"").is_at(tmp_path / "nothing")
    assert not known(b"").is_at(tmp_path)


def test_the_message_gives_both_sums_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    error = known(b"xy").describe_difference(
        tmp_path / "file", origin="elsewhere", remedy="Look again."
    )
    assert str(error) == (
        "elsewhere: this is not the known thing:\n"
        f"  expected sha256 {hashlib.sha256(b'xy').hexdigest()} (2 bytes)\n"
        f"  actual   sha256 {hashlib.sha256(b'abc').hexdigest()} (3 bytes)\n"
        "  Look again."
    )
