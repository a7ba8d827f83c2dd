"""How a step is cut: by memory, and so that all workers have some."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from networks import small_config
from translucid.config import ModelConfig
from translucid.errors import InputError, TranslucidError
from translucid.training.config import TrainingConfig
from translucid.training.memory import (
    Fit,
    Measurement,
    _row_counts,
    largest_micro_batch,
    measure_memory,
    split_batch,
)

CPU = torch.device("cpu")


@given(
    tokens=st.integers(1, 100_000),
    at_most=st.integers(1, 10_000),
    workers=st.integers(1, 16),
    longest=st.integers(1, 300),
)
def test_a_step_is_cut_into_equal_parts_for_all(
    tokens: int, at_most: int, workers: int, longest: int
) -> None:
    before = TrainingConfig(batch_tokens=tokens)
    after = split_batch(before, workers=workers, at_most=at_most, longest=longest)
    assert after.replace(micro_batch_tokens=before.micro_batch_tokens) == before
    size = after.micro_batch_tokens
    assert min(longest, tokens) <= size <= tokens
    assert size <= max(at_most, longest)
    # Where sentences are short beside a micro-batch, every worker has as many as the others.
    if size > longest and size > 50 * workers * after.micro_batches:
        assert after.micro_batches % workers == 0


@pytest.mark.parametrize(
    ("tokens", "micro", "workers", "size", "parts"),
    [
        (25_000, 4096, 1, 4096, 6),  # nothing to do
        (25_000, 4096, 2, 4096, 6),
        (25_000, 4096, 8, 3125, 8),
        (4096, 4096, 2, 2048, 2),
        (1000, 1000, 16, 100, 10),  # the longest sentence sets a limit, and some are without work
    ],
)
def test_a_step_stays_as_it_is_where_everybody_has_as_much_work(
    tokens: int, micro: int, workers: int, size: int, parts: int
) -> None:
    before = TrainingConfig(batch_tokens=tokens, micro_batch_tokens=micro)
    after = split_batch(before, workers=workers, at_most=micro, longest=100)
    assert (after.micro_batch_tokens, after.micro_batches) == (size, parts)


@given(
    fixed=st.integers(0, 10**9),
    a_token=st.integers(1000, 10**6),
    budget=st.integers(10**8, 10**11),
    longest=st.integers(1, 500),
    cap=st.integers(500, 50_000),
)
def test_the_largest_micro_batch_is_read_off_a_line(
    fixed: int, a_token: int, budget: int, longest: int, cap: int
) -> None:
    """On a line, what is found fits, and one token more would not."""
    points = tuple(
        Measurement(rows * longest, fixed + a_token * rows * longest)
        for rows in _row_counts(longest, cap, parts=1)
    )
    fit = Fit(budget, points)
    if points[0].peak > budget:
        with pytest.raises(InputError):
            largest_micro_batch(fit, cap=cap, longest=longest)
        return
    found = largest_micro_batch(fit, cap=cap, longest=longest)
    assert longest <= found <= max(cap, longest)
    if len(points) > 1:
        assert found == max(longest, min(cap, (budget - fixed) // a_token))


def test_nothing_is_made_up_where_memory_does_not_grow() -> None:
    flat = Fit(10, (Measurement(100, 5), Measurement(200, 5)))
    assert largest_micro_batch(flat, cap=1000, longest=50) == 200
    assert largest_micro_batch(Fit(10, (Measurement(100, 5),)), cap=1000, longest=50) == 100


def test_a_network_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        largest_micro_batch(Fit(2 * 10**9, ()), cap=1000, longest=250)
    assert str(caught.value) == (
        "a step of the 250 tokens of the longest sentence does not fit into the 2.0 GB of memory "
        "that may be used: choose a smaller network, or prepare the data again with a lower limit "
        "of length"
    )


def test_sizes_to_try_double_up_to_the_whole_step() -> None:
    assert list(_row_counts(longest=100, cap=1000, parts=1)) == [2, 4, 8]
    assert list(_row_counts(longest=2000, cap=1000, parts=1)) == [1]
    assert list(_row_counts(longest=3, cap=10, parts=1)) == [3]


def test_sizes_to_try_are_cut_into_all_parts_but_for_one_sentence() -> None:
    assert list(_row_counts(longest=100, cap=2000, parts=4)) == [1, 4, 8, 16]
    assert list(_row_counts(longest=2000, cap=4000, parts=4)) == [1]


def test_real_steps_take_memory_in_proportion_to_their_tokens() -> None:
    """The network's activations are known: at least so many numbers a token must be kept."""
    config = ModelConfig(
        **{**small_config().model_dump(), "d_model": 64, "d_ff": 2048, "encoder_layers": 2}
    )
    settings = TrainingConfig(batch_tokens=4096, ema_decay=0.9)
    fit = measure_memory(config, settings, device=CPU, bf16=False, longest=32, processes=1)
    assert fit.budget > 10**8
    assert [point.tokens for point in fit.points] == [256 * 2**n for n in range(len(fit.points))]
    assert len(fit.points) >= 3
    first, *_, last = fit.points
    slope = (last.peak - first.peak) / (last.tokens - first.tokens)
    layers = config.encoder_layers + config.decoder_layers
    inner = layers * config.d_ff * 4  # of each feed-forward layer, in bytes
    assert inner <= slope <= 8 * inner
    one, two, three = fit.points[-3:]
    line = two.peak + (two.peak - one.peak) * (three.tokens - two.tokens) / (
        two.tokens - one.tokens
    )
    # The line through two says what the third takes at most. It may take less: the allocator keeps
    # freed blocks for later up to 32 MB, and gives larger ones back at once.
    assert 0.7 * line <= three.peak <= 1.15 * line


def test_a_measurement_that_fails_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('MemoryError: none')\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    options = {"device": CPU, "bf16": False, "longest": 9, "processes": 1}
    with pytest.raises(TranslucidError) as caught:
        measure_memory(small_config(), TrainingConfig(), **options)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "could not measure how much memory a step takes (MemoryError: none): give "
        "--batch-tokens a number, and training.micro_batch_tokens too if necessary"
    )


def test_of_a_child_that_was_killed_all_it_had_written_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "python"
    path.write_text(
        f"#!{sys.executable}\nimport os, signal\n"
        "print('1000\\n[64, 100]\\n[128, 200]', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    fit = measure_memory(
        small_config(), TrainingConfig(), device=CPU, bf16=False, longest=9, processes=1
    )
    assert fit == Fit(1000, (Measurement(64, 100), Measurement(128, 200)))
