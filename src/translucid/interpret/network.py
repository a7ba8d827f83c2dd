"""The network of a translator: its heads by name, changed copies of it, and its hash.

::

    encoder 2.1     self-attention of the encoder, layer 2, head 1, in names both counted from 1
    decoder 1.4     masked self-attention of the decoder
    cross 4.1       attention of the decoder to the encoder's output

A changed copy shares every weight with the original (`share_weights`); `rescore` and
`retranslate` let it read the sentence of a trace once more.

Shapes: S source, T target, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, cast, get_args

import torch
from torch import Tensor

from translucid.config import ModelConfig
from translucid.decoding.hypothesis import Tokens
from translucid.engines import Engines
from translucid.engines.base import DecoderInput
from translucid.engines.pytorch import Member
from translucid.errors import InputError
from translucid.interpret.trace import Side, Trace
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.attention import Kernel
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer
from translucid.model.transformer import share_weights
from translucid.translator import Translator

SIDES: tuple[Side, ...] = get_args(Side)

NewKernel = Callable[[Side, int, Kernel], Kernel]


class AttentionHead(NamedTuple):
    """One head of one of the three attentions; layer and head from 0, in its name from 1."""

    side: Side
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.side} {self.layer + 1}.{self.head + 1}"


def count_layers(config: ModelConfig, side: Side) -> int:
    """Return the number of layers that have this attention."""
    return config.encoder_layers if side == "encoder" else config.decoder_layers


def all_heads(config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Return all heads of a network: encoder, decoder, cross, each from its first layer on."""
    return tuple(
        AttentionHead(side, layer, head)
        for side in SIDES
        for layer in range(count_layers(config, side))
        for head in range(config.heads)
    )


def check_heads(heads: Iterable[AttentionHead], config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Return the heads without repetitions; refuse those that the network does not have."""
    unique = tuple(dict.fromkeys(AttentionHead(*head) for head in heads))
    known = set(all_heads(config))
    if unknown := [head for head in unique if head not in known]:
        raise InputError(
            f"no such head: {', '.join(map(str, unknown))}. The network has "
            f"{config.encoder_layers} encoder and {config.decoder_layers} decoder layers of "
            f"{config.heads} heads, counted from 1 here; attentions are {', '.join(SIDES)}"
        )
    return unique


def named_attentions(model: Transformer) -> Iterator[tuple[Side, int, MultiHeadAttention]]:
    """Yield every attention of a network with its name and layer."""
    for number, encoder_layer in enumerate(cast("list[EncoderLayer]", model.encoder.layers)):
        yield "encoder", number, encoder_layer.self_attention
    for number, decoder_layer in enumerate(cast("list[DecoderLayer]", model.decoder.layers)):
        yield "decoder", number, decoder_layer.self_attention
        yield "cross", number, decoder_layer.cross_attention


# ---- the network of a translator ----------------------------------------------------------------


def single_network(translator: Translator) -> Transformer:
    """Return the network of a translator; refuse an ensemble, which has several."""
    if len(translator.members) != 1:
        raise InputError(
            f"{translator.name} is an ensemble of {len(translator.members)} models: look into "
            "each one separately"
        )
    return translator.members[0].model


def replace_network(translator: Translator, model: Transformer, name: str) -> Translator:
    """Return a translator with another network and everything else unchanged."""
    return Translator(
        name,
        translator.tokenizer,
        Engines.of([Member(model, translator.members[0].heads)]),
        translator.generation,
        translator.source_languages,
    )


def replace_kernels(model: Transformer, new: NewKernel) -> Transformer:
    """Return a weight-sharing copy whose attention kernels are made from the original's."""
    copy = share_weights(model)
    for side, layer, attention in named_attentions(copy):
        attention.kernel = new(side, layer, attention.kernel)
    return copy


# ---- a trace's sentence, read by another network ------------------------------------------------


@torch.inference_mode()
def rescore(translator: Translator, trace: Trace) -> Tensor:
    """Return log P of every token at each step of a trace, by this translator's network, (T, V)."""
    device = translator.members[0].device
    source_1S, target_1T = (
        torch.tensor([[token.id for token in tokens]], device=device)
        for tokens in (trace.source_tokens, trace.target_tokens)
    )
    logits_1TV: Tensor = single_network(translator)(source_1S, target_1T)
    return logits_1TV[0].log_softmax(dim=-1).cpu()


def gather_written(log_probs_TV: Tensor, trace: Trace) -> Tensor:
    """Return log P of the tokens that the trace wrote, (T,)."""
    written_T = torch.tensor([step.token.id for step in trace.steps])
    return log_probs_TV.gather(1, written_T[:, None])[:, 0]


def retranslate(translator: Translator, trace: Trace) -> str:
    """Translate the source of a trace with this translator, by the same search.

    The prefix of the trace is forced again, unless the whole translation was given.
    """
    prefix = () if trace.origin == "given" else trace.prefix
    source = tuple(token.id for token in trace.source_tokens)
    request = DecoderInput(source, prefix=prefix, terms=())
    options = translator.searcher(trace.search).options
    (hypotheses,) = translator.engines.pytorch.search([request], options)
    return decode_part(translator, trace, hypotheses[0].tokens)


def decode_part(translator: Translator, trace: Trace, tokens: Tokens) -> str:
    """Return the text of another translation of a trace's source, without its end symbol."""
    languages = {token: language for language, token in translator.generation.tags.items()}
    target = languages.get(trace.source_tokens[0].id)
    part, after = translator.read_whole(target, trace.source)
    return part.before + part.protected.restore(translator.tokenizer.decode(tokens)) + after


# ---- which model made a trace -------------------------------------------------------------------


def model_hash(translator: Translator) -> str:
    """Return the SHA-256 of a translator's networks and vocabulary, in hexadecimal.

    It depends neither on the device nor on the name of the model.
    """
    return translator.hash
