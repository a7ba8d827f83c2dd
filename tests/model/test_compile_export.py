"""The forward pass can be compiled and exported, with sizes left open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from networks import POSITIONS, ragged, small_network

COMPILED = """
import torch
from networks import ragged, small_network
model = small_network(encoder_layers=1, decoder_layers=1)
source, target = ragged(3, 7, seed=1), ragged(3, 6, seed=2)
with torch.no_grad():
    compiled = torch.compile(model, fullgraph=True)(source, target)
    print((compiled - model(source, target)).abs().max().item())
"""


def test_compile_gives_the_same_logits() -> None:
    """In a process of its own: PyTorch's compiler is particular about what was imported before."""
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], cwd=tests, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1e-5


@pytest.mark.filterwarnings("default")  # PyTorch's compiler warns about itself
def test_one_graph_for_all_sizes_with_the_same_gradients() -> None:
    model = small_network()
    graphs = 0

    def backend(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> torch.fx.GraphModule:
        nonlocal graphs
        graphs += 1
        return graph

    traced = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    for length in (7, 9, 12):
        source, target = ragged(3, length, seed=1), ragged(3, length - 1, seed=2)
        results = model(source, target), traced(source, target)
        assert torch.allclose(*results, rtol=0, atol=1e-5)
        first, second = (
            torch.autograd.grad(out.square().mean(), model.target_embedding.weight)[0]
            for out in results
        )
        assert torch.allclose(first, second, rtol=1e-4, atol=1e-6)
    assert graphs == 1


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("positions", POSITIONS)
def test_export_with_open_sizes(positions: str) -> None:
    model = small_network(positions=positions, max_positions=64, encoder_layers=1, decoder_layers=1)
    batch = torch.export.Dim("batch", min=2, max=32)
    source_length = torch.export.Dim("source_length", min=2, max=64)
    target_length = torch.export.Dim("target_length", min=2, max=64)
    program = torch.export.export(
        model,
        (ragged(3, 8, seed=1), ragged(3, 6, seed=2)),
        dynamic_shapes=({0: batch, 1: source_length}, {0: batch, 1: target_length}),
    )
    source, target = ragged(5, 13, seed=3), ragged(5, 11, seed=4)
    assert torch.allclose(program.module()(source, target), model(source, target), atol=1e-5)
