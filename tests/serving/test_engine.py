"""The engine gives what the translator gives, whoever else is being served; and it ends well."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_engines import RecordedEvents, babbling, ended, in_loop, running, taught, until

from small_translators import sentences
from translucid.decoding.config import SearchConfig
from translucid.errors import ConfigError, InputError
from translucid.serving.engine.engine import READ_AT_ONCE
from translucid.serving.engine.tasks import Draining, Full, TimedOut, check_cancelled
from translucid.translator import Translation

ENDLESS = SearchConfig(beam=4, min_length=400, max_length=400, loop_guard=False)
SEARCHES = [
    None,
    SearchConfig(method="greedy", max_length=12),
    SearchConfig(beam=3, n_best=3, max_length=12),
    SearchConfig(beam=2, coverage_penalty=0.3, max_length=12),
    SearchConfig(method="sampling", samples=3, n_best=2, max_length=12, seed=3),
    SearchConfig(method="mbr", samples=3, max_length=12),
]
TEXTS = st.one_of(
    st.sampled_from([*sentences(30, seed=4), "", " \n ", "chat noir\n\n  livre rouge dort\n"]),
    # No line twice: exchanging its hypotheses would give two translations of equal score.
    st.lists(st.sampled_from(sentences(30, seed=5)), min_size=2, max_size=4, unique=True).map(
        "\n".join
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    texts = draw(st.lists(TEXTS, max_size=3))
    asked: dict[str, Any] = {"texts": texts, "search": draw(st.sampled_from(SEARCHES))}
    if asked["search"] is None or asked["search"].method == "beam":
        asked["terms"] = draw(st.sampled_from([None, {"chat": "tree"}, {"noir": "old"}]))
    if draw(st.booleans()):
        asked["prefix"] = draw(
            st.lists(st.sampled_from(["", "old", "red"]), min_size=len(texts), max_size=len(texts))
        )
    asked["forbidden"] = draw(st.sampled_from([(), ("water",)]))
    asked["keep"] = draw(st.sampled_from([(), ("rouge",)]))
    asked["alignment"] = draw(st.booleans())
    return asked


def check_same(found: list[Translation], expected: list[Translation]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.source, one.flags) == (other.source, other.flags)
        assert [c.text for c in one.n_best] == [c.text for c in other.n_best]
        assert [c.tokens for c in one.n_best] == [c.tokens for c in other.n_best]
        assert one.score == pytest.approx(other.score, abs=1e-3)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-3)
        assert (one.alignment is None) == (other.alignment is None)
        if one.alignment is not None and other.alignment is not None:
            assert one.alignment.links == other.alignment.links
            for row, same in zip(one.alignment.weights, other.alignment.weights, strict=True):
                assert row == pytest.approx(same, abs=1e-4)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(requests(), min_size=1, max_size=6),
    st.integers(1, 8),
    st.sampled_from([30, 8000]),
    st.integers(1, 2),
)
def test_any_mix_gives_what_the_translator_gives(
    asked: list[dict[str, Any]], batch_sentences: int, batch_tokens: int, workers: int
) -> None:
    translator = taught().translator

    async def test() -> list[list[Translation]]:
        async with running(
            batch_sentences=batch_sentences, batch_tokens=batch_tokens, workers=workers
        ) as engine:
            return await asyncio.gather(*(engine.translate(taught(), **one) for one in asked))

    for found, one in zip(in_loop(test), asked, strict=True):
        check_same(found, translator.translate(**one))


def test_models_and_languages_are_not_mixed_up() -> None:
    served = babbling()
    search = SearchConfig(beam=2, max_length=8)

    async def test() -> list[list[Translation]]:
        async with running() as engine:
            return await asyncio.gather(
                engine.translate(served, ["a cat"], target="en", search=search),
                engine.translate(served, ["a cat"], target="fr", search=search),
                engine.translate(taught(), ["chat noir"], search=search),
            )

    english, french, cat = in_loop(test)
    check_same(english, served.translator.translate(["a cat"], target="en", search=search))
    check_same(french, served.translator.translate(["a cat"], target="fr", search=search))
    assert english[0].text != french[0].text
    assert cat[0].text == "black cat"


def test_sentences_of_many_clients_are_decoded_together() -> None:
    told = RecordedEvents()

    async def test() -> None:
        async with running(told) as engine:
            await asyncio.gather(
                *(engine.translate(taught(), [text]) for text in sentences(40, seed=1))
            )

    in_loop(test)
    assert sum(batch.rows for batch in told.batches) == 40
    assert len(told.batches) < 10
    assert all(0 <= batch.padding < 1 and batch.seconds > 0 for batch in told.batches)
    assert all(batch.written > batch.rows for batch in told.batches)
    assert told.outcomes == ["done"] * 40


def test_scores_are_those_of_the_translator() -> None:
    pairs = [(["chat noir", "livre\nrouge"], ["black cat", "book\nred"]), (["eau"], ["tree"])]

    async def test() -> list[Any]:
        async with running() as engine:
            return await asyncio.gather(
                *(engine.score(taught(), *pair, target="en") for pair in pairs)
            )

    for found, pair in zip(in_loop(test), pairs, strict=True):
        for one, other in zip(found, taught().translator.score(*pair), strict=True):
            assert one.tokens == other.tokens
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


def test_a_long_text_is_read_in_a_thread_and_comes_out_the_same() -> None:
    text = "\n".join(sentences(200, seed=8))
    assert len(text) > READ_AT_ONCE
    search = SearchConfig(method="greedy")

    async def test() -> list[Translation]:
        async with running() as engine:
            return await engine.translate(taught(), [text], search=search)

    check_same(in_loop(test), taught().translator.translate([text], search=search))


def test_what_is_wrong_with_a_request_is_its_own_affair() -> None:
    told = RecordedEvents()

    async def test() -> list[BaseException | None]:
        async with running(told) as engine:
            return await asyncio.gather(
                ended(engine.translate(taught(), ["chat"])),
                ended(engine.translate(taught(), ["chat"], target="de")),
                ended(
                    engine.translate(
                        taught(), ["chat"], prefix="old old", search=SearchConfig(max_length=1)
                    )
                ),
                ended(
                    engine.translate(
                        taught(),
                        ["chat"],
                        terms={"chat": "old"},
                        search=SearchConfig(method="greedy"),
                    )
                ),
                ended(engine.translate(taught(), ["noir"])),
            )

    errors = in_loop(test)
    assert errors[0] is errors[4] is None
    assert [type(error) for error in errors[1:4]] == [InputError, InputError, ConfigError]
    assert "does not translate into 'de'" in str(errors[1])
    assert "text 1: its prefix of 2 tokens" in str(errors[2])
    assert "terms need the method 'beam'" in str(errors[3])
    assert sorted(told.outcomes) == ["done", "done", "failed", "failed", "failed"]


def test_a_client_that_goes_away_frees_the_thread() -> None:
    """Its translation would take hundreds of steps; those behind it do not wait for them."""
    told = RecordedEvents()

    async def test() -> None:
        async with running(told) as engine:
            leaves = asyncio.create_task(
                engine.translate(babbling(), ["a cat"], target="en", search=ENDLESS)
            )
            await until(lambda: engine.running == 1 and not engine.waiting)
            leaves.cancel()
            assert isinstance(await ended(leaves), asyncio.CancelledError)
            assert engine.running == 0
            await until(lambda: bool(told.batches))

    in_loop(test)
    assert told.batches[0].cancelled
    assert told.outcomes == ["cancelled"]


def test_time_is_over_for_what_waits_and_for_what_is_decoded() -> None:
    told = RecordedEvents()

    async def test() -> list[BaseException | None]:
        async with running(told, request_seconds=0.05, batch_sentences=1) as engine:
            found = await asyncio.gather(
                *(
                    ended(engine.translate(babbling(), ["a"], target="en", search=ENDLESS))
                    for _ in "ab"
                )
            )
            assert (engine.waiting, engine.running) == (0, 0)
            await until(lambda: bool(told.batches))
            return found

    errors = in_loop(test)
    assert [type(error) for error in errors] == [TimedOut, TimedOut]
    assert "not ready within 0.05 seconds" in str(errors[0])
    assert told.outcomes == ["timed out", "timed out"]
    assert told.batches[0].cancelled


def test_a_full_queue_refuses_and_recovers() -> None:
    told = RecordedEvents()

    async def test() -> None:
        async with running(told, queue_size=2, batch_sentences=1) as engine:
            first = asyncio.create_task(
                engine.translate(babbling(), ["a"], target="en", search=ENDLESS)
            )
            await until(lambda: engine.running == 1 and not engine.waiting)
            long = SearchConfig(beam=4, max_length=300)  # short ones would not have to wait
            second = asyncio.create_task(engine.translate(taught(), ["chat", "noir"], search=long))
            await until(lambda: engine.waiting == 2)
            error = await ended(engine.translate(taught(), ["eau"]))
            assert isinstance(error, Full)
            assert error.retry_after >= 1
            first.cancel()
            assert [one.text for one in await second] == ["cat", "black"]
            assert [one.text for one in await engine.translate(taught(), ["eau"])] == ["water"]

    in_loop(test)
    assert told.outcomes == ["rejected", "cancelled", "done", "done"]


def test_who_can_force_long_translations_has_small_batches() -> None:
    told = RecordedEvents()
    texts = [f"{word} chat" for word in ("a", "b", "c", "d")]
    forced = SearchConfig(beam=2, min_length=40, max_length=40, loop_guard=False)

    async def test() -> None:
        async with running(told, batch_tokens=2 * 20 * 2) as engine:
            await engine.translate(babbling(), texts, target="en", search=forced)

    in_loop(test)
    assert [batch.rows for batch in told.batches] == [2, 2]


def test_a_queue_that_fills_while_a_long_text_is_read_refuses_it() -> None:
    long = ["chat " * 60, "noir " * 60]
    assert sum(map(len, long)) > READ_AT_ONCE

    async def test() -> list[BaseException | None]:
        async with running(queue_size=1) as engine:
            each = (engine.translate(taught(), long) for _ in range(8))
            return await asyncio.gather(*map(ended, each))

    found = in_loop(test)
    assert None in found
    assert any(isinstance(error, Full) for error in found)


def test_draining_finishes_what_was_accepted_and_takes_nothing_new() -> None:
    before = set(threading.enumerate())
    told = RecordedEvents()

    async def test() -> None:
        async with running(told, batch_sentences=2) as engine:
            accepted = [
                asyncio.create_task(engine.translate(taught(), [text]))
                for text in sentences(20, seed=2)
            ]
            job = asyncio.create_task(engine.run(pow, 2, 5))
            await asyncio.sleep(0)
            assert engine.running == 21
            drained = asyncio.create_task(engine.drain())
            await until(lambda: engine.draining)
            for refused in (
                engine.translate(taught(), ["chat"]),
                engine.score(taught(), ["chat"], ["cat"]),
                engine.run(pow, 2, 5),
                anext(engine.stream(taught(), "chat")),
            ):
                error = await ended(refused)
                assert isinstance(error, Draining)
                assert "is stopping" in str(error)
            await drained
            assert all(len(task.result()) == 1 for task in accepted)
            assert job.result() == 32

    in_loop(test)
    assert told.outcomes.count("done") == 21
    assert told.outcomes.count("draining") == 4
    assert set(threading.enumerate()) <= before


def test_jobs_are_done_in_threads_and_their_number_is_bounded() -> None:
    async def test() -> None:
        gate = threading.Event()
        async with running(jobs=1, queued_jobs=1) as engine:
            first = asyncio.create_task(engine.run(gate.wait))
            second = asyncio.create_task(engine.run(threading.current_thread))
            await until(lambda: engine.running == 2)
            error = await ended(engine.run(pow, 2, 5))
            assert isinstance(error, Full)
            assert "1 jobs are waiting, and at most 1 may" in str(error)
            gate.set()
            assert await first
            assert await second is not threading.current_thread()
            assert await engine.run(pow, 2, 5) == 32
            failed = await ended(engine.run(pow, 0, -1))
            assert isinstance(failed, ZeroDivisionError)

    in_loop(test)


def test_a_job_that_asks_is_told_that_nobody_waits() -> None:
    asked = threading.Event()

    def endless() -> None:
        while True:
            asked.set()
            check_cancelled()

    async def test() -> None:
        async with running(jobs=1) as engine:
            job = asyncio.create_task(engine.run(endless))
            await until(asked.is_set)
            never = asyncio.create_task(engine.run(pytest.fail))
            await until(lambda: engine.running == 2)
            never.cancel()
            job.cancel()
            await ended(job)
            assert await engine.run(pow, 2, 5) == 32  # the only thread is free again

    in_loop(test)


def test_nothing_is_left_of_requests_that_ended() -> None:
    """Answered, refused, failed and cancelled ones: no table grows with them."""

    async def test() -> None:
        async with running(batch_sentences=4) as engine:
            for number in range(30):
                tasks = [
                    asyncio.create_task(engine.translate(taught(), sentences(2, seed=number))),
                    asyncio.create_task(engine.translate(taught(), ["chat"], target="de")),
                    asyncio.create_task(engine.run(pow, 2, 5)),
                ]
                cancelled = asyncio.create_task(engine.translate(taught(), ["chat noir"]))
                await asyncio.sleep(0)
                cancelled.cancel()
                await asyncio.gather(*map(ended, [*tasks, cancelled]))
            await until(lambda: not engine._jobs._under_way)
            batcher = engine._batcher
            assert not batcher._futures
            assert not len(batcher._queue)
            assert (engine.running, engine.waiting) == (0, 0)
            assert not engine._readers._under_way

    in_loop(test)
