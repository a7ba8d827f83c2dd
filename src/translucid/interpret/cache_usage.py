"""What the key-value cache computed, reused and saved during decoding.

Without a cache, every step of a search would send the whole prefix through the decoder again, and
project the source's keys and values again. With it (section 3.1: the decoder is auto-regressive,
so what it computed for earlier positions never changes), a step computes only the newest position
of every row::

    step 0   ▣                       ▣ computed   □ reused
    step 1   □ ▣
    step 2   □ □ ▣

A multiplication is one product of two numbers in a matrix product; all else is negligible.
The encoder runs once either way, and only the newest position's logits are needed either way.

Shapes: S source, D d_model, H heads, K size of a key, W of a value, F d_ff, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from translucid.config import ModelConfig
from translucid.model.cache import FIRST_CAPACITY


@dataclass(frozen=True)
class CacheStep:
    """One step: `rows` hypotheses, each now `length` positions long.

    `computed` positions went through the decoder, `reused` ones were read from the cache. `bytes`
    is the size of the key and value buffers, including room for later steps.
    """

    rows: int
    length: int
    computed: int
    reused: int
    bytes: int
    multiplications: int
    without_cache: int


@dataclass(frozen=True)
class CacheUsage:
    """All steps of one search, or of reading a given translation token by token.

    `source_bytes` is the size of the source's keys and values, computed once for all steps and
    rows.
    """

    source_positions: int
    source_bytes: int
    steps: tuple[CacheStep, ...]

    @property
    def computed(self) -> int:
        """Target positions that went through the decoder."""
        return sum(step.computed for step in self.steps)

    @property
    def reused(self) -> int:
        """Target positions that were read from the cache instead."""
        return sum(step.reused for step in self.steps)

    @property
    def bytes(self) -> int:
        """Peak size of the cache, including the source's keys and values."""
        return self.source_bytes + max((step.bytes for step in self.steps), default=0)

    @property
    def multiplications(self) -> int:
        """Multiplications of the decoder, with the cache."""
        return sum(step.multiplications for step in self.steps)

    @property
    def without_cache(self) -> int:
        """Multiplications that the decoder would have needed without a cache."""
        return sum(step.without_cache for step in self.steps)

    @property
    def saved(self) -> int:
        """Multiplications saved."""
        return self.without_cache - self.multiplications


def compute_cache_usage(
    config: ModelConfig, source: int, rows: Sequence[int], element_size: int
) -> CacheUsage:
    """Compute the cache usage of a search, given the source length and the rows of each step.

    `element_size` is the number of bytes per number.
    """
    size = config.heads * (config.d_k + config.d_v) * config.decoder_layers * element_size
    steps: list[CacheStep] = []
    capacity = 0
    for number, count in enumerate(rows):
        length = number + 1
        if length > capacity:
            capacity = max(FIRST_CAPACITY, 2 * number)
        steps.append(
            CacheStep(
                rows=count,
                length=length,
                computed=count,
                reused=count * number,
                bytes=count * capacity * size,
                multiplications=_cached(config, source, count, length),
                without_cache=_uncached(config, source, count, length),
            )
        )
    return CacheUsage(source, source * size, tuple(steps))


def _cached(config: ModelConfig, source: int, rows: int, length: int) -> int:
    """Return the multiplications of one step: the newest position of all rows.

    All rows of a source share one row of keys, and give those of other rows the weight 0 (see
    `model.cache`). The source is projected before the first step.
    """
    projection, pair = _attention(config)
    layer = rows * (3 * projection + _feed_forward(config))
    layer += rows * (rows * length + source) * pair
    if length == 1:
        layer += source * projection
    return config.decoder_layers * layer + rows * _logits(config)


def _uncached(config: ModelConfig, source: int, rows: int, length: int) -> int:
    """Return the multiplications of a step without a cache.

    The rows share the source's keys and values even then.
    """
    projection, pair = _attention(config)
    layer = rows * length * (3 * projection + _feed_forward(config))
    layer += rows * length * (length + source) * pair + source * projection
    return config.decoder_layers * layer + rows * _logits(config)


def _attention(config: ModelConfig) -> tuple[int, int]:
    """Return the multiplications of a position in W^Q and W^O, or W^K and W^V; and of a pair.

    Self-attention needs all four for each position: twice that.
    """
    pair = config.heads * (config.d_k + config.d_v)  # q·k, and weight × v
    return config.d_model * pair, pair


def _feed_forward(config: ModelConfig) -> int:
    matrices = 3 if config.activation == "swiglu" else 2
    return matrices * config.d_model * config.d_ff


def _logits(config: ModelConfig) -> int:
    return config.d_model * config.target_vocab_size
