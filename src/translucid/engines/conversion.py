"""From our weights to CTranslate2's, with numpy alone.

A network of CTranslate2 is a list of named arrays in one binary file. Most of them are ours under
another name; W^Q, W^K and W^V stand one under another, and what both embeddings and the output
projection share is stored once::

    model.bin               the arrays: float32, or int8 with a scale per row
    config.json             the names of the symbols, ε of LayerNorm
    shared_vocabulary.json  the tokens, or source_vocabulary.json and target_vocabulary.json

The engine computes what our network computes, for every kind of positions, order of norms,
activation and tying. It has no heads with d_k ≠ d_v and no parts of one's own: `find_obstacle`
names what is in the way.
"""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from translucid.config import KERNELS, POSITIONS, ModelConfig, Precision

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = dict[str, Array | np.generic | str]

BINARY_VERSION = 6
SPEC, _REVISION = "TransformerSpec", 7
TYPES = ("float32", "int8", "int16", "int32", "float16")  # by their number in the file
ACTIVATIONS = {"relu": 0, "silu": 2, "swiglu": 2, "gelu": 3}
_LONGEST_QUANTIZED = 127.0


def find_obstacle(config: ModelConfig) -> str | None:
    """Return what of a network CTranslate2 cannot compute; None if it can compute all of it."""
    if config.d_k != config.d_v:
        return f"its heads have d_k = {config.d_k} and d_v = {config.d_v}, which must be equal"
    if config.positions not in POSITIONS.built_in:
        return f"its positions, {config.positions!r}, are registered, not built in"
    if config.attention not in KERNELS.built_in:
        return f"its attention, {config.attention!r}, is registered, not built in"
    if config.positions == "rotary" and config.d_k % 2:
        return f"d_k = {config.d_k} is odd"
    return None


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Return the parameters of a network by name, with their shapes."""
    d, inner = config.d_model, config.heads * config.d_k
    shapes: dict[str, tuple[int, ...]] = {"source_embedding.weight": (config.source_vocab_size, d)}
    if config.tying != "all":
        shapes["target_embedding.weight"] = (config.target_vocab_size, d)
    if config.tying == "none":
        shapes["output_projection.weight"] = (config.target_vocab_size, d)
    if config.output_bias:
        shapes["output_projection.bias"] = (config.target_vocab_size,)

    def add_linear(name: str, rows: int, columns: int, bias: bool) -> None:
        shapes[f"{name}.weight"] = (rows, columns)
        if bias:
            shapes[f"{name}.bias"] = (rows,)

    def add_norm(name: str) -> None:
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (d,)

    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.positions == "learned":
            shapes[f"{side}.positions.vectors.weight"] = (config.max_positions, d)
        elif config.positions == "relative":
            shapes[f"{side}.positions.biases.weight"] = (config.relative_buckets, config.heads)
        if config.norm == "pre":
            add_norm(f"{side}.norm")
        for number in range(layers):
            layer = f"{side}.layers.{number}"
            attentions = ["self_attention"] + (["cross_attention"] if side == "decoder" else [])
            for attention in attentions:
                for letter in "qkv":
                    add_linear(f"{layer}.{attention}.w_{letter}", inner, d, config.attention_bias)
                add_linear(f"{layer}.{attention}.w_o", d, inner, config.attention_bias)
                add_norm(f"{layer}.{attention}_residual.norm")
            add_linear(f"{layer}.feed_forward.w_1", config.d_ff, d, True)
            add_linear(f"{layer}.feed_forward.w_2", d, config.d_ff, True)
            if config.activation == "swiglu":
                add_linear(f"{layer}.feed_forward.w_gate", config.d_ff, d, True)
            add_norm(f"{layer}.feed_forward_residual.norm")
    return shapes


def count_parameters(config: ModelConfig) -> int:
    """Return the number of weights of a network."""
    return sum(math.prod(shape) for shape in expected_shapes(config).values())


def convert(
    config: ModelConfig,
    weights: Mapping[str, Array],
    *,
    precision: Precision,
    alignment_layer: int,
    alignment_heads: Sequence[int],
) -> Arrays:
    """Return the arrays of CTranslate2 by name; a string is the name of an equal array.

    The attention that the engine reports is the mean of these heads of the decoder's layer.
    """
    named = _Weights(config, weights)
    arrays: Arrays = {}
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        arrays |= {
            f"{side}/num_heads": np.int16(config.heads),
            f"{side}/pre_norm": np.int8(config.norm == "pre"),
            f"{side}/activation": np.int8(ACTIVATIONS[config.activation]),
            f"{side}/scale_embeddings": np.int8(1),
            **_positions(side, config, weights),
        }
        if config.norm == "pre":
            arrays |= named.norm(f"{side}/layer_norm", f"{side}.norm")
        for number in range(layers):
            arrays |= named.layer(side, number, f"{side}.layers.{number}")
    arrays |= {
        "encoder/embeddings_merge": np.int8(0),
        "encoder/multi_query_attention": np.int8(0),
        "decoder/alignment_layer": np.int16(alignment_layer),
        "decoder/alignment_heads": np.int16(len(alignment_heads)),
        "decoder/alibi": np.int8(0),
        "decoder/alibi_use_positive_positions": np.int8(0),
        "decoder/scale_alibi": np.int8(0),
        "decoder/start_from_zero_embedding": np.int8(0),
    }
    _move_heads_first(arrays, config, alignment_layer, alignment_heads)
    arrays |= named.embeddings()
    return dict(_quantize(arrays)) if precision == "int8" else arrays


class _Weights:
    """Our weights by parameter name, as the arrays of a part of CTranslate2's network."""

    def __init__(self, config: ModelConfig, weights: Mapping[str, Array]) -> None:
        self._config = config
        self._weights = weights

    def _get(self, name: str) -> Array:
        return np.ascontiguousarray(self._weights[name], dtype=np.float32)

    def norm(self, theirs: str, ours: str) -> Arrays:
        return {
            f"{theirs}/gamma": self._get(f"{ours}.weight"),
            f"{theirs}/beta": self._get(f"{ours}.bias"),
        }

    def linear(self, theirs: str, *ours: str) -> Arrays:
        """Return linear maps one under another as a single one."""
        found: Arrays = {
            f"{theirs}/weight": np.concatenate([self._get(f"{name}.weight") for name in ours])
        }
        if f"{ours[0]}.bias" in self._weights:
            biases = [self._get(f"{name}.bias") for name in ours]
            found[f"{theirs}/bias"] = np.concatenate(biases)
        return found

    def layer(self, side: str, number: int, ours: str) -> Arrays:
        """Return the arrays of one layer of a stack."""
        theirs = f"{side}/layer_{number}"
        attention, memory = f"{ours}.self_attention", f"{ours}.cross_attention"
        found = {
            **self.linear(
                f"{theirs}/self_attention/linear_0", *(f"{attention}.w_{x}" for x in "qkv")
            ),
            **self.linear(f"{theirs}/self_attention/linear_1", f"{attention}.w_o"),
            **self.norm(f"{theirs}/self_attention/layer_norm", f"{attention}_residual.norm"),
            **self._self_attention(f"{theirs}/self_attention", side),
        }
        if side == "decoder":
            found |= {
                **self.linear(f"{theirs}/attention/linear_0", f"{memory}.w_q"),
                **self.linear(f"{theirs}/attention/linear_1", f"{memory}.w_k", f"{memory}.w_v"),
                **self.linear(f"{theirs}/attention/linear_2", f"{memory}.w_o"),
                **self.norm(f"{theirs}/attention/layer_norm", f"{memory}_residual.norm"),
                f"{theirs}/attention/head_dim": np.int32(self._config.d_k),
            }
        return found | self._feed_forward(f"{theirs}/ffn", f"{ours}.feed_forward")

    def _self_attention(self, theirs: str, side: str) -> Arrays:
        """Return what self-attention has beside its linear maps: positions, the size of heads."""
        config = self._config
        found: Arrays = {f"{theirs}/head_dim": np.int32(config.d_k)}
        if config.positions == "rotary":
            found |= {
                f"{theirs}/rotary_dim": np.int32(config.d_k),
                f"{theirs}/rotary_interleave": np.int8(0),
                f"{theirs}/rotary_base": np.float32(10000),
            }
        elif config.positions == "relative":
            found |= {
                f"{theirs}/relative_attention_bias": self._get(f"{side}.positions.biases.weight"),
                f"{theirs}/relative_attention_max_distance": np.int32(config.relative_distance),
            }
        return found

    def _feed_forward(self, theirs: str, ours: str) -> Arrays:
        gated = self._config.activation == "swiglu"
        found = {
            **self.norm(f"{theirs}/layer_norm", f"{ours}_residual.norm"),
            **self.linear(f"{theirs}/linear_0", f"{ours}.w_{'gate' if gated else '1'}"),
            **self.linear(f"{theirs}/linear_1", f"{ours}.w_2"),
        }
        return found | (self.linear(f"{theirs}/linear_0_noact", f"{ours}.w_1") if gated else {})

    def embeddings(self) -> Arrays:
        """Return both embeddings and the output projection; what is shared, once."""
        config = self._config
        source = self._get("source_embedding.weight")
        written = config.target_vocab_size
        found: Arrays = {"encoder/embeddings_0/weight": source}
        shared = "decoder/embeddings/weight"
        if config.tying != "all":
            found[shared] = self._get("target_embedding.weight")
        elif written < len(source):
            found[shared] = np.ascontiguousarray(source[:written])
        else:
            shared = "encoder/embeddings_0/weight"
            found["decoder/embeddings/weight"] = shared
        own = config.tying == "none"
        found["decoder/projection/weight"] = (
            self._get("output_projection.weight") if own else shared
        )
        if config.output_bias:
            found["decoder/projection/bias"] = self._get("output_projection.bias")
        return found


def _positions(side: str, config: ModelConfig, weights: Mapping[str, Array]) -> Arrays:
    """Return the table that is added to embeddings; for `none`, which the engine lacks, zeros."""
    if config.positions in ("rotary", "relative"):
        return {}
    if config.positions == "learned":
        table = np.asarray(weights[f"{side}.positions.vectors.weight"], dtype=np.float32)
    elif config.positions == "none":
        table = np.zeros((config.max_positions, config.d_model), dtype=np.float32)
    else:
        table = sinusoids(config.max_positions, config.d_model, config.positions)
    return {f"{side}/position_encodings/encodings": table}


def sinusoids(positions: int, d_model: int, layout: str) -> Array:
    """Return the encodings of section 3.5 as (positions, d_model), rounded from float64."""
    half = d_model // 2
    steps = half - 1 if layout == "sinusoidal-timescales" else half
    rates = 10000.0 ** (-np.arange(half, dtype=np.float64) / steps)
    angles = np.arange(positions, dtype=np.float64)[:, None] * rates
    pair = [np.sin(angles), np.cos(angles)]
    if layout == "sinusoidal":
        return np.stack(pair, axis=-1).reshape(positions, d_model).astype(np.float32)
    return np.concatenate(pair, axis=-1).astype(np.float32)


def _move_heads_first(
    arrays: Arrays, config: ModelConfig, layer: int, heads: Sequence[int]
) -> None:
    """Give a layer's cross-attention these heads first: the engine reports its first ones.

    The order of heads changes no result, since W^O sums over them.
    """
    order = [*heads, *(head for head in range(config.heads) if head not in set(heads))]
    width = config.d_k
    rows = np.concatenate([np.arange(head * width, (head + 1) * width) for head in order])
    name = f"decoder/layer_{layer % config.decoder_layers}/attention"
    both = np.concatenate([rows, rows + config.heads * width])  # keys, then values
    for part, places in (("linear_0", rows), ("linear_1", both)):
        for kind in ("weight", "bias"):
            array = arrays.get(f"{name}/{part}/{kind}")
            if isinstance(array, np.ndarray):
                arrays[f"{name}/{part}/{kind}"] = np.ascontiguousarray(array[places])
    output = arrays[f"{name}/linear_2/weight"]
    assert isinstance(output, np.ndarray)
    arrays[f"{name}/linear_2/weight"] = np.ascontiguousarray(output[:, rows])


def _quantize(
    arrays: Mapping[str, Array | np.generic | str],
) -> Iterator[tuple[str, Array | np.generic | str]]:
    """Yield matrices that multiply as int8, with the scale of each row; all else unchanged."""
    for name, array in arrays.items():
        if not name.endswith("/weight"):
            yield name, array
        elif isinstance(array, str):
            yield name, array
            yield f"{name}_scale", f"{array}_scale"
        else:
            assert isinstance(array, np.ndarray)
            largest = np.abs(array).max(axis=1)
            scale = (_LONGEST_QUANTIZED / np.where(largest > 0, largest, 1.0)).astype(np.float32)
            yield name, np.rint(array * scale[:, None]).astype(np.int8)
            yield f"{name}_scale", scale


def serialize(
    config: ModelConfig,
    arrays: Mapping[str, Array | np.generic | str],
    vocabularies: tuple[Sequence[str], Sequence[str]],
    settings: Mapping[str, str | bool],
) -> dict[str, bytes]:
    """Return the files of a model of CTranslate2 by name.

    `vocabularies` are the tokens of source and target. `settings` name the symbols among them
    (unk_token, bos_token, eos_token, decoder_start_token), and say which of them the engine adds to
    a source by itself (add_source_bos, add_source_eos).
    """
    content = {
        **settings,
        "layer_norm_epsilon": config.norm_epsilon,
        "multi_query_attention": False,
    }
    source, target = (
        json.dumps(list(tokens), ensure_ascii=False).encode() for tokens in vocabularies
    )
    shared = {"shared_vocabulary.json": source}
    each = {"source_vocabulary.json": source, "target_vocabulary.json": target}
    return {
        "model.bin": _serialize_arrays(arrays),
        "config.json": json.dumps(content, indent=2, sort_keys=True).encode(),
        **(shared if source == target else each),
    }


def _serialize_arrays(arrays: Mapping[str, Array | np.generic | str]) -> bytes:
    """Return the binary file: a header, each array with its name, and the equal ones."""
    stored = sorted((name, np.asarray(a)) for name, a in arrays.items() if not isinstance(a, str))
    aliases = sorted((name, other) for name, other in arrays.items() if isinstance(other, str))
    file = io.BytesIO()

    def write_string(text: str) -> None:
        file.write(struct.pack("H", len(text) + 1) + text.encode() + b"\0")

    file.write(struct.pack("I", BINARY_VERSION))
    write_string(SPEC)
    file.write(struct.pack("II", _REVISION, len(stored)))
    for name, array in stored:
        write_string(name)
        file.write(struct.pack("B", array.ndim) + struct.pack(f"{array.ndim}I", *array.shape))
        file.write(struct.pack("<BI", TYPES.index(array.dtype.name), array.nbytes))
        file.write(array.tobytes())
    file.write(struct.pack("I", len(aliases)))
    for name, other in aliases:
        write_string(name)
        write_string(other)
    return file.getvalue()
