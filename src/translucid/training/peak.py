"""How fast could this machine be, and how much of that does training use?

The yardstick is a large matrix product in the precision of training's weights, measured on the
spot, because what a processor promises and what a virtual machine gives are two things.
"""

from __future__ import annotations

import time

import torch

from translucid.anatomy import anatomy
from translucid.config import ModelConfig

SIZE = 1024
SECONDS = 0.3


def matrix_product_peak(device: torch.device) -> float:
    """Measure how many floating-point operations a second a float32 matrix product reaches."""
    a = torch.randn(SIZE, SIZE, device=device)
    b = torch.randn(SIZE, SIZE, device=device)
    best, end = float("inf"), time.perf_counter() + SECONDS
    while True:
        start = time.perf_counter()
        float((a @ b)[0, 0])  # reading a number waits for the device
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return 2 * SIZE**3 / best


def training_flops(config: ModelConfig, source_length: float, target_length: float) -> float:
    """Return FLOPs a target token of a training step, for sentences of these mean lengths."""
    source, target = (max(1, round(length)) for length in (source_length, target_length))
    encoder = sum(
        block.cost.training for block in anatomy(config, source) if _is_encoder(block.name)
    )
    decoder = sum(
        block.cost.training for block in anatomy(config, target) if not _is_encoder(block.name)
    )
    return encoder * source_length / target_length + decoder


def _is_encoder(block: str) -> bool:
    return block.startswith("encoder")
