"""The account of the cache is what a decoding session does, counted by PyTorch itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from networks import small_network
from small_traces import greedy_trace, taught_trace
from translucid.interpret.cache_usage import compute_cache_usage
from translucid.model import MultiHeadAttention, Transformer, eager
from translucid.model.transformer import share_weights

SOURCE = torch.tensor([[7, 11, 5, 23, 9, 3]])


def countable(model: Transformer) -> Transformer:
    """A twin whose attention is made of plain products, which PyTorch can count."""
    other = share_weights(model)
    for module in other.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = eager
    return other


def counted(counter: FlopCounterMode) -> int:
    """A FLOP counter counts a product and a sum as two."""
    total = counter.get_total_flops()
    assert total % 2 == 0
    return total // 2


def tokens(rows: int) -> Tensor:
    return torch.arange(5, 5 + rows)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_multiplications_with_a_cache(rows: int, activation: str) -> None:
    model = countable(small_network(activation=activation))
    account = compute_cache_usage(model.config, SOURCE.size(1), [rows] * 4, 4)
    memory = model.encode(SOURCE)
    with FlopCounterMode(display=False) as encoding:
        model.encode(SOURCE)
    with FlopCounterMode(display=False) as first:
        session = model.start(SOURCE, copies=rows)
        session.step(tokens(rows))
    assert memory.size(1) == account.source_positions
    assert account.steps[0].multiplications == counted(first) - counted(encoding)
    for step in account.steps[1:]:
        with FlopCounterMode(display=False) as counter:
            session.step(tokens(rows))
        assert step.multiplications == counted(counter)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_multiplications_without_a_cache(rows: int, activation: str) -> None:
    model = countable(small_network(activation=activation))
    account = compute_cache_usage(model.config, SOURCE.size(1), [rows] * 4, 4)
    memory, allowed = model.encode(SOURCE), torch.ones(1, 1, 1, SOURCE.size(1), dtype=torch.bool)
    for step in account.steps:
        prefix = tokens(rows)[:, None].expand(-1, step.length)
        with FlopCounterMode(display=False) as counter:
            memories = model.decoder.project_memory(memory, allowed)  # one source for all rows
            states = model.decoder(model.target_embedding(prefix), memories)
            model.output_projection(states[:, -1:])
        assert step.without_cache == counted(counter)


@pytest.mark.parametrize("rows", [1, 4])
def test_bytes_are_those_of_the_sessions_buffers(rows: int) -> None:
    model = small_network()
    account = compute_cache_usage(model.config, SOURCE.size(1), [rows] * 40, 4)
    session = model.start(SOURCE, copies=rows)
    for step in account.steps:
        session.step(tokens(rows))
        assert step.bytes == session.cache.bytes
        assert step.length == session.cache.length
    memories = model.decoder.project_memory(
        model.encode(SOURCE), torch.ones(1, 1, 1, 6, dtype=torch.bool)
    )
    assert account.source_bytes == sum(m.keys_BHSK.nbytes + m.values_BHSU.nbytes for m in memories)
    assert account.bytes == account.source_bytes + session.cache.bytes


def test_a_trace_has_the_account_of_its_search() -> None:
    greedy, beam = greedy_trace().cache, taught_trace().cache
    assert [step.rows for step in greedy.steps] == [1] * 4
    assert (greedy.computed, greedy.reused) == (4, 0 + 1 + 2 + 3)
    assert {step.rows for step in beam.steps} == {taught_trace().search.beam}
    for account in (greedy, beam):
        assert account.source_positions == 4
        assert account.saved == account.without_cache - account.multiplications > 0
    first = greedy.steps[0]
    assert first.multiplications == first.without_cache  # there is nothing to reuse yet


def test_no_steps_need_nothing() -> None:
    account = compute_cache_usage(small_network().config, 5, [], 4)
    assert (account.computed, account.reused, account.saved) == (0, 0, 0)
    assert account.bytes == account.source_bytes
