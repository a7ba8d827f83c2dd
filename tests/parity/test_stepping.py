"""Decoding step by step with a cache gives what the whole pass gives, at every position."""

from __future__ import annotations

import pytest
import torch

from networks import NORMS, POSITIONS, TYINGS, VOCAB, ragged, small_network
from translucid.errors import InputError
from translucid.model import DecodingSession, Transformer

STEPS = 21  # past the cache's first capacity, so that it grows


def walk(session: DecodingSession, target: torch.Tensor) -> torch.Tensor:
    """Feed a whole target token by token; (N, T) → log-probabilities (N, T, V)."""
    return torch.stack([session.step(column).clone() for column in target.unbind(1)], dim=1)


def full(model: Transformer, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        logits: torch.Tensor = model(source, target)
    return logits.log_softmax(-1)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("tying", TYINGS)
def test_stepping_equals_the_full_pass(positions: str, norm: str, tying: str) -> None:
    model = small_network(positions=positions, norm=norm, tying=tying)
    source = ragged(4, 9, seed=1)
    target = torch.randint(1, VOCAB, (4, STEPS))
    stepped = walk(model.start(source), target)
    assert torch.allclose(stepped, full(model, source, target), rtol=0, atol=1e-5)


@pytest.mark.parametrize("tying", TYINGS)
def test_stepping_equals_the_full_pass_where_fewer_tokens_are_written(tying: str) -> None:
    model = small_network(target_vocab_size=20, tying=tying)
    source, target = ragged(4, 9, seed=1), torch.randint(1, 20, (4, STEPS))
    stepped = walk(model.start(source), target)
    assert stepped.shape == (4, STEPS, 20)
    assert torch.allclose(stepped, full(model, source, target), rtol=0, atol=1e-5)


def test_tables_end_and_stepping_goes_on() -> None:
    for positions in ("sinusoidal", "sinusoidal-halves", "rotary", "relative"):
        short = small_network(positions=positions, max_positions=5)
        long = small_network(positions=positions, max_positions=64)
        source, target = ragged(3, 9, seed=1), torch.randint(1, VOCAB, (3, STEPS))
        past_the_table = full(short, source, target)
        assert torch.allclose(past_the_table, full(long, source, target), rtol=0, atol=1e-5)
        assert torch.allclose(walk(short.start(source), target), past_the_table, atol=1e-5)


def test_copies_share_their_source() -> None:
    model = small_network()
    source = ragged(3, 9, seed=1)
    target = torch.randint(1, VOCAB, (6, 8))
    together = walk(model.start(source, copies=2), target)
    apart = full(model, source.repeat_interleave(2, dim=0), target)
    assert torch.allclose(together, apart, rtol=0, atol=1e-5)


@pytest.mark.parametrize("positions", ["sinusoidal", "relative"])
def test_reordered_rows_go_on_as_if_they_had_always_been_there(positions: str) -> None:
    model = small_network(positions=positions)
    source = ragged(3, 9, seed=1)
    target = torch.randint(1, VOCAB, (6, 10))
    session = model.start(source, copies=2)
    walk(session, target[:, :6])
    rows = torch.tensor([5, 5, 0, 1])  # source 2 first, twice the same beam; source 1 has left
    session.reorder(rows)
    assert session.rows == 4
    history = target[rows]
    after = walk(session, history[:, 6:])
    expected = full(model, source[torch.tensor([2, 2, 0, 0])], history)[:, 6:]
    assert torch.allclose(after, expected, rtol=0, atol=1e-5)


def test_reordering_within_sources_moves_no_keys() -> None:
    model = small_network()
    session = model.start(ragged(2, 5, seed=1), copies=3)
    session.step(torch.ones(6, dtype=torch.long))
    before = session.cache.layers[0]._keys_BHCK
    session.reorder(torch.tensor([2, 2, 0, 3, 5, 4]))
    assert session.cache.layers[0]._keys_BHCK is before


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
@pytest.mark.parametrize("seed", range(3))
def test_a_long_walk_with_many_changes_of_places_equals_the_full_pass(
    positions: str, seed: int
) -> None:
    """Beams swap, double and die in every step, and sources leave: the past must stay right."""
    model, copies = small_network(positions=positions), 4
    source = ragged(5, 6, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    session = model.start(source, copies=copies)
    kept = torch.arange(5)
    history = torch.empty(5 * copies, 0, dtype=torch.long)
    for step in range(20):
        newest = torch.randint(1, VOCAB, (history.size(0), 1), generator=generator)
        history = torch.cat([history, newest], dim=1)
        log_probs = session.step(newest[:, 0])
        expected = full(model, source[kept].repeat_interleave(copies, 0), history)[:, -1]
        assert torch.allclose(log_probs, expected, rtol=0, atol=1e-5)
        staying = torch.arange(kept.numel())
        if step % 6 == 5:
            staying = torch.randperm(kept.numel(), generator=generator)[:-1]
        parents = torch.randint(0, copies, (staying.numel(), copies), generator=generator)
        rows = (staying[:, None] * copies + parents).flatten()
        session.reorder(rows)
        kept, history = kept[staying], history[rows]


def test_the_cache_counts_its_bytes() -> None:
    model = small_network()  # 4 heads, keys of 6, values of 10, 2 layers
    session = model.start(ragged(2, 5, seed=1))
    assert session.cache.bytes == 0
    for _ in range(17):
        session.step(torch.ones(2, dtype=torch.long))
    assert session.cache.length == 17
    assert session.cache.bytes == 2 * 2 * 4 * 32 * (6 + 10) * 4  # layers, rows, heads, capacity


def test_a_session_refuses_what_it_cannot_do() -> None:
    model = small_network()
    source = ragged(2, 5, seed=1)
    with pytest.raises(InputError, match=r"training mode.*model\.eval\(\)"):
        model.train().start(source)
    session = model.eval().start(source, copies=2)
    with pytest.raises(InputError, match="copies = 0"):
        model.start(source, copies=0)
    with pytest.raises(InputError, match=r"last_ids has 3 tokens, but 4 rows.*2 sources × 2"):
        session.step(torch.tensor([1, 2, 3]))
    with pytest.raises(InputError, match="last_ids holds the id 29, outside the vocabulary of 29"):
        session.step(torch.tensor([1, 2, 3, VOCAB]))
    with pytest.raises(InputError, match="not a multiple of the 2 copies"):
        session.reorder(torch.tensor([0, 1, 2]))
    with pytest.raises(InputError, match=r"\[0, 2\] mix sources"):
        session.reorder(torch.tensor([0, 2]))
    with pytest.raises(InputError, match="rows holds the id 4, outside"):
        session.reorder(torch.tensor([0, 4]))
