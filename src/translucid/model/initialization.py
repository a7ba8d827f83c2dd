"""Initial values: one function, and one table in which every parameter is found.

The paper does not say how its weights are initialised; these are the choices of the authors' own
code (tensor2tensor), which section 5's learning rates go with.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from translucid.config import POSITIONS, ModelConfig


class Group(NamedTuple):
    """Parameters with the same initialisation, and why; the paper is silent on it."""

    name: str
    pattern: str  # matches the end of a parameter's name
    begin: Callable[[Tensor], object]
    why: str


def _width_normal(weight: Tensor) -> object:
    """Draw from N(0, 1/d_model), d_model being the last dimension."""
    return nn.init.normal_(weight, std=weight.size(-1) ** -0.5)


TABLE: tuple[Group, ...] = (
    Group(
        "embeddings",
        r"(source|target)_embedding\.weight",
        _width_normal,
        "unit variance once scaled by √d_model (section 3.4), and logits of it when tied",
    ),
    Group(
        "output projection",
        r"output_projection\.weight",
        _width_normal,
        "untied, it begins as it would when tied",
    ),
    Group(
        "learned positions",
        r"positions\.vectors\.weight",
        _width_normal,
        "small beside the scaled embeddings",
    ),
    Group(
        "relative positions",
        r"positions\.biases\.weight",
        nn.init.zeros_,
        "no distance is preferred before the first example",
    ),
    Group(
        "attention projections",
        r"attention\.w_[qkvo]\.weight",
        nn.init.xavier_uniform_,
        "keeps the variance of signals and gradients through W^Q, W^K, W^V and W^O",
    ),
    Group(
        "feed-forward",
        r"feed_forward\.w_(1|2|gate)\.weight",
        nn.init.xavier_uniform_,
        "the same, through W_1 and W_2",
    ),
    Group("norm gains", r"norm\.weight", nn.init.ones_, "LayerNorm begins as pure normalisation"),
    Group("biases", r"bias", nn.init.zeros_, "no preference before the first example"),
)


def find_group(parameter: str) -> Group:
    """Return the one group of TABLE, ours and not the paper's, that a parameter belongs to."""
    groups = [group for group in TABLE if re.search(rf"(^|[._]){group.pattern}$", parameter)]
    assert len(groups) == 1, f"{parameter} is in {len(groups)} groups of TABLE"
    return groups[0]


@torch.no_grad()
def initialize(model: nn.Module, config: ModelConfig) -> None:
    """Give every parameter its first value, by PyTorch's generator; training is section 5."""
    keeps_own = config.positions not in POSITIONS.built_in  # registered ones begin as they are made
    for name, parameter in model.named_parameters():
        if not (keeps_own and ".positions." in name):
            find_group(name).begin(parameter)
