"""Streams of the engine: what the translator streams, ended when nobody listens."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest
from small_engines import RecordedEvents, babbling, ended, in_loop, running, taught, until

from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.serving.engine.engine import LatestItem
from translucid.serving.engine.tasks import Full, TimedOut
from translucid.translator import PartialTranslation

ENDLESS = SearchConfig(beam=4, min_length=400, max_length=400, loop_guard=False)


async def all_of(stream: AsyncIterator[PartialTranslation]) -> list[PartialTranslation]:
    return [partial async for partial in stream]


@pytest.mark.parametrize("search", [None, SearchConfig(method="greedy"), SearchConfig(n_best=2)])
def test_a_stream_ends_with_the_translation(search: SearchConfig | None) -> None:
    text = "chat noir dort\nlivre rouge"
    told = RecordedEvents()

    async def test() -> list[list[PartialTranslation]]:
        async with running(told) as engine:
            streams = [engine.stream(taught(), text, search=search, alignment=True) for _ in "abc"]
            return await asyncio.gather(*map(all_of, streams))

    (whole,) = taught().translator.translate([text], search=search, alignment=True)
    for partials in in_loop(test):
        for before, after in itertools.pairwise(partials):
            assert after.stable.startswith(before.stable)
        last = partials[-1].translation
        assert last is not None
        assert last.alignment is not None
        assert whole.alignment is not None
        assert last.alignment.links == whole.alignment.links
        assert [c.text for c in last.n_best] == [c.text for c in whole.n_best]
        assert len(partials) > 1
    assert told.outcomes == ["done"] * 3


def test_beams_come_along_where_several_compete() -> None:
    async def test(search: SearchConfig) -> list[PartialTranslation]:
        async with running() as engine:
            return await all_of(engine.stream(taught(), "chat noir dort", search=search))

    partials = in_loop(lambda: test(SearchConfig(beam=3)))
    assert all(1 <= len(partial.beams) <= 3 for partial in partials[:-1])
    for partial in partials[:-1]:
        assert partial.stable + partial.tail == partial.beams[0].text
        scores = [beam.score for beam in partial.beams]
        assert scores == sorted(scores, reverse=True)
    greedy = in_loop(lambda: test(SearchConfig(method="greedy")))
    assert not any(partial.beams for partial in greedy)


def test_what_is_wrong_comes_before_anything_else() -> None:
    async def test() -> BaseException | None:
        async with running() as engine:
            return await ended(anext(engine.stream(taught(), "chat", target="de")))

    assert isinstance(in_loop(test), InputError)


def test_a_stream_that_nobody_reads_any_more_frees_its_thread() -> None:
    told = RecordedEvents()

    async def test() -> None:
        async with running(told, streams=1, queued_streams=1) as engine:
            endless = engine.stream(babbling(), "a cat", target="en", search=ENDLESS)
            await anext(endless)
            waits = asyncio.create_task(all_of(engine.stream(taught(), "chat")))
            await until(lambda: engine.waiting == 1)
            full = await ended(anext(engine.stream(taught(), "noir")))
            assert isinstance(full, Full)
            assert "1 streams are waiting, and at most 1 may" in str(full)
            await endless.aclose()
            assert (await waits)[-1].stable == "cat"

    in_loop(test)
    assert told.outcomes == ["rejected", "cancelled", "done"]


def test_a_stream_that_takes_too_long_ends() -> None:
    told = RecordedEvents()

    async def test() -> BaseException | None:
        async with running(told, request_seconds=0.05) as engine:
            stream = engine.stream(babbling(), "a cat", target="en", search=ENDLESS)
            return await ended(all_of(stream))

    assert isinstance(in_loop(test), TimedOut)
    assert told.outcomes == ["timed out"]


def test_a_slow_reader_gets_the_newest() -> None:
    async def test() -> list[int | None]:
        newest: LatestItem[int] = LatestItem()
        await asyncio.to_thread(lambda: [newest.put(number) for number in range(100)])
        found = [await newest.take()]
        await asyncio.to_thread(newest.put, 100)
        newest.end()
        await until(lambda: newest._item is not None)
        return [*found, await newest.take(), await newest.take()]

    assert in_loop(test) == [99, 100, None]
