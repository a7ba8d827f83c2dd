"""The converted network computes what ours computes, in every cell of the table of settings."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from translucid.checkpoint.model_directory import hash_network, named_weights
from translucid.config import Activation, ModelConfig, NormOrder, Positions, Tying
from translucid.decoding.config import SearchConfig
from translucid.engines.base import DecoderInput, Pair, SearchOptions
from translucid.engines.conversion import convert, expected_shapes, find_obstacle, sinusoids
from translucid.engines.ctranslate2 import CTranslate2Engine
from translucid.engines.heads import AlignmentHeads, default_heads
from translucid.engines.pytorch import Member, PyTorchEngine
from translucid.errors import DataError
from translucid.model import Transformer, positional

SIZES = {"source_vocab_size": 40, "d_model": 16, "d_ff": 24, "heads": 4}
LAYERS = {"encoder_layers": 2, "decoder_layers": 2, "max_positions": 32}
CELLS = list(
    itertools.product(
        get_args(Positions), get_args(NormOrder), get_args(Activation), get_args(Tying)
    )
)
GREEDY = SearchOptions(SearchConfig(method="greedy", max_length=6), (), (), (), str)
PAIRS = [
    Pair((30, 31, 32, 3), (21, 22)),
    Pair((25, 3), ()),
    Pair((39, 20, 33, 20, 20, 36, 37, 3), (29, 28, 27, 26, 25, 24, 23, 22, 21)),
]


def network(seed: int = 0, **settings: Any) -> Transformer:
    torch.manual_seed(seed)
    values = {**SIZES, **LAYERS, "target_vocab_size": 40, "attention_bias": bool(seed), **settings}
    model = Transformer(ModelConfig(**values)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # so that no bias and no gain is at its first value
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def engines(
    model: Transformer, heads: AlignmentHeads | None = None, **options: Any
) -> tuple[CTranslate2Engine, PyTorchEngine]:
    heads = heads or default_heads(model.config)
    arrays = {name: tensor.numpy() for name, tensor in named_weights(model).items()}
    values: dict[str, Any] = {"precision": "float32", "threads": 1, "path": Path("model")}
    fast = CTranslate2Engine(model.config, arrays, heads, **{**values, **options})
    return fast, PyTorchEngine((Member(model, heads),))


def check_same_scores(model: Transformer, tolerance: float, **options: Any) -> None:
    fast, slow = engines(model, **options)
    for ours, theirs in zip(slow.score(PAIRS), fast.score(PAIRS), strict=True):
        assert theirs == pytest.approx(ours, abs=tolerance)


@pytest.mark.parametrize(("positions", "norm", "activation", "tying"), CELLS)
def test_every_token_has_the_same_probability(
    positions: str, norm: str, activation: str, tying: str
) -> None:
    model = network(1, positions=positions, norm=norm, activation=activation, tying=tying)
    check_same_scores(model, 1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "silu", "output_bias": True},
        {"target_vocab_size": 30, "output_bias": True},
        {"target_vocab_size": 30},
        {"target_vocab_size": 30, "tying": "none"},
        {"d_k": 6, "d_v": 6},
        {"d_k": 2, "d_v": 2, "positions": "rotary"},
        {"heads": 1},
        {"norm_epsilon": 0.1},
        {"relative_buckets": 8, "relative_distance": 10, "positions": "relative"},
        {"decoder_layers": 1, "encoder_layers": 3},
    ],
    ids=str,
)
def test_other_shapes(settings: dict[str, Any]) -> None:
    check_same_scores(network(**settings), 1e-4)


def test_no_pairs_have_no_scores() -> None:
    assert [engine.score([]) for engine in engines(network())] == [[], []]


def test_int8_is_near() -> None:
    check_same_scores(network(norm="pre"), 0.2, precision="int8")


def test_int8_rows_are_within_half_a_step() -> None:
    model = network()
    weights = {name: tensor.numpy() for name, tensor in named_weights(model).items()}
    options: dict[str, Any] = {"alignment_layer": 1, "alignment_heads": [0]}
    exact = convert(model.config, weights, precision="float32", **options)
    whole = convert(model.config, weights, precision="int8", **options)
    matrices = [name for name, array in exact.items() if np.ndim(array) == 2 and "weight" in name]
    assert len(matrices) > 20
    for name in matrices:
        numbers, scale = whole[name], whole[f"{name}_scale"]
        assert isinstance(numbers, np.ndarray)
        assert isinstance(scale, np.ndarray)
        wrong = np.abs(numbers / scale[:, None] - np.asarray(exact[name]))
        assert (wrong <= 0.5 / scale[:, None] * 1.001).all()


@pytest.mark.parametrize("row", ["predicts", "reads"])
@pytest.mark.parametrize("heads", [((1, 2),), ((0, 3), (0, 1)), ((1, 0), (1, 1), (1, 2), (1, 3))])
def test_attention_is_that_of_the_heads(row: Any, heads: Any) -> None:
    fast, slow = engines(network(1), AlignmentHeads(heads=heads, row=row))
    assert fast.aligns
    pairs = [(pair.source, pair.target) for pair in PAIRS if pair.target]
    pairs += [  # the network's own translations, which end after their last token
        (pair.source, slow.search([DecoderInput(pair.source, (), ())], GREEDY)[0][0].tokens)
        for pair in PAIRS
    ]
    for ours, theirs in zip(slow.align(pairs), fast.align(pairs), strict=True):
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() < 1e-5


def test_heads_of_several_layers_are_for_pytorch() -> None:
    fast, _ = engines(network(), AlignmentHeads(heads=((0, 1), (1, 1), (1, 2)), row="predicts"))
    assert not fast.aligns


@pytest.mark.parametrize("layout", ["sinusoidal", "sinusoidal-halves", "sinusoidal-timescales"])
def test_tables_of_positions_are_those_of_the_network(layout: str) -> None:
    ours = positional.sinusoids(0, 200, 64, layout).float().numpy()
    assert np.abs(sinusoids(200, 64, layout) - ours).max() < 1e-6


@pytest.mark.parametrize(
    "settings",
    [{"positions": p, "norm": n, "activation": a, "tying": t} for p, n, a, t in CELLS[::5]]
    + [{"target_vocab_size": 30, "attention_bias": True, "d_k": 3, "d_v": 3, "output_bias": True}],
    ids=str,
)
def test_the_shapes_of_a_network_are_known_without_making_it(settings: dict[str, Any]) -> None:
    model = network(**settings)
    shapes = {name: tuple(tensor.shape) for name, tensor in named_weights(model).items()}
    assert expected_shapes(model.config) == shapes


def test_what_cannot_be_computed_is_named() -> None:
    config = network().config
    assert find_obstacle(config) is None
    assert "d_k = 4 and d_v = 8" in str(find_obstacle(config.replace(d_v=8)))


def test_weights_that_do_not_fit_are_refused() -> None:
    model = network()
    arrays = {name: tensor.numpy() for name, tensor in named_weights(model).items()}
    del arrays["decoder.layers.1.feed_forward.w_1.bias"]
    arrays["encoder.layers.0.self_attention.w_q.weight"] = np.zeros((16, 15), np.float32)
    with pytest.raises(DataError, match=r"w_1.bias is missing.*\[16, 15\] instead of \[16, 16\]"):
        CTranslate2Engine(
            model.config,
            arrays,
            default_heads(model.config),
            precision="float32",
            threads=1,
            path=Path("model"),
        )


def test_the_hash_of_arrays_is_that_of_the_network() -> None:
    model = network()
    arrays = {name: tensor.numpy() for name, tensor in named_weights(model).items()}
    member = Member(model, default_heads(model.config))
    assert member.hash() == hash_network(model.config, arrays)
    with torch.no_grad():
        model.source_embedding.weight[0, 0] += 1
    assert member.hash() == hash_network(model.config, arrays)  # the arrays share its memory
    assert math.isfinite(arrays["source_embedding.weight"][0, 0])
