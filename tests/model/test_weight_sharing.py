"""A weight-sharing copy shares every tensor with its network, and nothing else."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from networks import POSITIONS, TYINGS, ragged, small_network
from translucid.model import Transformer, eager
from translucid.model.attention import Kernel
from translucid.model.decoder import DecoderLayer
from translucid.model.transformer import share_weights


def kernels(model: Transformer) -> list[Kernel]:
    layers = cast("list[DecoderLayer]", model.decoder.layers)
    return [layer.cross_attention.kernel for layer in layers]


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("tying", TYINGS)
def test_a_twin_shares_every_tensor(positions: str, tying: str) -> None:
    model = small_network(positions=positions, tying=tying)
    other = share_weights(model)
    for kind in ("named_parameters", "named_buffers"):
        ours = dict(getattr(model, kind)(remove_duplicate=False))
        theirs = dict(getattr(other, kind)(remove_duplicate=False))
        assert ours.keys() == theirs.keys()
        assert all(theirs[name] is tensor for name, tensor in ours.items())


def test_a_twin_has_modules_of_its_own() -> None:
    model = small_network()
    before = kernels(model)
    other = share_weights(model)
    assert kernels(other) == before
    assert not set(map(id, model.modules())) & set(map(id, other.modules()))
    for layer in cast("list[DecoderLayer]", other.decoder.layers):
        layer.cross_attention.kernel = eager
    other.train()
    assert not model.training
    assert kernels(model) == before != kernels(other)


def test_a_twin_gives_the_same_logits_and_follows_the_weights() -> None:
    model = small_network()
    other = share_weights(model)
    source, target = ragged(3, 7, seed=1), ragged(3, 5, seed=2)
    with torch.no_grad():
        assert torch.equal(model(source, target), other(source, target))
        before = other(source, target)
        model.encoder.layers[0].feed_forward.w_2.weight.mul_(2)  # type: ignore[union-attr, operator]
        assert torch.equal(model(source, target), other(source, target))
        assert not torch.equal(before, other(source, target))
