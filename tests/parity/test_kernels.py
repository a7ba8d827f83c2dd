"""The attention kernels sdpa and eager give the same numbers."""

from __future__ import annotations

import pytest
import torch

from networks import NORMS, POSITIONS, ragged, small_network
from translucid.model import MultiHeadAttention, eager, sdpa
from translucid.model.attention import Kernel
from translucid.model.masks import additive, causal_mask, padding_mask


def put(model: torch.nn.Module, kernel: Kernel) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = kernel


@pytest.mark.parametrize(("d_k", "d_v"), [(8, 8), (6, 10)])
@pytest.mark.parametrize("mask", ["none", "padding", "causal", "bias"])
def test_fused_equals_spelled_out(d_k: int, d_v: int, mask: str) -> None:
    torch.manual_seed(1)
    q, k, v = torch.randn(5, 3, 7, d_k), torch.randn(5, 3, 7, d_k), torch.randn(5, 3, 7, d_v)
    allowed = {
        "none": None,
        "padding": padding_mask(ragged(5, 7, seed=2), 0),
        "causal": causal_mask(7, 7, torch.device("cpu")),
        "bias": padding_mask(ragged(5, 7, seed=2), 0),
    }[mask]
    bias = torch.randn(3, 7, 7) if mask == "bias" else None
    addend = additive(allowed, bias, torch.float32)
    fast, no_weights = sdpa(q, k, v, addend, 0.0)
    slow, weights = eager(q, k, v, addend, 0.0)
    assert no_weights is None
    assert torch.allclose(fast, slow, rtol=0, atol=1e-5)
    assert torch.allclose(weights.sum(-1), torch.ones(5, 3, 7), atol=1e-6)
    if allowed is not None:
        forbidden = ~allowed.expand(5, 3, 7, 7)
        assert forbidden.any()
        assert torch.equal(weights[forbidden], torch.zeros(int(forbidden.sum())))


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_the_whole_network_is_the_same_with_either_kernel(positions: str, norm: str) -> None:
    model = small_network(positions=positions, norm=norm)
    source, target = ragged(4, 9, seed=3), ragged(4, 8, seed=4)
    put(model, sdpa)
    fast = model(source, target)
    put(model, eager)
    assert torch.allclose(fast, model(source, target), rtol=0, atol=1e-5)


def test_gradients_are_the_same_with_either_kernel() -> None:
    model = small_network()
    source, target = ragged(4, 9, seed=3), ragged(4, 8, seed=4)
    gradients = []
    for kernel in (sdpa, eager):
        put(model, kernel)
        model.zero_grad()
        model(source, target).logsumexp(-1).sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert len(gradients[0]) == len(list(model.parameters()))
    for fast, slow in zip(*gradients, strict=True):
        scale = slow.abs().max().clamp(min=1)
        assert torch.allclose(fast / scale, slow / scale, rtol=0, atol=1e-5)
