"""Results that can be gone on with, whenever the process was killed."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translucid.cli.resumable_output import resumable_output, unfinished_folder
from translucid.errors import BusyError, DataError, InputError, TranslucidError
from translucid.files import locked

WORK = {"input": "a book", "beam": "4"}
RESULTS = [b"one\n", b"two\nthree\n", b"", b"four\n"]


class KilledError(Exception):
    """Ends a run as a kill would: nothing is tidied up behind it."""


def run(path: Path, *, resume: bool, stop_after: int | None = None, work: object = None) -> int:
    """Write RESULTS, or go on with them; return how many lines were done before."""
    with resumable_output(path, work or WORK, resume=resume) as output:  # type: ignore[arg-type]
        before = output.lines
        for number, result in enumerate(RESULTS[before:], start=before):
            if number == stop_after:
                raise KilledError
            output.write(result, 1)
    return before


def stopped(path: Path, after: int) -> None:
    with pytest.raises(KilledError):
        run(path, resume=False, stop_after=after)


def test_a_run_to_its_end_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "out"
    assert run(path, resume=False) == 0
    assert path.read_bytes() == b"".join(RESULTS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@settings(max_examples=25)
@given(after=st.integers(1, 3), torn=st.binary(max_size=12))
def test_what_goes_on_equals_what_was_never_stopped(
    tmp_path_factory: pytest.TempPathFactory, after: int, torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("run") / "out"
    stopped(path, after)
    with path.open("ab") as file:
        file.write(torn)  # written by a process that was killed before it could record it
    assert run(path, resume=True) == after
    assert path.read_bytes() == b"".join(RESULTS)
    assert not unfinished_folder(path).exists()


def test_resume_begins_where_there_is_nothing(tmp_path: Path) -> None:
    assert run(tmp_path / "out", resume=True) == 0
    (tmp_path / "empty").touch()
    assert run(tmp_path / "empty", resume=True) == 0


def test_an_older_file_is_replaced_when_there_is_something_to_put_in_its_place(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out"
    path.write_text("something much longer than all of the results together\n")
    with pytest.raises(KilledError):
        run(path, resume=False, stop_after=0)
    assert path.read_text().startswith("something")
    assert not unfinished_folder(path).exists()
    run(path, resume=False)
    assert path.read_bytes() == b"".join(RESULTS)


def test_no_results_at_all_are_an_empty_file(tmp_path: Path) -> None:
    with resumable_output(tmp_path / "out", WORK, resume=False):
        pass
    assert (tmp_path / "out").read_bytes() == b""


def test_unfinished_results_are_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "out"
    stopped(path, 2)
    with pytest.raises(
        InputError, match="is unfinished: continue with the same command and --resume"
    ):
        run(path, resume=False)
    assert run(path, resume=True) == 2


def test_finished_results_are_not_thrown_away_by_resume(tmp_path: Path) -> None:
    path = tmp_path / "out"
    run(path, resume=False)
    with pytest.raises(InputError, match="is not marked as unfinished"):
        run(path, resume=True)
    assert path.read_bytes() == b"".join(RESULTS)
    assert not unfinished_folder(path).exists()


def test_other_work_is_refused_with_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "out"
    stopped(path, 2)
    other = {"input": "a book", "beam": "5", "seed": "1"}
    with pytest.raises(InputError) as caught:
        run(path, resume=True, work=other)
    assert "beam was 4 and is now 5; seed was not known and is now 1." in str(caught.value)
    assert "input was" not in str(caught.value)
    assert str(unfinished_folder(path)) in str(caught.value)
    assert run(path, resume=True) == 2


@pytest.mark.parametrize("change", ["other", "shorter", "gone"])
def test_a_file_that_was_changed_since_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "out"
    stopped(path, 2)
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(b"ONE\ntwo\nthree\n" if change == "other" else b"one\ntwo\n")
    with pytest.raises(DataError, match="it was changed since"):
        run(path, resume=True)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "is damaged"),
        ('{"version": 1}', "is damaged"),
        ('{"version": 9, "work": {}, "lines": 0, "bytes": 0, "sha256": ""}', "is of version 9"),
    ],
)
def test_a_record_that_cannot_be_used(tmp_path: Path, record: str, message: str) -> None:
    path = tmp_path / "out"
    stopped(path, 2)
    (unfinished_folder(path) / "progress.json").write_text(record)
    with pytest.raises(DataError, match=message) as caught:
        run(path, resume=True)
    assert "To start over, remove" in str(caught.value)


def test_the_record_says_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "out"
    stopped(path, 2)
    record = json.loads((unfinished_folder(path) / "progress.json").read_text())
    assert (record["lines"], record["bytes"], record["work"]) == (2, 14, WORK)


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    stopped(path, 2)
    with locked(unfinished_folder(path)), pytest.raises(BusyError):
        run(path, resume=True)
    assert run(path, resume=True) == 2


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        run(tmp_path / "none" / "out", resume=False)


def overfilled(path: Path) -> None:
    """Write more than fits: the limit is met in the middle of a write."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with resumable_output(path, WORK, resume=False) as output:
        output.write(b"kept\n", 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            output.write(b"x" * 2000, 1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    full = "out cannot be written: File too large"
    with pytest.raises(TranslucidError, match=rf"{full}.*\n.*--resume"):
        overfilled(path)
    assert path.stat().st_size == 1000
    with resumable_output(path, WORK, resume=True) as output:
        assert output.lines == 1
    assert path.read_bytes() == b"kept\n"
