"""Small networks and ragged batches for the tests of the model."""

from __future__ import annotations

from typing import Any, get_args

import torch
from torch import Tensor, nn

from translucid.config import ModelConfig, NormOrder, Positions, Tying
from translucid.model import Transformer

POSITIONS: tuple[str, ...] = get_args(Positions)
NORMS: tuple[str, ...] = get_args(NormOrder)
TYINGS: tuple[str, ...] = get_args(Tying)
VOCAB = 29


def small_config(**changes: Any) -> ModelConfig:
    """Two layers each way, and sizes that all differ, so that no two can be mixed up unseen."""
    settings: dict[str, Any] = {
        "source_vocab_size": VOCAB,
        "target_vocab_size": VOCAB,
        "d_model": 32,
        "d_ff": 48,
        "heads": 4,
        "d_k": 6,
        "d_v": 10,
        "encoder_layers": 2,
        "decoder_layers": 2,
    }
    return ModelConfig(**{**settings, **changes})


def network(config: ModelConfig, seed: int = 0) -> Transformer:
    """A network in evaluation mode, with every parameter away from zero and one."""
    torch.manual_seed(seed)
    model = Transformer(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def small_network(**changes: Any) -> Transformer:
    return network(small_config(**changes))


def ragged(rows: int, longest: int, seed: int, vocab: int = VOCAB) -> Tensor:
    """Token ids 1 … vocab−1 padded on the right with 0; lengths from 1 to `longest`, both there."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, vocab, (rows, longest), generator=generator)
    lengths = torch.randint(1, longest + 1, (rows,), generator=generator)
    lengths[0], lengths[-1] = longest, 1
    return ids.masked_fill(torch.arange(longest)[None, :] >= lengths[:, None], 0)


def copy_linear(ours: nn.Linear, weight: Tensor, bias: Tensor) -> None:
    with torch.no_grad():
        ours.weight.copy_(weight)
        ours.bias.copy_(bias)
