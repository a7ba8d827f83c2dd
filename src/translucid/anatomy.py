"""What a network is made of and what it costs, from its settings alone: no PyTorch is needed.

FLOPs count the matrix products (a multiplication and an addition are two), for a source and a
target of `length` tokens each, as the mean over the target's tokens. Training is the forward pass
and twice as much for the backward pass. Decoding encodes the source once; *cached*, each step
computes the newest position only; *uncached*, it computes the whole prefix again.
"""

from __future__ import annotations

from dataclasses import dataclass

from translucid.config import ModelConfig
from translucid.errors import InputError


@dataclass(frozen=True)
class Cost:
    """FLOPs a target token: to train, and to decode with and without a cache."""

    training: float = 0.0
    cached: float = 0.0
    uncached: float = 0.0

    def times(self, count: int) -> Cost:
        """Return the cost of `count` such blocks."""
        return Cost(self.training * count, self.cached * count, self.uncached * count)


@dataclass(frozen=True)
class Block:
    """One part of the network: `count` of it, their shapes, parameters and cost together."""

    name: str
    count: int
    shapes: str
    parameters: int
    cost: Cost


def anatomy(config: ModelConfig, length: int) -> list[Block]:
    """Return the network's blocks in the order in which data flows through them."""
    if length < 1:
        raise InputError(f"length = {length}: must be at least 1 token")
    return [
        *_embeddings(config),
        *_encoder(config, length),
        *_decoder(config, length),
        _output_projection(config, length),
    ]


def _embeddings(config: ModelConfig) -> list[Block]:
    d, source, target = config.d_model, config.source_vocab_size, config.target_vocab_size
    if config.tying == "all":
        return [Block("embedding (all three)", 1, f"{source} × {d}", source * d, Cost())]
    shared = " (and output)" if config.tying == "decoder" else ""
    return [
        Block("source embedding", 1, f"{source} × {d}", source * d, Cost()),
        Block(f"target embedding{shared}", 1, f"{target} × {d}", target * d, Cost()),
    ]


def _encoder(config: ModelConfig, n: int) -> list[Block]:
    layers = config.encoder_layers
    query, key, pair = _attention_flops(config)
    attention = query + key + n * pair
    feed_forward = _feed_forward_flops(config)
    return [
        *_positions("encoder", config),
        _attention("encoder: self-attention", layers, config, _whole(attention)),
        _feed_forward("encoder: feed-forward", layers, config, _whole(feed_forward)),
        *_norms("encoder", config, 2 * layers),
    ]


def _decoder(config: ModelConfig, n: int) -> list[Block]:
    layers = config.decoder_layers
    query, key, pair = _attention_flops(config)
    mean = (n + 1) / 2  # mean length of the prefixes 1 … n
    mean_square = (n + 1) * (2 * n + 1) / 6
    masked = Cost(
        training=3 * (query + key + n * pair),
        cached=query + key + mean * pair,
        uncached=mean * (query + key) + mean_square * pair,
    )
    cross = Cost(
        training=3 * (query + key + n * pair),
        cached=query + key + n * pair,  # the source's keys and values are projected once
        uncached=mean * query + n * key + mean * n * pair,
    )
    return [
        *_positions("decoder", config),
        _attention("decoder: self-attention", layers, config, masked),
        _attention("decoder: cross-attention", layers, config, cross),
        _feed_forward(
            "decoder: feed-forward", layers, config, _step(_feed_forward_flops(config), n)
        ),
        *_norms("decoder", config, 3 * layers),
    ]


def _output_projection(config: ModelConfig, n: int) -> Block:
    d, vocab = config.d_model, config.target_vocab_size
    own = vocab * ((d if config.tying == "none" else 0) + config.output_bias)
    return Block("output projection", 1, f"{d} → {vocab}", own, _step(2 * d * vocab, n))


def _whole(forward: float) -> Cost:
    """Return the cost of what is computed once per sentence, when training and when decoding."""
    return Cost(training=3 * forward, cached=forward, uncached=forward)


def _step(forward: float, n: int) -> Cost:
    """Return the cost of what is computed for each decoded position, or again for its prefix."""
    return Cost(training=3 * forward, cached=forward, uncached=forward * (n + 1) / 2)


def _attention_flops(config: ModelConfig) -> tuple[float, float, float]:
    """Return FLOPs a query (W^Q, W^O), a key (W^K, W^V), and a pair of them (q·k, weight × v)."""
    d, heads, d_k, d_v = config.d_model, config.heads, config.d_k, config.d_v
    projections = 2 * d * heads * (d_k + d_v)
    return projections, projections, 2 * heads * (d_k + d_v)


def _feed_forward_flops(config: ModelConfig) -> float:
    matrices = 3 if config.activation == "swiglu" else 2
    return 2 * matrices * config.d_model * config.d_ff


def _attention(name: str, count: int, config: ModelConfig, cost: Cost) -> Block:
    d, heads, d_k, d_v = config.d_model, config.heads, config.d_k, config.d_v
    biases = heads * (2 * d_k + d_v) + d if config.attention_bias else 0
    parameters = 2 * d * heads * (d_k + d_v) + biases
    head = f"{d_k}" if d_k == d_v else f"({d_k},{d_v})"
    shapes = f"{d} → {heads}×{head} → {d}"
    return Block(name, count, shapes, count * parameters, cost.times(count))


def _feed_forward(name: str, count: int, config: ModelConfig, cost: Cost) -> Block:
    d, d_ff = config.d_model, config.d_ff
    inner = 2 if config.activation == "swiglu" else 1
    parameters = inner * (d * d_ff + d_ff) + d_ff * d + d
    shapes = f"{d} → {f'{inner}×' if inner > 1 else ''}{d_ff} → {d}"
    return Block(name, count, shapes, count * parameters, cost.times(count))


def _norms(stack: str, config: ModelConfig, count: int) -> list[Block]:
    count += 1 if config.norm == "pre" else 0
    return [
        Block(
            f"{stack}: layer norm",
            count,
            f"2 × {config.d_model}",
            count * 2 * config.d_model,
            Cost(),
        )
    ]


def _positions(stack: str, config: ModelConfig) -> list[Block]:
    match config.positions:
        case "learned":
            rows, columns = config.max_positions, config.d_model
        case "relative":
            rows, columns = config.relative_buckets, config.heads
        case _:
            return []
    name = f"{stack}: positions"
    return [Block(name, 1, f"{rows} × {columns}", rows * columns, Cost())]
