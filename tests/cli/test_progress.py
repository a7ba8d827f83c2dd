"""What people see of a long job: plain lines without a terminal, bars with one."""

from __future__ import annotations

import io

from rich.console import Console

from translucid.cli.display import (
    SECONDS_BETWEEN_LINES,
    _Lines,
    describe,
    show_progress,
    stderr_console,
)
from translucid.events import Event, Notice, Progress, silent


def lines(timed: list[tuple[float, Event]]) -> list[str]:
    """Return what is written for events that come at the given seconds."""
    written: list[str] = []
    now = 0.0
    display = _Lines(written.append, lambda: now)
    for now, event in timed:  # noqa: B007
        display.show(event)
    display.finish()
    return written


def test_a_stage_speaks_at_its_start_now_and_then_and_at_its_end() -> None:
    timed = [(i / 10, Progress("encoding", i, 300, "pairs")) for i in range(301)]
    written = lines(timed)
    assert written[0] == "encoding: 0 of 300 pairs (0 %)"
    assert written[-1] == "encoding: 300 of 300 pairs (100 %), 10 pairs/s"
    assert len(written) == 1 + 30 / SECONDS_BETWEEN_LINES


def test_the_last_state_of_a_stage_without_total_is_told_when_the_next_begins() -> None:
    written = lines(
        [
            (0, Progress("reading", 0, None, "pairs")),
            (1, Progress("reading", 500, None, "pairs")),
            (2, Progress("encoding", 0, 0, "pairs")),
        ]
    )
    assert written == [
        "reading: 0 pairs",
        "reading: 500 pairs, 250 pairs/s",
        "encoding: 0 of 0 pairs",
    ]


def test_nothing_is_said_twice() -> None:
    done = Progress("cleaning", 10, 10, "pairs")
    assert len(lines([(0, Progress("cleaning", 1, 10, "pairs")), (1, done), (2, done)])) == 2


def test_a_notice_is_written_as_it_is() -> None:
    assert lines([(0, Notice("note: [x] 5 %"))]) == ["note: [x] 5 %"]


def test_time_left_follows_from_the_speed() -> None:
    text = describe(Progress("encoding", 1_000, 8_201_000, "pairs"), 1.0)
    assert text == "encoding: 1,000 of 8,201,000 pairs (0 %), 1,000 pairs/s, 2:16:40 left"


def test_the_speed_is_that_of_what_is_done_now_not_of_what_was_there() -> None:
    resumed = [(0.0, Progress("study", 900, 1_000, "steps"))]
    resumed.append((10.0, Progress("study", 920, 1_000, "steps")))
    assert lines([*resumed]) == [
        "study: 900 of 1,000 steps (90 %)",
        "study: 920 of 1,000 steps (92 %), 2 steps/s, 0:00:40 left",
    ]


def test_a_terminal_gets_bars_with_count_and_notices_above() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120, markup=False)
    with show_progress(console) as emit:
        emit(Progress("reading", 5, None, "pairs"))
        emit(Notice("note: [b]no markup[/b]"))
        emit(Progress("encoding", 20_000, 20_000, "pairs"))
    text = console.file.getvalue()
    assert "note: [b]no markup[/b]" in text
    assert "5/5 pairs" in text
    assert "20,000/20,000 pairs" in text


def test_without_a_terminal_there_is_no_colour_and_no_bar(capsys) -> None:
    with show_progress(stderr_console()) as emit:
        emit(Progress("encoding", 1, 1, "pairs"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "encoding: 1 of 1 pairs (100 %)\n"


def test_an_event_can_be_ignored() -> None:
    assert silent(Notice("x")) is None
