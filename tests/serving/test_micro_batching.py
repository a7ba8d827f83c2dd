"""The micro-batcher, with work that waits until it is told to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from small_engines import Gated, RecordedEvents, ended, in_loop, until

from translucid.serving.engine.batching import MAX_RETRY_SECONDS, Batcher, BatchLimits, Throughput
from translucid.serving.engine.tasks import (
    LONG_WORK,
    Full,
    Kind,
    Report,
    Task,
    Ticket,
    check_cancelled,
    lend_thread,
)


def batcher(told: RecordedEvents | None = None, workers: int = 1, queue_size: int = 100) -> Batcher:
    return Batcher(
        workers,
        BatchLimits(8, 1000),
        queue_size,
        (told if told is not None else RecordedEvents()).append,
    )


def test_what_arrives_while_a_thread_is_busy_is_done_together() -> None:
    async def test() -> None:
        work, told = Gated(), RecordedEvents()
        batches = batcher(told)
        first = asyncio.create_task(batches.run(Ticket(0), work.tasks(1)))
        await until(lambda: work.seen == [[1]])
        others = [asyncio.create_task(batches.run(Ticket(n), work.tasks(n, -n))) for n in (2, 3, 4)]
        await until(lambda: batches.waiting == 6)
        work.gate.set()
        assert await first == [2]
        assert await asyncio.gather(*others) == [[4, -4], [6, -6], [8, -8]]
        assert work.seen == [[1], [2, -2, 3, -3, 4, -4]]
        assert [batch.rows for batch in told.batches] == [1, 6]
        assert [batch.tokens for batch in told.batches] == [5, 30]
        await batches.close()

    in_loop(test)


def test_what_arrives_together_is_done_together_though_a_thread_is_free() -> None:
    async def test() -> None:
        work = Gated()
        work.gate.set()
        batches = batcher()
        await asyncio.gather(*(batches.run(Ticket(n), work.tasks(n)) for n in range(5)))
        assert work.seen == [[0, 1, 2, 3, 4]]
        await batches.close()

    in_loop(test)


def test_different_work_is_never_mixed() -> None:
    async def test() -> None:
        works = [Gated("a"), Gated("b")]
        for work in works:
            work.gate.set()
        batches = batcher()
        found = await batches.run(
            Ticket(0), [*works[0].tasks(1), *works[1].tasks(2), *works[0].tasks(3)]
        )
        assert found == [2, 4, 6]
        assert works[0].seen == [[1, 3]]
        assert works[1].seen == [[2]]
        await batches.close()

    in_loop(test)


def test_one_that_fails_does_not_harm_its_neighbours() -> None:
    async def test() -> None:
        work = Gated()
        work.gate.set()
        batches = batcher()
        good, bad, other = await asyncio.gather(
            batches.run(Ticket(0), work.tasks(1, 2)),
            ended(batches.run(Ticket(1), work.tasks(3, 13))),
            batches.run(Ticket(2), work.tasks(4)),
        )
        assert (good, other) == ([2, 4], [8])
        assert isinstance(bad, ZeroDivisionError)
        assert await batches.run(Ticket(3), work.tasks(5)) == [10]  # and the thread goes on
        await batches.close()

    in_loop(test)


def test_who_goes_away_is_dropped_from_the_line_at_once() -> None:
    async def test() -> None:
        work = Gated()
        batches = batcher()
        first = asyncio.create_task(batches.run(Ticket(0), work.tasks(1)))
        await until(lambda: work.seen == [[1]])
        leaves = asyncio.create_task(batches.run(Ticket(1), work.tasks(2, 3)))
        stays = asyncio.create_task(batches.run(Ticket(2), work.tasks(4)))
        await until(lambda: batches.waiting == 3)
        leaves.cancel()
        assert isinstance(await ended(leaves), asyncio.CancelledError)
        assert batches.waiting == 1
        work.gate.set()
        assert (await first, await stays) == ([2], [8])
        assert work.seen == [[1], [4]]
        await batches.close()

    in_loop(test)


def test_a_batch_that_nobody_waits_for_stops() -> None:
    async def test() -> None:
        work, told = Gated(), RecordedEvents()
        batches = batcher(told)
        tickets = [Ticket(0), Ticket(1)]
        both = [asyncio.create_task(batches.run(ticket, work.tasks(1))) for ticket in tickets]
        await until(lambda: len(work.seen) == 1)
        for task, ticket in zip(both, tickets, strict=True):
            task.cancel()
            await ended(task)
            ticket.cancel()
        await until(lambda: bool(told.batches))  # the gate is still closed
        assert told.batches[0].cancelled
        assert told.batches[0].written == 0
        await batches.close()

    in_loop(test)


def test_a_batch_goes_on_while_one_owner_waits() -> None:
    async def test() -> None:
        work, told = Gated(), RecordedEvents()
        batches = batcher(told)
        gone, stays = Ticket(0), Ticket(1)
        tasks = [
            asyncio.create_task(batches.run(ticket, work.tasks(1))) for ticket in (gone, stays)
        ]
        await until(lambda: work.seen == [[1, 1]])
        tasks[0].cancel()
        await ended(tasks[0])
        gone.cancel()
        work.gate.set()
        assert await tasks[1] == [2]
        assert not told.batches[0].cancelled
        await batches.close()

    in_loop(test)


def test_a_full_line_refuses_and_says_when_to_come_again() -> None:
    async def test() -> None:
        work = Gated()
        batches = batcher(queue_size=3)
        batches.refuse()
        under_way = [asyncio.create_task(batches.run(Ticket(0), work.tasks(0)))]
        await until(lambda: work.seen == [[0]])
        under_way.append(asyncio.create_task(batches.run(Ticket(1), work.tasks(1, 2, 3))))
        await until(lambda: batches.waiting == 3)
        with pytest.raises(
            Full, match="3 sentences are waiting, and at most 3 may: try again in 1 second"
        ) as caught:
            batches.refuse()
        assert caught.value.retry_after == 1
        work.gate.set()
        await asyncio.gather(*under_way)
        batches.refuse()
        await batches.close()

    in_loop(test)


class Early(Gated):
    """Work that tells its first result before its gate opens."""

    def run(self, inputs: list[int], report: Report) -> list[int]:  # type: ignore[override]
        report(0, 2 * inputs[0])
        return super().run(inputs, report)


def test_what_is_certain_early_is_delivered_early() -> None:
    async def test() -> None:
        work = Early()
        batches = batcher()
        both = [asyncio.create_task(batches.run(Ticket(n), [Task(work, n, 5, 1)])) for n in (4, 5)]
        assert await both[0] == [8]
        assert not both[1].done()
        work.gate.set()
        assert await both[1] == [10]
        await batches.close()

    in_loop(test)


def test_several_threads_work_at_a_time() -> None:
    async def test() -> None:
        works = [Gated("a"), Gated("b")]
        batches = batcher(workers=2)
        tasks = [asyncio.create_task(batches.run(Ticket(n), works[n].tasks(n))) for n in (0, 1)]
        await until(lambda: all(work.seen for work in works))
        for work in works:
            work.gate.set()
        assert await asyncio.gather(*tasks) == [[0], [2]]
        await batches.close()

    in_loop(test)


def test_the_pace_of_late_says_how_long_the_rest_will_take() -> None:
    pace = Throughput(workers=2)
    assert pace.seconds(10_000) == 1  # nothing is known yet
    for _ in range(50):
        pace.record(tokens=100, seconds=1.0)
    assert pace.seconds(990) == 5
    assert pace.seconds(10**9) == MAX_RETRY_SECONDS
    for _ in range(50):
        pace.record(tokens=1000, seconds=1.0)
    assert pace.seconds(9_000) == 5  # the slow past is forgotten
    assert pace.seconds(1) == 1


@dataclass(frozen=True)
class Stepping:
    """Long work that takes steps until the other work has been done."""

    others: Gated
    rounds: int
    kind: Kind = "search"

    def run(self, inputs: Sequence[int], report: Report) -> list[int]:
        del report
        while len(self.others.seen) < self.rounds:
            lend_thread()
            check_cancelled()
        return list(inputs)

    def written(self, result: int) -> int:
        return result


def test_long_work_lends_its_thread_to_short_work_that_waits() -> None:
    """It ends only when the other work is done, for which there is no other thread."""

    async def test() -> None:
        short, told = Gated(), RecordedEvents()
        short.gate.set()
        batches = batcher(told)
        long = Task(Stepping(short, 3), 7, LONG_WORK + 1, copies=1)
        waits = asyncio.create_task(batches.run(Ticket(0), [long]))
        await asyncio.sleep(0)
        await until(lambda: not batches.waiting)  # it has the only thread
        another = asyncio.create_task(batches.run(Ticket(1), [long]))
        await until(lambda: batches.waiting == 1)
        for number in (1, 2):
            assert await batches.run(Ticket(number), short.tasks(number)) == [2 * number]
            assert not waits.done()
            assert not another.done()
        with pytest.raises(ZeroDivisionError):  # which is its own affair
            await batches.run(Ticket(3), short.tasks(13))
        assert await asyncio.gather(waits, another) == [[7], [7]]
        assert [batch.rows for batch in told.batches] == [1, 1, 1, 1, 1]
        await batches.close()

    in_loop(test)


def test_long_work_that_nobody_waits_for_stops_though_it_has_lent_its_thread() -> None:
    async def test() -> None:
        short = Gated()
        batches = batcher()
        long = asyncio.create_task(
            batches.run(ticket := Ticket(0), [Task(Stepping(short, 9), 7, LONG_WORK + 1, copies=1)])
        )
        await until(lambda: batches.waiting == 0)
        waits = asyncio.create_task(batches.run(Ticket(1), short.tasks(1)))
        await until(lambda: short.seen == [[1]])
        ticket.cancel()
        long.cancel()
        short.gate.set()
        assert await waits == [2]
        assert isinstance(await ended(long), asyncio.CancelledError)
        await batches.close()

    in_loop(test)


def test_a_request_of_many_sentences_leaves_a_thread_to_others() -> None:
    """While a large batch runs, the other thread has small portions of it, then what others ask."""

    async def test() -> None:
        many, few = Gated("many"), Gated("few")
        batches = batcher(workers=2)
        tasks = many.tasks(*range(1, 13), length=LONG_WORK // 4)
        large = asyncio.create_task(batches.run(Ticket(0), tasks))
        await until(lambda: len(many.seen) == 2)
        assert sorted(map(len, many.seen)) == [4, 8]  # 800 cells, and at most 400
        others = asyncio.create_task(batches.run(Ticket(1), few.tasks(1)))
        await until(lambda: batches.waiting == 1)
        many.gate.set()
        few.gate.set()
        assert await others == [2]
        assert await large == [2 * number for number in range(1, 13)]
        await batches.close()

    in_loop(test)


def test_long_sentences_of_one_request_leave_a_thread_to_others() -> None:
    async def test() -> None:
        long, few = Gated("long"), Gated("few")
        batches = batcher(workers=2)
        waits = asyncio.create_task(batches.run(Ticket(0), long.tasks(1, 2, length=2 * LONG_WORK)))
        await until(lambda: len(long.seen) == 1)
        few.gate.set()
        assert await batches.run(Ticket(1), few.tasks(1)) == [2]
        assert not waits.done()
        other = Gated("other")
        others = asyncio.create_task(batches.run(Ticket(2), other.tasks(3, length=LONG_WORK + 1)))
        await until(lambda: other.seen == [[3]])  # another request may have it
        other.gate.set()
        assert await others == [6]
        long.gate.set()
        assert await waits == [2, 4]
        assert sorted(long.seen) == [[1], [2]]
        await batches.close()

    in_loop(test)
