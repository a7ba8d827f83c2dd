"""Positions: how a network without recurrence knows the order of tokens (section 3.5).

Every kind is a :class:`Positions` that overrides one of three methods: it *adds* a vector to each
embedding (sinusoidal, learned), *rotates* queries and keys before they meet (rotary), or adds a
*bias* to the attention scores (relative). ``Positions`` itself does nothing: no positions at all.

======================  ======================================================================
sinusoidal              the paper: dimension 2i is sin(p / 10000^(2i/d)), 2i+1 its cosine
sinusoidal-halves       the same angles, all sines first, then all cosines (as in Marian models)
sinusoidal-timescales   halves, with wavelengths spread over d/2 − 1 steps (as in tensor2tensor)
learned                 a trained vector per position (table 3, row E); refuses longer inputs
rotary                  Su et al. 2021, "RoFormer"
relative                Raffel et al. 2020, "T5": a trained bias for each bucket of distance
none                    only the causal mask carries order
======================  ======================================================================

``@register_positions("name")`` adds a kind: a function of (config, bidirectional) that returns one.

Shapes: B batch, L positions (queries), M keys, D d_model, H heads, K size of a head.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from translucid.config import POSITIONS, ModelConfig
from translucid.errors import InputError


class Rotation(NamedTuple):
    """Cosine and sine of the angles of rotary positions; the paper has none of this."""

    cos_LK: Tensor
    sin_LK: Tensor


def rotate(x_BHLK: Tensor, rotation: Rotation | None) -> Tensor:
    """Rotate dimension pairs (i, i + K/2) of a head by their position; not in the paper."""
    if rotation is None:
        return x_BHLK
    first, second = x_BHLK.chunk(2, dim=-1)
    return x_BHLK * rotation.cos_LK + torch.cat([-second, first], dim=-1) * rotation.sin_LK


class Positions(nn.Module):
    """No positions, and the three methods of which other kinds override one (section 3.5).

    ``offset`` is the number of tokens already decoded, so that a cached decoder continues counting.
    """

    def add_to(self, x_BLD: Tensor, offset: int) -> Tensor:
        """Add positional encodings to embeddings, "at the bottoms of the stacks"."""
        del offset
        return x_BLD

    def rotation(self, offset: int, length: int) -> Rotation | None:
        """Return the angles by which queries and keys are rotated, if they are."""
        del offset, length
        return None

    def bias(self, queries: int, keys: int) -> Tensor | None:
        """Return bias_HLM for the scores of the last `queries` of `keys` positions, if any."""
        del queries, keys
        return None


def sinusoids(start: int, stop: int, d_model: int, layout: str) -> Tensor:
    """Return the encodings of positions start…stop−1, (L, D), in float64 (section 3.5)."""
    half = d_model // 2
    index = torch.arange(half, dtype=torch.float64)
    steps = half - 1 if layout == "sinusoidal-timescales" else half
    angles = torch.arange(start, stop, dtype=torch.float64)[:, None] * 10000.0 ** (-index / steps)
    pair = [angles.sin(), angles.cos()]
    if layout == "sinusoidal":
        return torch.stack(pair, dim=-1).flatten(1)  # sin, cos, sin, cos, …
    return torch.cat(pair, dim=-1)  # sin, sin, …, cos, cos, …


class SinusoidalPositions(Positions):
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(…) (section 3.5), of any length.

    A table is made once, in float64, and rounded; positions past its end are computed when needed.
    """

    table_LD: Tensor

    def __init__(self, layout: str, config: ModelConfig) -> None:
        super().__init__()
        self.layout = layout
        table_LD = sinusoids(0, config.max_positions, config.d_model, layout)
        self.register_buffer("table_LD", table_LD.to(torch.get_default_dtype()), persistent=False)

    def add_to(self, x_BLD: Tensor, offset: int) -> Tensor:
        """Add the sinusoids of positions offset, offset + 1, … to embeddings (section 3.5)."""
        stop = offset + x_BLD.size(1)
        if stop <= self.table_LD.size(0):
            return x_BLD + self.table_LD[offset:stop]
        return x_BLD + sinusoids(offset, stop, x_BLD.size(-1), self.layout).to(x_BLD)


class LearnedPositions(Positions):
    """A trained vector per position (section 3.5, table 3 row E); none beyond max_positions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.vectors = nn.Embedding(config.max_positions, config.d_model)

    def add_to(self, x_BLD: Tensor, offset: int) -> Tensor:
        """Add the learned vectors of positions offset, offset + 1, … to embeddings."""
        stop = offset + x_BLD.size(1)
        if stop > self.vectors.num_embeddings:
            raise InputError(
                f"a sequence of {stop} tokens is longer than the {self.vectors.num_embeddings} "
                "learned positions (max_positions): shorten it, train with a larger "
                "max_positions, or choose sinusoidal, rotary or relative positions"
            )
        return x_BLD + self.vectors.weight[offset:stop]


class RotaryPositions(Positions):
    """Queries and keys rotated by angles that grow with position, so that q·k knows the distance.

    An alternative to section 3.5, from Su et al. 2021 ("RoFormer"); the paper has no such thing.
    """

    table_2LK: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_k = config.d_k
        table_2LK = self._angles(0, config.max_positions).to(torch.get_default_dtype())
        self.register_buffer("table_2LK", table_2LK, persistent=False)

    def rotation(self, offset: int, length: int) -> Rotation:
        """Return cosine and sine of the angles of positions offset … offset + length − 1."""
        stop = offset + length
        if stop <= self.table_2LK.size(1):
            return Rotation(self.table_2LK[0, offset:stop], self.table_2LK[1, offset:stop])
        return Rotation(*self._angles(offset, stop).to(self.table_2LK))

    def _angles(self, start: int, stop: int) -> Tensor:
        """Return (cos, sin) stacked: the sinusoids of section 3.5, one angle per dimension pair."""
        sin, cos = sinusoids(start, stop, self.d_k, "sinusoidal-halves").chunk(2, dim=-1)
        return torch.stack([torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)])


def distance_buckets(
    distance: Tensor, bidirectional: bool, buckets: int, max_distance: int
) -> Tensor:
    """Map distances (key − query) to buckets: small ones exactly, larger ones by logarithm.

    ``bidirectional`` gives keys after the query half of the buckets; without it they share
    bucket 0. From T5; the paper has no such thing.
    """
    if bidirectional:
        buckets //= 2
        base, distance = (distance > 0) * buckets, distance.abs()
    else:
        base, distance = torch.zeros_like(distance), (-distance).clamp(min=0)
    exact = buckets // 2
    scale = (buckets - exact) / math.log(max_distance / exact)
    coarse = exact + ((distance.clamp(min=exact) / exact).log() * scale).long()
    return base + torch.where(distance < exact, distance, coarse.clamp(max=buckets - 1))


class RelativePositions(Positions):
    """A bias per head, learned for each bucket of distance and shared by the layers of a stack.

    An alternative to section 3.5, from Raffel et al. 2020 ("T5"); the paper has no such thing.
    """

    def __init__(self, bidirectional: bool, config: ModelConfig) -> None:
        super().__init__()
        self.bidirectional = bidirectional
        self.max_distance = config.relative_distance
        self.biases = nn.Embedding(config.relative_buckets, config.heads)

    def bias(self, queries: int, keys: int) -> Tensor:
        """Return bias_HLM of the last `queries` positions towards all `keys` positions."""
        key_M = torch.arange(keys, device=self.biases.weight.device)
        distance_LM = key_M[None, :] - key_M[keys - queries :, None]
        buckets_LM = distance_buckets(
            distance_LM, self.bidirectional, self.biases.num_embeddings, self.max_distance
        )
        bias_LMH: Tensor = self.biases(buckets_LM)
        return bias_LMH.permute(2, 0, 1)


register_positions = POSITIONS.register
for _layout in ("sinusoidal", "sinusoidal-halves", "sinusoidal-timescales"):
    register_positions(_layout)(lambda config, _: SinusoidalPositions(config.positions, config))
register_positions("learned")(lambda config, _: LearnedPositions(config))
register_positions("rotary")(lambda config, _: RotaryPositions(config))
register_positions("relative")(lambda config, both: RelativePositions(both, config))
register_positions("none")(lambda *_: Positions())


def make_positions(config: ModelConfig, bidirectional: bool) -> Positions:
    """Return a stack's positions (section 3.5); the encoder's are ``bidirectional``."""
    return POSITIONS.find(config.positions)(config, bidirectional)
