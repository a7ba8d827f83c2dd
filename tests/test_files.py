"""Files and folders that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from translucid.files import (
    OLD_SUFFIX,
    PARTIAL_SUFFIX,
    new_file,
    new_folder,
    recover_folder,
    synced,
)


def interrupted_after(done: object) -> None:
    raise KeyboardInterrupt


def test_a_file_takes_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    with new_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_file_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), new_file(path) as file:
        interrupted_after(file.write(b"half"))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def fill(folder: Path, name: str) -> None:
    with synced(folder / name) as file:
        file.write(b"content")


def test_a_folder_replaces_the_old_one_and_the_remains_of_a_killed_process(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "part"
    for name in ("first", "second"):
        (tmp_path / "deep" / "part.translucid-partial").mkdir(parents=True)
        (tmp_path / "deep" / "part.translucid-partial" / "remains").touch()
        with new_folder(folder) as draft:
            fill(draft, name)
        assert [path.name for path in folder.iterdir()] == [name]
    assert [path.name for path in folder.parent.iterdir()] == ["part"]


def test_a_failed_folder_leaves_the_old_one(tmp_path: Path) -> None:
    with new_folder(tmp_path / "part") as draft:
        fill(draft, "old")
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "part") as draft:
        interrupted_after(fill(draft, "half"))
    assert [path.name for path in tmp_path.iterdir()] == ["part"]
    assert [path.name for path in (tmp_path / "part").iterdir()] == ["old"]


def test_what_a_person_has_kept_beside_it_stays(tmp_path: Path) -> None:
    """`mv model model.old` before making a new one is what people do."""
    for name in ("part.old", "part.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dear").touch()
    (tmp_path / "text.partial").write_text("mine")
    for content in ("first", "second"):
        with new_folder(tmp_path / "part") as draft:
            fill(draft, content)
        with new_file(tmp_path / "text") as file:
            file.write(content.encode())
    kept = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert kept == [
        *("part", "part.old", "part.old/dear", "part.partial", "part.partial/dear"),
        *("part/second", "text", "text.partial"),
    ]
    assert (tmp_path / "text.partial").read_text() == "mine"


@pytest.mark.parametrize("renamed", [False, True], ids=["before", "after"])
def test_killed_between_the_two_renames(tmp_path: Path, renamed: bool) -> None:
    """The old folder is away and the new one not there yet, or just there."""
    folder, former = tmp_path / "part", tmp_path / f"part.{OLD_SUFFIX}"
    former.mkdir()
    fill(former, "old")
    draft = folder if renamed else tmp_path / f"part.{PARTIAL_SUFFIX}"
    draft.mkdir()
    fill(draft, "new")
    recover_folder(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["part"]
    assert [path.name for path in folder.iterdir()] == ["new" if renamed else "old"]
