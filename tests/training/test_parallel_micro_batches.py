"""Micro-batches side by side: what threads compute apart is what one alone does, bit for bit."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from short_runs import toy_config, toy_data, toy_settings
from torch import Tensor

from translucid.data.batches import START, Batches, load_examples
from translucid.data.loader import Batch, Loader
from translucid.data.shards import PreparedData
from translucid.training import learner as learner_module
from translucid.training.distributed import Distribution
from translucid.training.learner import Learner, ThreadPool, can_run_in_parallel, initial_model

CPU = torch.device("cpu")
DROPOUTS = {"dropout": 0.3, "attention_dropout": 0.2, "feed_forward_dropout": 0.1}


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return toy_data(tmp_path_factory.mktemp("data"))


def test_items_are_worked_on_at_the_same_time_and_come_back_in_order() -> None:
    both = threading.Barrier(2, timeout=20)  # passed only if two threads are there together

    def work(item: int) -> tuple[int, int]:
        both.wait()
        return item, torch.get_num_threads()

    threads = ThreadPool(2)
    for _ in range(2):
        assert list(threads.map(work, range(6))) == [(item, 2) for item in range(6)]
    assert torch.get_num_threads() == 4


def test_threads_that_are_started_later_may_use_what_they_could_before() -> None:
    ThreadPool(4)
    seen: list[int] = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [4]


def test_what_a_thread_may_use_holds_in_the_backward_pass_too() -> None:
    """There PyTorch looks again: with more threads a sum would be rounded in another way."""
    seen: list[int] = []

    def work(number: int) -> None:
        x = torch.ones(3, requires_grad=True)
        x.register_hook(lambda _: seen.append(torch.get_num_threads()))
        (x * number).sum().backward()

    list(ThreadPool(4).map(work, range(4)))
    assert seen == [1] * 4


def test_only_one_more_than_there_are_threads_is_begun_before_the_first_is_fetched() -> None:
    begun: list[int] = []
    results = ThreadPool(2).map(begun.append, range(6))
    next(results)
    assert 0 in begun
    assert set(begun) <= {0, 1, 2}
    list(results)
    assert sorted(begun) == list(range(6))


def test_a_thread_that_is_free_takes_the_next_item() -> None:
    """The first item is not done before the third is, which another thread must have taken."""
    third = threading.Event()

    def work(item: int) -> int:
        assert item != 0 or third.wait(timeout=20)
        if item == 2:
            third.set()
        return item

    assert list(ThreadPool(2).map(work, range(4))) == [0, 1, 2, 3]


def test_a_fault_in_one_item_comes_through_and_the_threads_go_on() -> None:
    threads = ThreadPool(2)
    with pytest.raises(ZeroDivisionError):
        list(threads.map(lambda item: 1 / (item - 3), range(6)))
    assert list(threads.map(abs, [-1, -2])) == [1, 2]


def test_nobody_needs_them_any_more_and_they_end() -> None:
    before = set(threading.enumerate())
    threads = ThreadPool(3)
    started = set(threading.enumerate()) - before
    assert len(started) == 3
    del threads
    for thread in started:
        thread.join(timeout=20)
    assert not any(thread.is_alive() for thread in started)


def micro_batches(data: PreparedData, count: int) -> list[Batch]:
    loader = Loader(Batches(load_examples(data, "train"), 64, seed=4), None, ahead=1, pin=False)
    with loader.steps(START, per_step=count, rank=0, world_size=1) as steps:
        return list(next(steps).batches)


def learned(
    data: PreparedData, apart: int, each: int, model: dict[str, Any], **training: Any
) -> tuple[Tensor, list[Tensor | None]]:
    """Loss sums of seven micro-batches, and the gradients that they add up to.

    So many are computed at a time, `each` by so many threads.
    """
    torch.set_num_threads(apart * each)
    network = initial_model(toy_config(data, **model), seed=1)
    settings = toy_settings(batch_tokens=7 * 64, parallel_micro_batches=apart, **training)
    learner = Learner(network, settings, Distribution(), device=CPU, bf16=False)
    assert learner.parallel == apart
    sums = learner.forward_backward(micro_batches(data, 7), step=3, own=7)
    return sums, [parameter.grad for parameter in network.parameters()]


@pytest.mark.parametrize(("apart", "each"), [(2, 1), (3, 1), (4, 1), (2, 2)])
@pytest.mark.parametrize(
    ("model", "training"),
    [
        (DROPOUTS, {}),
        (DROPOUTS, {"rdrop_alpha": 3.0}),
        ({**DROPOUTS, "positions": "relative", "activation": "swiglu", "tying": "none"}, {}),
        ({**DROPOUTS, "positions": "rotary", "norm": "post", "attention_bias": True}, {}),
        ({**DROPOUTS, "positions": "learned", "tying": "decoder"}, {}),
    ],
    ids=["pre-norm", "R-Drop", "relative", "rotary", "learned"],
)
def test_the_same_gradients_to_the_bit(
    data: PreparedData, apart: int, each: int, model: dict[str, Any], training: dict[str, Any]
) -> None:
    sums, gradients = learned(data, 1, each, model, **training)
    found, others = learned(data, apart, each, model, **training)
    assert torch.equal(found, sums)
    for one, other in zip(gradients, others, strict=True):
        assert one is not None
        assert other is not None
        assert torch.equal(one, other)
        assert one.stride() == other.stride()


def test_what_does_not_learn_stays_as_it_is(data: PreparedData) -> None:
    network = initial_model(toy_config(data), seed=1)
    frozen = network.source_embedding.weight.requires_grad_(False)
    learner = Learner(network, toy_settings(), Distribution(), device=CPU, bf16=False)
    assert learner.parallel == 4
    learner.forward_backward(micro_batches(data, 4), step=1, own=4)
    assert frozen.grad is None
    assert all(p.grad is not None for p in network.parameters() if p.requires_grad)


def test_a_lone_micro_batch_has_all_threads(data: PreparedData) -> None:
    network = initial_model(toy_config(data), seed=1)
    learner = Learner(network, toy_settings(), Distribution(), device=CPU, bf16=False)
    seen: list[tuple[bool, int]] = []

    def look(*_: object) -> None:
        main = threading.current_thread() is threading.main_thread()
        seen.append((main, torch.get_num_threads()))

    network.encoder.register_forward_hook(look)
    learner.forward_backward(micro_batches(data, 1), step=1, own=1)
    assert seen == [(True, 4)]


@pytest.mark.parametrize(
    ("changes", "device", "world_size", "apart"),
    [
        ({}, "cpu", 1, True),
        ({}, "cuda", 1, False),
        ({}, "cpu", 2, False),
        ({"compile": True}, "cpu", 1, False),
    ],
)
def test_who_may_be_apart(
    changes: dict[str, Any], device: str, world_size: int, apart: bool
) -> None:
    settings = toy_settings(**changes)
    found = can_run_in_parallel(settings, device=torch.device(device), world_size=world_size)
    assert found is apart


def test_the_examples_are_right() -> None:
    result = doctest.testmod(learner_module)
    assert result.attempted > 0
    assert result.failed == 0
