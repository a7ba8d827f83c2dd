"""Which tensors a trace has, and their shapes: known before anything is recorded.

Shapes: S source, T target, L queries, M keys, D d_model, H heads, K size of a query or key in one
head, W of a value, F d_ff, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

from translucid.config import ModelConfig

Level = Literal["light", "full"]
"""light: attention weights; full: every number on the way."""

Shape: TypeAlias = tuple[int, ...]
Named: TypeAlias = tuple[str, Shape]

FLOAT = 4  # bytes of a number


def trace_bytes(config: ModelConfig, source: int, target: int, level: Level) -> int:
    """Return how many bytes the tensors of a trace take, given the tokens of both sides."""
    shapes = tensor_shapes(config, source, target, level).values()
    return FLOAT * sum(math.prod(shape) for shape in shapes)


def tensor_shapes(config: ModelConfig, source: int, target: int, level: Level) -> dict[str, Shape]:
    """Return the shape of every tensor of a trace by name, in the order of the network."""
    every = dict(_all(config, source, target))
    if level == "full":
        return every
    return {name: shape for name, shape in every.items() if name.endswith(".weights")}


def _all(config: ModelConfig, source: int, target: int) -> Iterator[Named]:
    yield from _bottom("source", config, source)
    for layer in range(config.encoder_layers):
        stem = f"encoder.{layer}"
        relative = config.positions == "relative"
        yield from _attention(f"{stem}.self_attention", config, source, source, relative)
        yield from _feed_forward(stem, config, source)
    yield "memory", (source, config.d_model)
    yield from _bottom("target", config, target)
    for layer in range(config.decoder_layers):
        stem = f"decoder.{layer}"
        relative = config.positions == "relative"
        yield from _attention(f"{stem}.self_attention", config, target, target, relative)
        yield from _attention(f"{stem}.cross_attention", config, target, source, False)
        yield from _feed_forward(stem, config, target)
    yield "decoder.states", (target, config.d_model)
    yield "logits", (target, config.target_vocab_size)
    yield "log_probs", (target, config.target_vocab_size)


def _bottom(side: str, config: ModelConfig, length: int) -> Iterator[Named]:
    for what in ("embedding", "positions", "sum"):
        yield f"{side}.{what}", (length, config.d_model)


def _attention(
    stem: str, config: ModelConfig, queries: int, keys: int, biased: bool
) -> Iterator[Named]:
    heads, stream = config.heads, (queries, config.d_model)
    scores = (heads, queries, keys)
    yield f"{stem}.residual_before", stream
    yield f"{stem}.q", (heads, queries, config.d_k)
    yield f"{stem}.k", (heads, keys, config.d_k)
    yield f"{stem}.v", (heads, keys, config.d_v)
    yield f"{stem}.raw_scores", scores
    yield f"{stem}.scaled_scores", scores
    yield f"{stem}.mask", scores if biased else (queries, keys)
    yield f"{stem}.weights", scores
    yield f"{stem}.heads", (heads, queries, config.d_v)
    yield f"{stem}.output", stream
    yield f"{stem}.residual_after", stream


def _feed_forward(layer: str, config: ModelConfig, length: int) -> Iterator[Named]:
    stem, stream = f"{layer}.feed_forward", (length, config.d_model)
    yield f"{stem}.residual_before", stream
    yield f"{stem}.inner", (length, config.d_ff)
    yield f"{stem}.output", stream
    yield f"{stem}.residual_after", stream
    yield f"{layer}.output", stream
