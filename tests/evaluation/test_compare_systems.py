"""Paired tests are those of sacrebleu's own command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import sacrebleu_command
from scored_texts import damaged, references
from translucid.errors import InputError
from translucid.evaluation.compare import Comparison, compare, is_significant
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.system import System
from translucid.events import Event, Notice, Progress

REFERENCES = references(50, seed=7)
GIVEN = ReferenceSet("x", tuple(f"source {i}" for i in range(50)), (tuple(REFERENCES),))
SYSTEMS = [
    System("first", tuple(damaged(REFERENCES, 0.4, seed=8))),
    System("second", tuple(damaged(REFERENCES, 0.3, seed=9))),
    System("third", tuple(damaged(REFERENCES, 0.7, seed=10))),
]
RESAMPLES, TRIALS = 120, 150


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(SYSTEMS, GIVEN, target="en", resamples=RESAMPLES, trials=TRIALS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    folder = tmp_path_factory.mktemp("files")
    outputs = [
        sacrebleu_command.write_lines(folder / system.name, system.texts) for system in SYSTEMS
    ]
    return sacrebleu_command.write_lines(folder / "refs", REFERENCES), outputs


def test_paired_bootstrap_equals_sacrebleus(
    found: Comparison, files: tuple[Path, list[Path]]
) -> None:
    rows, signatures = sacrebleu_command.paired(
        [files[0]], files[1], "--paired-bs", "--paired-bs-n", str(RESAMPLES)
    )
    assert [metric.metric for metric in found.metrics] == ["BLEU", "chrF2", "TER"]
    assert [metric.signatures[0] for metric in found.metrics] == signatures
    for column, metric in enumerate(found.metrics):
        for our, row in zip(metric.systems, rows, strict=True):
            theirs = row[column]
            assert our.score == pytest.approx(theirs.score, abs=1e-6)
            assert our.mean == pytest.approx(theirs.mean, abs=2e-6)
            assert our.margin == pytest.approx(theirs.margin, abs=2e-6)
            if theirs.p is None:
                assert our.p_bootstrap is None
            else:
                assert our.p_bootstrap == pytest.approx(theirs.p, abs=5e-5)


def test_paired_approximate_randomisation_equals_sacrebleus(
    found: Comparison, files: tuple[Path, list[Path]]
) -> None:
    rows, signatures = sacrebleu_command.paired(
        [files[0]], files[1], "--paired-ar", "--paired-ar-n", str(TRIALS)
    )
    assert [metric.signatures[1] for metric in found.metrics] == signatures
    for column, metric in enumerate(found.metrics):
        p_values = [row[column].p for row in rows]
        assert p_values[0] is metric.systems[0].p_randomization is None
        assert [one.p_randomization for one in metric.systems[1:]] == pytest.approx(
            p_values[1:], abs=5e-5
        )


def test_one_of_the_tests_may_be_left_out() -> None:
    only = compare(SYSTEMS[:2], GIVEN, target="en", resamples=0, trials=50)
    second = only.metrics[0].systems[1]
    assert second.p_bootstrap is second.mean is None
    assert second.p_randomization is not None
    assert second.score == pytest.approx(
        compare(SYSTEMS[:2], GIVEN, target="en", resamples=50, trials=0).metrics[0].systems[1].score
    )
    with pytest.raises(InputError, match="at least one of the tests"):
        compare(SYSTEMS[:2], GIVEN, target="en", resamples=0, trials=0)


def test_the_sentences_that_differ_most_come_first(found: Comparison) -> None:
    most = found.most_different(10)
    spreads = [max(one.chrf) - min(one.chrf) for one in found.sentences]
    assert [one.spread for one in most] == sorted(spreads, reverse=True)[:10]
    for one in most:
        assert one.translations == tuple(system.texts[one.line - 1] for system in SYSTEMS)
        assert one.source == GIVEN.sources[one.line - 1]


def test_wins_against_the_baseline() -> None:
    given = ReferenceSet("x", ("1", "2", "3", "4"), (("aaaa", "bbbb", "cccc", "dddd"),))
    base = System("base", ("aaaa", "xxxx", "cccc", "qqqq"))
    other = System("other", ("xxxx", "bbbb", "cccc", "rrrr"))
    found = compare([base, other], given, target="en", resamples=10, trials=0)
    assert found.wins(1) == {"better": 1, "worse": 1, "alike": 2, "same": 1}
    assert [one.line for one in found.most_different(9)] == [1, 2]


def test_a_system_against_its_own_copy() -> None:
    twin = System("twin", SYSTEMS[0].texts)
    found = compare([SYSTEMS[0], twin], GIVEN, target="en", resamples=100, trials=100)
    assert found.most_different(5) == ()
    for metric in found.metrics:
        assert metric.systems[1].score == metric.systems[0].score
        assert metric.systems[1].p_randomization is not None
        assert metric.systems[1].p_randomization < 1 / 100  # no trial gives more than nothing
        assert not is_significant(metric.systems[1].p_randomization, *reversed(metric.systems))


def test_only_a_small_p_value_is_significant(found: Comparison) -> None:
    baseline, second, _ = found.metrics[0].systems
    assert is_significant(0.049, second, baseline)
    assert not is_significant(0.05, second, baseline)
    assert not is_significant(None, second, baseline)


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        (SYSTEMS[:1], "needs two or more systems, not 1"),
        ([SYSTEMS[0], SYSTEMS[0]], "two systems are named 'first'"),
        ([SYSTEMS[0], System("short", ("x",))], "short has 1 translations of 50 sentences"),
    ],
)
def test_systems_that_cannot_be_compared(systems: list[System], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(systems, GIVEN, target="en", resamples=10, trials=10)


def test_much_memory_and_tokenised_text_are_told_of() -> None:
    events: list[Event] = []
    given = ReferenceSet("x", ("a",) * 120, (("It is.",) * 120,))
    systems = [System("tokens", ("It is .",) * 120), System("text", ("It is.",) * 120)]
    compare(systems, given, target="en", resamples=2, trials=2, on_event=events.append)
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert len(notices) == 1
    assert notices[0].startswith("120 translations of tokens end in ' .'")
    assert events[-1] == Progress("testing", 3, 3, "metrics")
