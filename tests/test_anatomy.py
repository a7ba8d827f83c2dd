"""FLOPs from the settings alone equal those that PyTorch counts while the network runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from networks import NORMS, small_config
from translucid.anatomy import anatomy
from translucid.config import ModelConfig
from translucid.errors import InputError
from translucid.model import MultiHeadAttention, Transformer, eager

LENGTH, ROWS = 9, 3


def network(config: ModelConfig) -> Transformer:
    """A network whose attention is spelled out, so that PyTorch's counter sees its products."""
    model = Transformer(config).eval()
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = eager
    return model


def ours(config: ModelConfig, field: str) -> float:
    return sum(getattr(block.cost, field) for block in anatomy(config, LENGTH))


def counted(run: Any) -> float:
    """FLOPs of a run, a target token."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() / (ROWS * LENGTH)


@pytest.mark.parametrize("changes", [{}, {"activation": "swiglu"}, {"d_k": 3, "heads": 2}])
def test_training_flops(changes: dict[str, Any]) -> None:
    config = small_config(**changes)
    model = network(config)
    ids = torch.randint(1, 29, (ROWS, LENGTH))
    forward = counted(lambda: model(ids, ids))
    assert forward == pytest.approx(ours(config, "training") / 3)
    both = counted(lambda: model(ids, ids).sum().backward())
    assert both == pytest.approx(ours(config, "training"))


def test_decoding_flops_with_and_without_cache() -> None:
    config = small_config()
    model = network(config)
    ids = torch.randint(1, 29, (ROWS, LENGTH))

    def cached() -> None:
        session = model.start(ids)
        for column in ids.unbind(1):
            session.step(column)

    def uncached() -> None:
        with torch.no_grad():
            memory = model.encode(ids)
            for stop in range(1, LENGTH + 1):
                model.decode(ids[:, :stop], memory, ids)

    assert counted(cached) == pytest.approx(ours(config, "cached"))
    assert counted(uncached) == pytest.approx(ours(config, "uncached"))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("tying", ["all", "decoder", "none"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative"])
@pytest.mark.parametrize("bias", [True, False])
def test_parameters(norm: str, tying: str, positions: str, bias: bool) -> None:
    config = small_config(
        norm=norm, tying=tying, positions=positions, attention_bias=bias, output_bias=bias,
        activation="swiglu",
    )  # fmt: skip
    count = sum(p.numel() for p in Transformer(config).parameters())
    assert sum(block.parameters for block in anatomy(config, 1)) == count


@pytest.mark.parametrize("tying", ["all", "decoder", "none"])
def test_parameters_where_fewer_tokens_are_written(tying: str) -> None:
    config = small_config(target_vocab_size=20, tying=tying)
    count = sum(p.numel() for p in Transformer(config).parameters())
    blocks = anatomy(config, 1)
    assert sum(block.parameters for block in blocks) == count
    assert blocks[-1].shapes == "32 → 20"


def test_a_length_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="length = 0"):
        anatomy(small_config(), 0)
