"""Heads by name: which of the three attentions, which layer, which head.

::

    encoder 2.1     self-attention of the encoder, layer 2, head 1, both counted from 0
    decoder 0.3     masked self-attention of the decoder
    cross 3.0       attention of the decoder to the encoder's output
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

import torch
from torch import Tensor

from translucid.config import ModelConfig
from translucid.errors import InputError
from translucid.interpret.trace import Side, Trace
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.attention import Kernel
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer
from translucid.model.twin import twin
from translucid.text.interface import EOS
from translucid.translator import Translator
from translucid.translator.member import Member
from translucid.translator.searching import Request

if TYPE_CHECKING:
    from translucid.translator import Translator

SIDES: tuple[Side, ...] = get_args(Side)


class AttentionHead(NamedTuple):
    """One head of one of the three attentions, layer and head counted from 0."""

    side: Side
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.side} {self.layer}.{self.head}"


def layers_of(config: ModelConfig, side: Side) -> int:
    """Return how many layers have this attention."""
    return config.encoder_layers if side == "encoder" else config.decoder_layers


def heads_of(config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Return all heads of a network: encoder, decoder, cross, each from its first layer on."""
    return tuple(
        AttentionHead(side, layer, head)
        for side in SIDES
        for layer in range(layers_of(config, side))
        for head in range(config.heads)
    )


def attentions(model: Transformer) -> Iterator[tuple[Side, int, MultiHeadAttention]]:
    """Yield every attention of a network with its name and layer."""
    for number, below in enumerate(cast("list[EncoderLayer]", model.encoder.layers)):
        yield "encoder", number, below.self_attention
    for number, layer in enumerate(cast("list[DecoderLayer]", model.decoder.layers)):
        yield "decoder", number, layer.self_attention
        yield "cross", number, layer.cross_attention


def checked_heads(heads: Iterable[AttentionHead], config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Return the heads, each once; refuse those that the network does not have."""
    asked = tuple(dict.fromkeys(AttentionHead(*head) for head in heads))
    known = set(heads_of(config))
    if wrong := [head for head in asked if head not in known]:
        raise InputError(
            f"no such head: {', '.join(map(str, wrong))}. The network has {config.encoder_layers} "
            f"encoder and {config.decoder_layers} decoder layers of {config.heads} heads, counted "
            f"from 0; attentions are {', '.join(SIDES)}"
        )
    return asked


NewKernel = Callable[[Side, int, Kernel], Kernel]


def network_of(translator: Translator) -> Transformer:
    """Return the network of a translator; an ensemble has several, and is refused."""
    if len(translator.members) != 1:
        raise InputError(
            f"{translator.name} is an ensemble of {len(translator.members)} models: look into "
            "each by itself"
        )
    return translator.members[0].model


def with_network(translator: Translator, model: Transformer, name: str) -> Translator:
    """Return a translator that is another in nothing but its network."""
    return Translator(
        name,
        translator.tokenizer,
        (Member(model, translator.members[0].heads),),
        translator.generation,
        translator.source_languages,
    )


def with_kernels(model: Transformer, new: NewKernel) -> Transformer:
    """Return a twin of a network whose attention kernels are made from those it has."""
    other = twin(model)
    for side, layer, attention in attentions(other):
        attention.kernel = new(side, layer, attention.kernel)
    return other


_State = tuple[tuple[int, int], ...]
_known: weakref.WeakKeyDictionary[Transformer, tuple[_State, str]] = weakref.WeakKeyDictionary()


def model_hash(translator: Translator) -> str:
    """Return the SHA-256 of a translator's networks and vocabulary, in hexadecimal.

    It does not depend on where the networks compute, nor on what the model is called.
    """
    digest = hashlib.sha256(translator.tokenizer.fingerprint.encode())
    for member in translator.members:
        digest.update(_network_hash(member.model).encode())
    return digest.hexdigest()


def _network_hash(model: Transformer) -> str:
    """Return the SHA-256 of settings and weights; it is computed again only if a weight changed."""
    state = tuple((p.data_ptr(), 0 if p.is_inference() else p._version) for p in model.parameters())
    known = _known.get(model)
    if known is not None and known[0] == state:
        return known[1]
    digest = hashlib.sha256(model.config.to_json().encode())
    for name, parameter in sorted(model.named_parameters()):
        digest.update(f"{name} {parameter.dtype} {tuple(parameter.shape)}".encode())
        flat = parameter.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    _known[model] = (state, digest.hexdigest())
    return _known[model][1]


@torch.inference_mode()
def log_probs_again(translator: Translator, trace: Trace) -> Tensor:
    """Return log P of every token at each step of the trace, its own steps given, (T, V)."""
    device = translator.members[0].device
    source_1S, target_1T = (
        torch.tensor([[token.id for token in tokens]], device=device)
        for tokens in (trace.source_tokens, trace.target_tokens)
    )
    logits_1TV: Tensor = network_of(translator)(source_1S, target_1T)
    return logits_1TV[0].log_softmax(dim=-1).cpu()


def of_written(log_probs_TV: Tensor, trace: Trace) -> Tensor:
    """Return log P of the tokens that the trace wrote, (T,)."""
    written_T = torch.tensor([step.token.id for step in trace.steps])
    return log_probs_TV.gather(1, written_T[:, None])[:, 0]


def translation_again(translator: Translator, trace: Trace) -> str:
    """Return what a translator makes of the source of a trace, by the same search.

    What the trace was forced to begin with is forced again, unless it was forced to its very end.
    """
    forced = () if trace.origin == "given" else trace.prefix
    source = tuple(token.id for token in trace.source_tokens)
    request = Request(source, prefix=forced, terms=())
    (hypotheses,) = translator.searcher(trace.search).find([request], None)
    part, after = translator.read_whole(_target(translator, source[0]), trace.source)
    text = part.protected.restore(translator.tokenizer.decode(hypotheses[0].tokens))
    return part.before + text + after


def _target(translator: Translator, tag: int) -> str | None:
    """Return the language that a source with this tag is translated into, if it has tags."""
    tags = {token: language for language, token in translator.generation.tags.items()}
    return tags.get(tag)


def written_tokens(trace: Trace) -> list[int]:
    """Return the tokens of the translation without the end symbol."""
    ids = [step.token.id for step in trace.steps]
    return ids[:-1] if ids[-1] == EOS else ids
