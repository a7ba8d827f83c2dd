"""A directory of CTranslate2 as a model of ours: what `conversion` writes, read back.

::

    DIR/model.bin                  the network, in 32, 16 or 8 bits
        config.json                the names of its symbols
        shared_vocabulary.json     its tokens
        source.spm, target.spm     Marian's tokenizer, in a converted OPUS-MT model,
        tokenizer_config.json      with the languages; or, in what `translucid export` wrote,
        sentencepiece.model        ours,
        translucid-export.json     with the languages

The network is given settings and weights under our names, so it is computed and looked into like
any other. It is taken only if nothing of it is left over: `convert` must make its arrays of them.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from translucid.checkpoint.model_directory import WEIGHTS
from translucid.config import GenerationConfig, ModelConfig, Precision, Tying
from translucid.engines.conversion import (
    ACTIVATIONS,
    BINARY_VERSION,
    SPEC,
    TYPES,
    Array,
    convert,
    expected_shapes,
    sinusoids,
)
from translucid.engines.heads import AlignmentHeads
from translucid.errors import ConfigError, DataError, InputError
from translucid.text.marian import MarianTokenizer
from translucid.text.marian_vocabulary import (
    CONFIG,
    SOURCE_MODEL,
    TARGET_MODEL,
    TOKENIZER_CONFIG,
    Layout,
    Vocabulary,
    arrange,
    build_tokenizer,
    choose_directions,
    choose_tags,
    read_json,
)
from translucid.text.sentencepiece import SentencePieceTokenizer
from translucid.text.sentencepiece_model import remove_normalization
from translucid.text.tokenizer import (
    CORE_PIECES,
    FIRST_TAG,
    BrokenFileError,
    Tokenizer,
    unusable_tokenizer,
)

MODEL = "model.bin"
SENTENCEPIECE = "sentencepiece.model"
RECORD = "translucid-export.json"  # in every exported folder
CONVERT_AGAIN = "Convert or copy the directory again."

_SHARED, _SOURCE, _TARGET = (f"{each}_vocabulary.json" for each in ("shared", "source", "target"))
# Where a linear map of ours is: an array, its place in it, and how many maps it holds.
_LINEAR = {
    **{f"self_attention.w_{x}": ("self_attention/linear_0", n, 3) for n, x in enumerate("qkv")},
    "self_attention.w_o": ("self_attention/linear_1", 0, 1),
    "cross_attention.w_q": ("attention/linear_0", 0, 1),
    "cross_attention.w_k": ("attention/linear_1", 0, 2),
    "cross_attention.w_v": ("attention/linear_1", 1, 2),
    "cross_attention.w_o": ("attention/linear_2", 0, 1),
    "feed_forward.w_gate": ("ffn/linear_0", 0, 1),
    "feed_forward.w_2": ("ffn/linear_1", 0, 1),
}
_NORMS = {
    "self_attention_residual": "self_attention/layer_norm",
    "cross_attention_residual": "attention/layer_norm",
    "feed_forward_residual": "ffn/layer_norm",
}
_VOCABULARY = {
    "source_embedding.weight": "encoder/embeddings_0/weight",
    "target_embedding.weight": "decoder/embeddings/weight",
    "output_projection.weight": "decoder/projection/weight",
    "output_projection.bias": "decoder/projection/bias",
}
_TABLE = "position_encodings/encodings"
_BIASES = "layer_0/self_attention/relative_attention_bias"
_SINUSOIDS = ("sinusoidal", "sinusoidal-halves", "sinusoidal-timescales")
_ROUNDED = 1e-3  # how far sinusoids of 16 bits may be from exact ones
_BIAS = "output_projection.bias"
_MATRICES = _VOCABULARY.keys() - {_BIAS}
_ZERO_START = "decoder/start_from_zero_embedding"  # Marian's start symbol has no embedding


class Network(NamedTuple):
    """A network under our names, the heads whose attention is reported, and its precision."""

    config: ModelConfig
    weights: dict[str, Array]
    heads: AlignmentHeads
    precision: Precision


@dataclass(frozen=True)
class CTranslate2Directory:
    """All of a directory but the network: its tokens, and where ours stand among them."""

    layout: Layout
    norm_epsilon: float
    tokenizer: Tokenizer
    generation: GenerationConfig

    def read_network(self, path: Path) -> Network:
        """Return the network in a file, with our vocabulary."""
        stored = _read_arrays(path)
        quantized = any(array.dtype == np.int8 and array.ndim for array in stored.values())
        arrays = _widen(stored)
        if bool(arrays.get(_ZERO_START, 0)) == self.layout.vocabulary.is_ours:
            raise InputError(
                f"{path} does not begin translations as Marian does, without an embedding, and "
                "only Marian's models and exports of Translucid fit"
            )
        try:
            config = _derive_config(arrays, self.norm_epsilon)
            weights = dict(_rename(config, arrays))
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path} does not fit our network: {what}") from error
        heads = _read_heads(config, arrays)
        _refuse_more(path, config, weights, arrays)
        if not self.layout.vocabulary.is_ours:
            config, weights = self._arrange(config, weights)
        return Network(config, weights, heads, "int8" if quantized else "float32")

    def _arrange(
        self, config: ModelConfig, weights: dict[str, Array]
    ) -> tuple[ModelConfig, dict[str, Array]]:
        """Return the network with the rows of its vocabulary in our order."""
        size = len(self.layout.rows)
        bias = weights.get(_BIAS, np.zeros(config.target_vocab_size, np.float32))
        arranged = {name: self.layout.arrange(weights[name]) for name in _MATRICES & weights.keys()}
        arranged[_BIAS] = self.layout.arrange_bias(bias)
        config = config.replace(source_vocab_size=size, target_vocab_size=size, output_bias=True)
        return config, {**weights, **arranged}


def is_ctranslate2_directory(folder: Path) -> bool:
    """Tell whether a folder has a model of CTranslate2."""
    return (folder / MODEL).is_file() and not (folder / WEIGHTS).is_file()


def read_ctranslate2_directory(folder: Path) -> CTranslate2Directory:
    """Read a directory, but for its network; refuse by name what is missing or does not fit."""
    settings = read_json(folder / CONFIG)
    if settings.get("add_source_bos"):
        raise InputError(
            f"{folder / CONFIG}: add_source_bos is true, and no source of ours has one"
        )
    vocabulary = _read_vocabulary(folder, settings)
    if vocabulary.is_ours and (folder / SENTENCEPIECE).is_file():
        layout = arrange(vocabulary, {})
        tokenizer: Tokenizer
        tokenizer, generation = _load_own_tokenizer(folder / SENTENCEPIECE), _read_record(folder)
    else:
        _refuse_without_tokenizer(folder)
        layout = arrange(vocabulary, choose_tags(folder, vocabulary, ()))
        tokenizer = MarianTokenizer(build_tokenizer(folder, layout))
        generation = GenerationConfig(
            directions=choose_directions(folder, layout, (), ()),
            tags=dict(layout.tags),
            length_penalty=1.0,
            length_form="plain",
        )
    epsilon = settings.get("layer_norm_epsilon") or ModelConfig.model_fields["norm_epsilon"].default
    return CTranslate2Directory(layout, epsilon, tokenizer, generation)


def _read_vocabulary(folder: Path, settings: Mapping[str, Any]) -> Vocabulary:
    """Return the tokens of the source, which begin with those of the target."""
    source, target = (_SHARED, _SHARED) if (folder / _SHARED).is_file() else (_SOURCE, _TARGET)
    pieces, written = _read_tokens(folder / source), _read_tokens(folder / target)
    if written != pieces[: len(written)]:
        raise InputError(f"{folder} has a vocabulary for each language: only a shared one fits")
    if tuple(pieces[:FIRST_TAG]) == CORE_PIECES:
        return Vocabulary(pieces, (0, 1, 2, 3))
    unknown, end = (str(settings.get(f"{name}_token")) for name in ("unk", "eos"))
    if missing := [piece for piece in (unknown, end) if piece not in pieces]:
        raise DataError(folder / source, f"{missing[0]!r} is missing", remedy=CONVERT_AGAIN)
    padding = pieces.index("<pad>") if "<pad>" in pieces else None
    return Vocabulary(pieces, (padding, pieces.index(unknown), None, pieces.index(end)))


def _read_tokens(path: Path) -> list[str]:
    if not path.is_file():
        raise DataError(path, "the file is missing", remedy=CONVERT_AGAIN)
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(path, f"not valid JSON: {error}", remedy=CONVERT_AGAIN) from error
    if not isinstance(found, list) or not all(isinstance(piece, str) for piece in found):
        raise DataError(path, "is no list of tokens", remedy=CONVERT_AGAIN)
    return found


def _load_own_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer of an exported model, without its normalisation, which we do."""
    try:
        return SentencePieceTokenizer(remove_normalization(path.read_bytes()))
    except BrokenFileError as error:
        raise unusable_tokenizer(path, error) from error


def _refuse_without_tokenizer(folder: Path) -> None:
    needed = (SOURCE_MODEL, TARGET_MODEL, TOKENIZER_CONFIG)
    if missing := [name for name in needed if not (folder / name).is_file()]:
        raise DataError(
            folder,
            f"{', '.join(missing)} is missing: CTranslate2's own files say neither how a text "
            "becomes tokens nor in which languages it is",
            remedy="Copy it from the Marian model that was converted: ct2-transformers-converter "
            f"has --copy_files {' '.join(needed)}.",
        )


def _read_record(folder: Path) -> GenerationConfig:
    """Return the languages and the search of an exported model."""
    found = read_json(folder / RECORD).get("generation") if (folder / RECORD).is_file() else None
    if not isinstance(found, dict):
        raise DataError(
            folder,
            f"no {RECORD} there says which languages these are",
            remedy="Export the model again: translucid export MODEL --to ctranslate2 -o DIR.",
        )
    try:
        return GenerationConfig(**found)
    except (ConfigError, TypeError) as error:
        raise DataError(folder / RECORD, str(error), remedy=CONVERT_AGAIN) from error


# ---- the file of the network -----------------------------------------------------------------


def _read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file by name."""
    data = memoryview(path.read_bytes())
    place = 0

    def read(form: str) -> tuple[Any, ...]:
        nonlocal place
        place += struct.calcsize(form)
        return struct.unpack_from(form, data, place - struct.calcsize(form))

    def read_string() -> str:
        (length,) = read("<H")
        return bytes(*read(f"{length}s")).rstrip(b"\0").decode()

    try:
        (version,) = read("<I")
        if version != BINARY_VERSION:
            problem = f"is of version {version}, and this Translucid reads {BINARY_VERSION}"
            raise DataError(path, problem, remedy=CONVERT_AGAIN)
        if (spec := read_string()) != SPEC:
            raise InputError(
                f"{path} is a model of the kind {spec!r}: only encoder-decoders ({SPEC}) fit"
            )
        _, count = read("<II")
        arrays: dict[str, Array] = {}
        for _ in range(count):
            name, (rank,) = read_string(), read("<B")
            shape, (kind, size) = read(f"<{rank}I"), read("<BI")
            (content,) = read(f"{size}s")
            arrays[name] = np.frombuffer(content, TYPES[kind]).reshape(shape)
        for _ in range(*read("<I")):
            name, other = read_string(), read_string()
            arrays[name] = arrays[other]
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, DataError | InputError):
            raise
        problem = "it is cut off, or no model of CTranslate2 with weights of 8, 16 or 32 bits"
        raise DataError(path, problem, remedy=CONVERT_AGAIN) from error
    if wrong := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise DataError(path, f"{wrong[0]} has values that are not finite", remedy=CONVERT_AGAIN)
    return arrays


def _widen(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays with matrices in float32; those that are one in the file stay one."""
    found: dict[int, Array] = {}
    for name, array in arrays.items():
        if id(array) in found or name.endswith("_scale"):
            continue
        scale = arrays.get(f"{name}_scale")
        if scale is not None:
            found[id(array)] = array.astype(np.float32) / scale.astype(np.float32).reshape(-1, 1)
        else:
            found[id(array)] = array.astype(np.float32) if array.dtype == np.float16 else array
    return {name: found[id(array)] for name, array in arrays.items() if id(array) in found}


def _derive_config(arrays: Mapping[str, Array], norm_epsilon: float) -> ModelConfig:
    """Return the settings that a network must have."""
    source, target, output, *_ = map(arrays.get, _VOCABULARY.values())
    if source is None or target is None or output is None:
        raise ValueError("an embedding or the output projection is missing")
    heads = int(arrays["encoder/num_heads"])
    first = "encoder/layer_0"
    gated = f"{first}/ffn/linear_0_noact/weight" in arrays
    number = int(arrays["encoder/activation"])
    known: list[Any] = [name for name, own in ACTIVATIONS.items() if own == number]
    if not known:
        raise ValueError(f"its activation has the number {number}")
    inner = len(arrays[f"{first}/self_attention/linear_0/weight"]) // 3
    tying: Tying
    if not np.array_equal(target, output):
        tying = "none"
    else:
        tying = "all" if np.array_equal(source[: len(target)], target) else "decoder"
    return ModelConfig(
        **_derive_positions(arrays),
        encoder_layers=_count_layers(arrays, "encoder"),
        decoder_layers=_count_layers(arrays, "decoder"),
        source_vocab_size=len(source),
        target_vocab_size=len(target),
        d_model=source.shape[1],
        d_ff=arrays[f"{first}/ffn/linear_1/weight"].shape[1],
        heads=heads,
        d_k=inner // heads,
        d_v=inner // heads,
        norm="pre" if arrays["encoder/pre_norm"] else "post",
        norm_epsilon=norm_epsilon,
        activation="swiglu" if gated else known[0],
        attention_bias=f"{first}/self_attention/linear_0/bias" in arrays,
        output_bias=_VOCABULARY[_BIAS] in arrays,
        tying=tying,
    )


def _count_layers(arrays: Mapping[str, Array], side: str) -> int:
    layers = (re.match(rf"{side}/layer_(\d+)/", name) for name in arrays)
    return len({found[1] for found in layers if found})


def _derive_positions(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the settings of positions: a table that is added, or what is in the attention."""
    table, biases = (arrays.get(f"encoder/{name}") for name in (_TABLE, _BIASES))
    if table is not None:
        kind = _find_positions(table)
        if _find_positions(arrays[f"decoder/{_TABLE}"]) != kind:
            raise ValueError("encoder and decoder have positions of two kinds")
        return {"positions": kind, "max_positions": len(table)}
    if biases is None:
        return {"positions": "rotary"}
    distance = int(arrays["encoder/layer_0/self_attention/relative_attention_max_distance"])
    return {"positions": "relative", "relative_buckets": len(biases), "relative_distance": distance}


def _find_positions(table: Array) -> str:
    """Return which kind of positions a table has."""
    for kind in _SINUSOIDS if table.shape[1] % 2 == 0 else ():
        if np.abs(sinusoids(len(table), table.shape[1], kind) - table).max() < _ROUNDED:
            return kind
    return "learned" if table.any() else "none"


def _rename(config: ModelConfig, arrays: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """Yield the weights under our names."""
    first_map = "linear_0_noact" if config.activation == "swiglu" else "linear_0"
    linear = {**_LINEAR, "feed_forward.w_1": (f"ffn/{first_map}", 0, 1)}
    for name in expected_shapes(config):
        if name in _VOCABULARY:
            yield name, arrays[_VOCABULARY[name]]
            continue
        side, *middle, part, which = name.split(".")
        if middle == ["positions"]:
            yield name, arrays[f"{side}/{_TABLE if part == 'vectors' else _BIASES}"]
        elif part == "norm":
            layer = f"layer_{middle[1]}/{_NORMS[middle[2]]}" if middle else "layer_norm"
            yield name, arrays[f"{side}/{layer}/{'gamma' if which == 'weight' else 'beta'}"]
        else:
            theirs, number, count = linear[f"{middle[2]}.{part}"]
            array = arrays[f"{side}/layer_{middle[1]}/{theirs}/{which}"]
            yield name, np.split(array, count)[number]


def _read_heads(config: ModelConfig, arrays: Mapping[str, Array]) -> AlignmentHeads:
    """Return the heads of the alignment: the first ones of a layer, or all of it."""
    layer = int(arrays.get("decoder/alignment_layer", -1)) % config.decoder_layers
    count = int(arrays.get("decoder/alignment_heads", 1)) or config.heads
    return AlignmentHeads(heads=tuple((layer, head) for head in range(count)), row="predicts")


def _refuse_more(
    path: Path, config: ModelConfig, weights: Mapping[str, Array], theirs: Mapping[str, Array]
) -> None:
    """Refuse a network that has more than ours, or other settings, naming them."""
    ours = convert(config, weights, precision="float32", alignment_layer=0, alignment_heads=())
    more = sorted(theirs.keys() - ours.keys())
    faults = [f"it has {name}, which ours has not" for name in more]
    for name in sorted(theirs.keys() & ours.keys()):
        number = ours[name]
        if not isinstance(number, np.generic) or "/alignment_" in name or name == _ZERO_START:
            continue
        allowed = [float(number)]
        if name.endswith("/scale_embeddings"):  # √d_model, or whether it is that
            allowed.append(math.sqrt(config.d_model))
        found = float(theirs[name])
        if not any(math.isclose(found, one, rel_tol=1e-3) for one in allowed):
            faults.append(f"{name} is {found:g}, and ours {allowed[0]:g}")
    if faults:
        raise InputError("\n".join([f"{path} does not fit:", *(f"  - {one}" for one in faults)]))
