"""A store never holds too much, or anything for too long; what was used last stays."""

from __future__ import annotations

import re
import sys
import threading
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from small_traces import taught_trace, taught_translator
from translucid.interpret.trace_json import trace_json
from translucid.serving.config import ServingConfig
from translucid.serving.problems import Problem
from translucid.serving.traces import BoundedStore, StoredTrace, TraceStore, measure_bytes, new_id


@dataclass
class Clock:
    """Time that passes when a test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def store(clock: Clock, **limits: int) -> BoundedStore[str, int]:
    whole = {"max_bytes": 100, "max_count": 3, "seconds": 10, **limits}
    return BoundedStore(**whole, clock=clock)


def test_the_least_used_goes_first() -> None:
    found = store(Clock())
    for number, key in enumerate("abc"):
        found.put(key, number, 1)
    assert found.get("a") == 0
    found.put("d", 3, 1)
    assert [found.get(key) for key in "abcd"] == [0, None, 2, 3]


def test_bytes_are_bounded_and_one_value_is_kept_even_if_it_is_too_large() -> None:
    found = store(Clock(), max_count=9)
    for key in "abc":
        found.put(key, 0, 40)
    assert [found.get(key) for key in "abc"] == [None, 0, 0]
    assert found.bytes == 80
    found.put("large", 1, 1000)
    assert (len(found), found.bytes, found.get("large")) == (1, 1000, 1)
    found.put("small", 2, 1)
    assert (len(found), found.bytes) == (1, 1)


def test_a_value_is_kept_for_a_time_after_its_last_use() -> None:
    clock = Clock()
    found = store(clock)
    found.put("a", 0, 1)
    found.put("b", 1, 1)
    clock.now = 9
    assert found.get("a") == 0
    clock.now = 11
    assert (found.get("b"), found.get("a"), len(found), found.bytes) == (None, 0, 1, 1)
    clock.now = 100
    found.expire()
    assert not found._kept
    assert (len(found), found.bytes) == (0, 0)


def test_a_key_that_is_put_again_is_counted_once() -> None:
    found = store(Clock())
    found.put("a", 0, 30)
    found.put("a", 1, 50)
    assert (found.get("a"), len(found), found.bytes) == (1, 1, 50)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abcdef"), st.integers(0, 120), st.integers(0, 6)), max_size=40
    )
)
def test_no_order_of_uses_breaks_the_bounds(steps: list[tuple[str, int, int]]) -> None:
    clock = Clock()
    found = store(clock)
    sizes: dict[str, int] = {}
    for key, size, passed in steps:
        clock.now += passed
        if size % 3:
            found.put(key, size, size)
            sizes[key] = size
            assert found.get(key) == size
        else:
            assert found.get(key) in {None, sizes.get(key)}
        kept = [one for one in "abcdef" if one in sizes and found.get(one) is not None]
        assert len(kept) == len(found) <= 3
        assert found.bytes == sum(sizes[one] for one in kept)
        assert found.bytes <= 100 or len(kept) == 1


def test_many_threads_may_use_it() -> None:
    found: BoundedStore[int, int] = BoundedStore(max_bytes=50, max_count=20, seconds=60)
    begin = threading.Barrier(4)

    def work(first: int) -> None:
        begin.wait(timeout=60)
        for number in range(first, first + 500):
            found.put(number % 37, number % 37, 1 + number % 5)
            assert found.get(number % 31) in {None, number % 31}

    threads = [threading.Thread(target=work, args=(k * 100,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    kept = [number for number in range(37) if found.get(number) is not None]
    assert len(kept) == len(found) <= 20
    assert found.bytes <= 50


def entry() -> StoredTrace:
    return StoredTrace(
        new_id(), taught_trace("light"), "taught", taught_translator().hash, (), b"{}"
    )


def test_traces_are_counted_with_what_is_told_of_them() -> None:
    clock, size = Clock(), measure_bytes(entry())
    settings = ServingConfig(max_trace_bytes=1024, trace_store_bytes=2 * size, trace_seconds=5.0)
    traces = TraceStore(settings, clock)
    first, second, third = entry(), entry(), entry()
    for one in (first, second):
        traces.add(one)
    assert (len(traces), traces.bytes) == (2, 2 * size)
    assert traces.find(first.id) is first
    traces.add(third)
    assert traces.find(first.id) is first
    with pytest.raises(Problem, match=re.escape(f"no trace {second.id!r} is kept")):
        traces.find(second.id)
    clock.now = 6
    assert (len(traces), traces.bytes) == (0, 0)


def taken(value: object, seen: set[int]) -> int:
    """Return the bytes of an object and of all that it holds, each counted once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    held = value if isinstance(value, tuple) else getattr(value, "__dict__", {}).values()
    return sys.getsizeof(value) + sum(taken(one, seen) for one in held)


def test_the_room_of_a_trace_is_not_its_tensors_alone() -> None:
    trace = taught_trace("light")
    told = trace_json(trace, key=new_id(), target="en", without=())
    stored = replace(entry(), body=to_json(told))
    objects = taken((trace.tree, trace.steps), set())
    assert objects > len(stored.body) / 2
    assert measure_bytes(stored) >= trace.bytes + len(stored.body) + objects


def test_ids_are_never_the_same_and_always_well_formed() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", key) for key in ids)
