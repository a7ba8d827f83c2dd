"""Windows of lines: order kept, first results soon, the same ones when a file is gone on with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.cli.line_files import Line, ReadyLines
from translucid.cli.translate import Pipeline, remaining_windows, translate_lines, windows
from translucid.cli.translation_output import Form
from translucid.errors import InputError
from translucid.events import Emit, Event, Progress, silent
from translucid.translator import Candidate, Flags, Translation

PLAIN = Form("text", n_best=False, alignment=False, word_scores=False)


class Shouting:
    """Stands for a translator: capitals, and a report after each half of its work."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts: Sequence[str], emit: Emit) -> list[Translation]:
        self.calls.append(list(texts))
        for half in (1, 2):
            emit(Progress("translate", half, 2, "sentences"))
        return [
            Translation(text, (Candidate(text.upper(), (), (), 0.0, 0, 0.0, "end"),), Flags(), None)
            for text in texts
        ]


class Kept:
    """An output that keeps what it is given, call by call."""

    def __init__(self) -> None:
        self.writes: list[tuple[bytes, int]] = []

    def write(self, results: bytes, lines: int) -> None:
        self.writes.append((results, lines))


def run(texts: list[str], batch_size: int, done: int) -> tuple[Shouting, Kept, list[Event]]:
    lines = (Line(n, text, "\n", False) for n, text in enumerate(texts, start=1))
    shouting, kept, events = Shouting(), Kept(), list[Event]()
    pipeline = Pipeline(
        source=ReadyLines(islice(lines, done, None)),
        translate=shouting,
        form=PLAIN,
        output=kept,
        sizes=remaining_windows(done, batch_size),
        total=len(texts) - done,
    )
    tally = translate_lines(pipeline, events.append)
    assert tally.lines == len(texts) - done
    return shouting, kept, events


def test_the_first_window_is_a_batch_and_later_ones_are_larger() -> None:
    assert list(islice(windows(10), 6)) == [10, 20, 40, 80, 80, 80]
    assert list(islice(remaining_windows(0, 10), 2)) == [10, 20]
    assert list(islice(remaining_windows(30, 10), 2)) == [40, 80]
    assert list(islice(remaining_windows(35, 10), 2)) == [80, 80]  # the whole file had 35 lines


@given(st.lists(st.text("ab", max_size=3), max_size=60), st.integers(1, 5), st.data())
def test_gone_on_with_after_any_window_all_is_the_same(
    texts: list[str], batch_size: int, data: st.DataObject
) -> None:
    shouting, whole, _ = run(texts, batch_size, 0)
    assert (
        b"".join(results for results, _ in whole.writes)
        == "".join(f"{text.upper()}\n" for text in texts).encode()
    )
    kept = data.draw(st.integers(0, len(whole.writes)))
    done = sum(lines for _, lines in whole.writes[:kept])
    later, rest, _ = run(texts, batch_size, done)
    assert whole.writes[kept:] == rest.writes
    assert shouting.calls[kept:] == later.calls


def test_progress_is_told_in_lines_inside_a_window_too() -> None:
    _, _, events = run(["a"] * 30, 10, 0)
    assert [event.done for event in events if isinstance(event, Progress)] == [
        *(0, 5, 10, 10),
        *(20, 30, 30),
    ]
    assert {(event.stage, event.total) for event in events if isinstance(event, Progress)} == {
        ("translating", 30)
    }


def test_an_error_in_a_text_says_which_lines_were_translated() -> None:
    def refuse(texts: Sequence[str], emit: Emit) -> list[Translation]:
        del texts, emit
        raise InputError("text 2: it does not fit")

    lines = (Line(number, "a", "\n", False) for number in range(31, 36))
    pipeline = Pipeline(ReadyLines(lines), refuse, PLAIN, Kept(), windows(4), None)
    with pytest.raises(InputError, match="lines 31 to 34, of which 31 is text 1: text 2: it does"):
        translate_lines(pipeline, silent)
