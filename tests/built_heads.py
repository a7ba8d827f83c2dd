"""A network whose heads are built by hand, so that every test knows what each of them does.

A token at a place is two ones: one for the place, one for the token. Queries are such vectors times
a matrix that says what is sought, keys are the vectors themselves::

    x = (0 … 1 … 0 │ 0 … 1 … 0)        score(i, j) = x_i · SOUGHT · x_j
         place         token

Attention adds nothing to the residual stream (W^O is zero), so every layer reads the same vectors.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from small_translators import LEXICON
from translucid.config import GenerationConfig, ModelConfig
from translucid.engines import Engines
from translucid.engines.heads import default_heads
from translucid.engines.pytorch import Member
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer
from translucid.text.tokenizer import EOS, Tokenizer
from translucid.text.word_and_character import WordTokenizer
from translucid.translator import Translator

PLACES = 12
SHARP = 60.0
ENCODER = ("previous token", "next token", "same position", "same word", "first token",
           "end of sentence", "broad")  # fmt: skip
DECODER = ("previous token", "previous token", "same position", "same word", "first token",
           "first token", "broad")  # fmt: skip
CROSS = ("alignment", "end of sentence", "first token", "broad", "broad", "broad", "broad")


def built_translator() -> Translator:
    """Return a translator of one layer each way with the heads ENCODER, DECODER and CROSS."""
    tokenizer = WordTokenizer.train([*LEXICON, *LEXICON.values()], vocab_size=1000)
    size = PLACES + tokenizer.vocab_size
    config = ModelConfig(
        source_vocab_size=tokenizer.vocab_size, target_vocab_size=tokenizer.vocab_size,
        d_model=size, d_ff=4, heads=len(ENCODER), d_k=size, d_v=2, encoder_layers=1,
        decoder_layers=1, norm="post", positions="learned", max_positions=PLACES,
    )  # fmt: skip
    model = Transformer(config).eval()
    with torch.no_grad():
        _build(model, tokenizer)
    generation = GenerationConfig(directions=(("fr", "en"),), tags={})
    return Translator(
        "built", tokenizer, Engines.of([Member(model, default_heads(config))]), generation
    )


def _build(model: Transformer, tokenizer: Tokenizer) -> None:
    size = model.config.d_model
    unit = torch.eye(size)
    model.target_embedding.weight.copy_(unit[PLACES:] / model.target_embedding.scale)
    for stack in (model.encoder, model.decoder):
        cast("torch.nn.Embedding", stack.positions.vectors).weight.copy_(unit[:PLACES])
    (below,) = cast("list[EncoderLayer]", model.encoder.layers)
    (layer,) = cast("list[DecoderLayer]", model.decoder.layers)
    for attention, roles in (
        (below.self_attention, ENCODER),
        (layer.self_attention, DECODER),
        (layer.cross_attention, CROSS),
    ):
        _seek(attention, [sought(role, size, tokenizer) for role in roles])
    for feed_forward in (below.feed_forward, layer.feed_forward):
        feed_forward.w_2.weight.zero_()
        feed_forward.w_2.bias.zero_()


def _seek(attention: MultiHeadAttention, forms: list[Tensor]) -> None:
    size = forms[0].size(0)
    attention.w_q.weight.copy_(torch.cat([form.T for form in forms]) * size**0.5)
    attention.w_k.weight.copy_(torch.eye(size).repeat(len(forms), 1))
    attention.w_o.weight.zero_()


def sought(role: str, size: int, tokenizer: Tokenizer) -> Tensor:
    """Return the matrix of what a head with a role seeks."""
    form = torch.zeros(size, size)
    places = torch.arange(PLACES)
    match role:
        case "previous token":
            form[places[1:], places[:-1]] = SHARP
        case "next token":
            form[places[:-1], places[1:]] = SHARP
        case "same position":
            form[places, places] = SHARP
        case "same word":
            form[PLACES:, PLACES:] = SHARP * torch.eye(size - PLACES)
            form[places, places] = -2 * SHARP
            form[:PLACES, 0] += SHARP / 2  # where there is no such word
        case "first token":
            form[:PLACES, 0] = SHARP
        case "end of sentence":
            form[:PLACES, PLACES + EOS] = SHARP
        case "alignment":
            for french, english in LEXICON.items():
                (source,), (target,) = tokenizer.encode(french), tokenizer.encode(english)
                form[PLACES + target, PLACES + source] = SHARP
    return form
