"""A trace: everything that one translation did inside the network, as one immutable result.

::

    trace = translucid.explain(translator, "Le chat noir dort.")
    trace.steps[0].top                        # the most probable tokens of the first step
    trace.attention("cross", layer=2)         # weights (H, T, S)
    trace.tensor("encoder.0.self_attention.q")

The decoder reads `target_tokens` and in row t predicts `steps[t]`::

    source_tokens    ▁Le   ▁chat  ▁dort  </s>             S of them, after a language tag if any
    target_tokens    <s>   ▁The   ▁cat   ▁sleeps          T of them
    steps            ▁The  ▁cat   ▁sleeps  </s>           T of them

Shapes: S source, T target, L queries, M keys, D d_model, H heads, K size of a query or key in one
head, W of a value, F d_ff, V vocabulary.

======================================================  ========================================
tensor (l: layer from 0; batch of one, left out)        shape
======================================================  ========================================
encoder.{l}.self_attention.weights                      (H, S, S)
decoder.{l}.self_attention.weights                      (H, T, T)
decoder.{l}.cross_attention.weights                     (H, T, S)
------------------------------------------------------  ----------------------------------------
*and at the level "full"*, of each attention a
{a}.q {a}.k {a}.v                                       (H, L, K), (H, M, K), (H, M, W); after
                                                        rotation, where positions turn them
{a}.raw_scores {a}.scaled_scores                        (H, L, M): q kᵀ, and that / √d_k
{a}.mask                                                (L, M): what is added, 0 or −∞; with
                                                        relative positions, or a registered kind,
                                                        (H, L, M), their bias
{a}.heads {a}.output                                    (H, L, W), and after W^O (L, D)
{x}.residual_before {x}.residual_after                  (L, D): the stream before a sublayer x, and
                                                        after its Add & Norm
{stack}.{l}.feed_forward.inner, .output                 (L, F), (L, D)
{stack}.{l}.output                                      (L, D): what a layer hands on
source.embedding source.positions source.sum            (S, D); positions that are not added: zeros
target.embedding target.positions target.sum            (T, D)
memory, decoder.states                                  (S, D), (T, D): after the final norm, if any
logits, log_probs                                       (T, V)
======================================================  ========================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch
from torch import Tensor

from translucid.config import POSITIONS, ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.decoding.tree import SearchTree
from translucid.engines.heads import DecoderRow, default_heads
from translucid.errors import InputError, nearest
from translucid.interpret.cache_usage import CacheUsage
from translucid.text.tokenizer import EOS
from translucid.translator.translation import Flags

if TYPE_CHECKING:
    from translucid.interpret.patching import Patching
    from translucid.translator import Translator

VERSION = 3  # 1 had neither pieces nor a prefix, 2 no patching

Level = Literal["light", "full"]
"""light: attention weights; full: every number on the way."""

Side = Literal["encoder", "decoder", "cross"]
"""The three attentions: the encoder's own, the decoder's own, and the decoder's to the source."""

Origin = Literal["search", "given"]
"""Whether a search found the translation, or the user gave it."""

Shape: TypeAlias = tuple[int, ...]
_NamedShape: TypeAlias = tuple[str, Shape]

FLOAT_BYTES = 4

_ATTENTIONS: dict[str, str] = {
    "encoder": "encoder.{}.self_attention",
    "decoder": "decoder.{}.self_attention",
    "cross": "decoder.{}.cross_attention",
}


SPACES = ("▁", " ")  # how pieces spell the space before a word


@dataclass(frozen=True)
class TraceToken:
    """A token, and the characters [start, end) that it stands for.

    They are characters of the source for a source token, of the translation for a target token.
    Symbols stand for no text: start == end.
    """

    id: int
    piece: str
    start: int
    end: int


@dataclass(frozen=True)
class TopToken:
    """A token that could have come next, and log P of it."""

    id: int
    piece: str
    log_prob: float


@dataclass(frozen=True)
class Step:
    """The token written at one step, and the network's prediction there.

    `rank` is the rank of the token by the network's own probability, 1 for the most probable;
    `entropy` is that of the whole softmax, in nats; `top` are the ten most probable tokens, best
    first. The last step writes the end symbol, unless the translation was stopped for looping.
    """

    token: TraceToken
    log_prob: float
    rank: int
    entropy: float
    top: tuple[TopToken, ...]


class FrozenTensors(Mapping[str, Tensor]):
    """Named tensors that cannot be changed: each access returns a copy."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = dict(tensors)

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name].clone()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def data(self, name: str, at: tuple[int, ...] = ()) -> memoryview:
        """Return the bytes of a tensor, or of its part with these leading indices; not a copy."""
        part = self._tensors[name][at].contiguous().reshape(-1)
        return part.view(torch.uint8).numpy().data.toreadonly()

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shape of each tensor."""
        return {name: tuple(tensor.shape) for name, tensor in self._tensors.items()}


@dataclass(frozen=True, eq=False)
class Trace:
    """One translation of one text by one network, with every number on the way.

    It is immutable; the tensors are float32 on the CPU. `score` is what the search ranks by, also
    for a given translation. `alignment_heads` are (layer, head) of the cross-attention heads that
    align words, measured or assumed (see `alignment_found`); `alignment_row` says whether the row
    that predicts a token or the one that reads it shows its alignment. The user forced the first
    `prefix_length` steps. `pieces` spells every token id in the trace, including the search tree.
    `patching` is what was measured against another sentence or another model, if there was one.
    """

    version: int
    level: Level
    model_name: str
    model_hash: str
    model: ModelConfig
    search: SearchConfig
    origin: Origin
    source: str
    translation: str
    source_tokens: tuple[TraceToken, ...]
    target_tokens: tuple[TraceToken, ...]
    prefix_length: int
    steps: tuple[Step, ...]
    tree: SearchTree | None
    flags: Flags
    log_prob: float
    score: float
    alignment_heads: tuple[tuple[int, int], ...]
    alignment_row: DecoderRow
    cache: CacheUsage
    pieces: Mapping[int, str]
    patching: Patching | None
    tensors: FrozenTensors

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", MappingProxyType(dict(self.pieces)))

    def attention(self, side: Side, layer: int) -> Tensor:
        """Return the weights of all heads of one attention: (H,S,S), (H,T,T) or (H,T,S)."""
        return self.tensor(f"{self.attention_name(side, layer)}.weights")

    def attention_name(self, side: Side, layer: int) -> str:
        """Return the prefix of one attention's tensors, such as encoder.0.self_attention."""
        if side not in _ATTENTIONS:
            raise InputError(f"no attention is called {side!r}; {nearest(side, _ATTENTIONS)}")
        layers = self.layers(side)
        if not 0 <= layer < layers:
            raise InputError(
                f"layer {layer} of {side} does not exist: there are {layers}, 0 to {layers - 1}"
            )
        return _ATTENTIONS[side].format(layer)

    def layers(self, side: Side) -> int:
        """Return the number of layers that have this attention."""
        return self.model.encoder_layers if side == "encoder" else self.model.decoder_layers

    def tensor(self, name: str) -> Tensor:
        """Return a tensor by its name (see the table of this file)."""
        if name in self.tensors:
            return self.tensors[name]
        sizes = len(self.source_tokens), len(self.target_tokens)
        if self.level == "light" and name in tensor_shapes(self.model, *sizes, "full"):
            raise InputError(
                f"this trace has the level 'light' and so no tensor {name!r}: record it again "
                "with the level 'full'"
            )
        raise InputError(f"the trace has no tensor {name!r}; {nearest(name, self.tensors)}")

    def alignment(self) -> Tensor:
        """Return the attention of each translated token on each source token, (T − 1, S).

        It is the mean of the alignment heads; row t belongs to `target_tokens[t + 1]`.
        """
        weights = [self.attention("cross", layer)[head] for layer, head in self.alignment_heads]
        mean_TS = torch.stack(weights).mean(dim=0)
        return mean_TS[:-1] if self.alignment_row == "predicts" else mean_TS[1:]

    @property
    def alignment_found(self) -> bool:
        """Whether the alignment heads were measured on this network, not assumed as for any."""
        usual = default_heads(self.model)
        return (self.alignment_heads, self.alignment_row) != (usual.heads, usual.row)

    @property
    def bytes(self) -> int:
        """The size of all tensors together."""
        sizes = len(self.source_tokens), len(self.target_tokens)
        return trace_bytes(self.model, *sizes, self.level)

    def save(self, path: str | Path) -> None:
        """Write the trace as one safetensors file, replacing an older one atomically.

        A name that ends in .json gets everything but the tensors, one in .html a page to look at.
        """
        from translucid.interpret.trace_file import save_trace

        save_trace(Path(path), self)

    @classmethod
    def load(cls, path: str | Path, model: Translator | None = None) -> Trace:
        """Read a trace from its file; given a model, refuse the trace of another one."""
        from translucid.interpret.trace_file import read_trace

        return read_trace(Path(path), model)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; of the tensors, only their shapes."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **plain,
            "model": self.model.model_dump(),
            "search": self.search.model_dump(),
            "source_tokens": [asdict(token) for token in self.source_tokens],
            "target_tokens": [asdict(token) for token in self.target_tokens],
            "steps": [asdict(step) for step in self.steps],
            "tree": None if self.tree is None else self.tree.to_json(),
            "flags": asdict(self.flags),
            "alignment_heads": [list(head) for head in self.alignment_heads],
            "cache": asdict(self.cache),
            "pieces": {str(token): piece for token, piece in self.pieces.items()},
            "patching": None if self.patching is None else asdict(self.patching),
            "tensors": {name: list(shape) for name, shape in self.tensors.shapes.items()},
        }

    @property
    def prefix(self) -> tuple[int, ...]:
        """The tokens that the translation was forced to begin with."""
        return tuple(step.token.id for step in self.steps[: self.prefix_length])

    @property
    def written_ids(self) -> tuple[int, ...]:
        """The tokens of the translation without the end symbol."""
        ids = tuple(step.token.id for step in self.steps)
        return ids[:-1] if ids[-1] == EOS else ids

    def _repr_html_(self) -> str:
        """Show the trace in a notebook: the explorer with this trace inside."""
        from translucid.interpret.page import notebook

        return notebook(self)


# ---- which tensors a trace has, known before anything is recorded --------------------------------


def trace_bytes(config: ModelConfig, source: int, target: int, level: Level) -> int:
    """Return the size of a trace's tensors, given the number of source and target tokens."""
    shapes = tensor_shapes(config, source, target, level).values()
    return FLOAT_BYTES * sum(math.prod(shape) for shape in shapes)


def tensor_shapes(config: ModelConfig, source: int, target: int, level: Level) -> dict[str, Shape]:
    """Return the shape of every tensor of a trace by name, in the order of the network."""
    every = dict(_all(config, source, target))
    if level == "full":
        return every
    return {name: shape for name, shape in every.items() if name.endswith(".weights")}


def may_bias_scores(config: ModelConfig) -> bool:
    """Return whether positions can add a bias per head: relative ones, and any registered kind."""
    return config.positions == "relative" or config.positions not in POSITIONS.built_in


def _all(config: ModelConfig, source: int, target: int) -> Iterator[_NamedShape]:
    biased = may_bias_scores(config)
    yield from _bottom("source", config, source)
    for layer in range(config.encoder_layers):
        stem = f"encoder.{layer}"
        yield from _attention(f"{stem}.self_attention", config, source, source, biased)
        yield from _feed_forward(stem, config, source)
    yield "memory", (source, config.d_model)
    yield from _bottom("target", config, target)
    for layer in range(config.decoder_layers):
        stem = f"decoder.{layer}"
        yield from _attention(f"{stem}.self_attention", config, target, target, biased)
        yield from _attention(f"{stem}.cross_attention", config, target, source, False)
        yield from _feed_forward(stem, config, target)
    yield "decoder.states", (target, config.d_model)
    yield "logits", (target, config.target_vocab_size)
    yield "log_probs", (target, config.target_vocab_size)


def _bottom(side: str, config: ModelConfig, length: int) -> Iterator[_NamedShape]:
    for what in ("embedding", "positions", "sum"):
        yield f"{side}.{what}", (length, config.d_model)


def _attention(
    stem: str, config: ModelConfig, queries: int, keys: int, biased: bool
) -> Iterator[_NamedShape]:
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


def _feed_forward(layer: str, config: ModelConfig, length: int) -> Iterator[_NamedShape]:
    stem, stream = f"{layer}.feed_forward", (length, config.d_model)
    yield f"{stem}.residual_before", stream
    yield f"{stem}.inner", (length, config.d_ff)
    yield f"{stem}.output", stream
    yield f"{stem}.residual_after", stream
    yield f"{layer}.output", stream
