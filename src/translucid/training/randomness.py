"""Randomness as a function of (seed, step, micro-batch), never of what happened before.

Each micro-batch draws from generators that are set anew for it, so a run that was stopped and
resumed drops the same as one that was not, and the number of processes and threads does not matter:
a micro-batch draws the same numbers wherever it is computed. A micro-batch is known by
its rows, because subword sampling may cut it into pieces, which must not draw the same.
"""

from __future__ import annotations

import hashlib

import torch

from translucid.config import ModelConfig
from translucid.data.collate import Batch
from translucid.data.shuffle import derive_seed
from translucid.model import Transformer

_WEIGHTS, _DROPOUT = 16, 17  # what numbers are drawn for: `data` draws for smaller ones


def seed_of(seed: int, step: int, batch: Batch) -> int:
    """Return the seed of a micro-batch of a step, a pure function of the arguments."""
    rows = batch.examples.astype("<i8").tobytes() + batch.directions.astype("<i8").tobytes()
    digest = hashlib.blake2b(rows, digest_size=7).digest()
    return derive_seed(seed, _DROPOUT, step, int.from_bytes(digest, "little"))


def set_randomness(seed: int, step: int, batch: Batch) -> None:
    """Set PyTorch's generators, on all devices, to the beginning of a micro-batch."""
    torch.manual_seed(seed_of(seed, step, batch))


def generator_of(seed: int, step: int, batch: Batch) -> torch.Generator:
    """Return a generator that draws, on a processor, what `set_randomness` would have drawn."""
    return torch.Generator().manual_seed(seed_of(seed, step, batch))


def initial_model(config: ModelConfig, seed: int) -> Transformer:
    """Return a network with its first weights, which `seed` decides."""
    torch.manual_seed(derive_seed(seed, _WEIGHTS))
    return Transformer(config)
