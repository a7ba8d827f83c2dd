"""The whole network equals Hugging Face's MarianMTModel with copied weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import MarianConfig, MarianMTModel

from networks import copy_linear, network, ragged
from translucid.config import ModelConfig
from translucid.model import Transformer

VOCAB, SIZE, INNER, HEADS, LAYERS = 61, 32, 48, 4, 3
PADDING = 0


@pytest.fixture(scope="module")
def marian() -> Any:
    torch.manual_seed(11)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=VOCAB,
            d_model=SIZE,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_ffn_dim=INNER,
            decoder_ffn_dim=INNER,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PADDING,
            eos_token_id=1,
            decoder_start_token_id=PADDING,
            max_position_embeddings=64,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
        )
    ).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def copied(marian: Any) -> Transformer:
    """Our network: post-norm, sinusoids in halves, all embeddings tied, with Marian's weights."""
    model = network(
        ModelConfig(
            source_vocab_size=VOCAB,
            target_vocab_size=VOCAB,
            d_model=SIZE,
            d_ff=INNER,
            heads=HEADS,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            positions="sinusoidal-halves",
            attention_bias=True,
            padding_id=PADDING,
        )
    )
    with torch.no_grad():
        model.target_embedding.weight.copy_(marian.model.shared.weight)
    for ours, theirs in zip(model.encoder.layers, marian.model.encoder.layers, strict=True):
        _copy_attention(ours.self_attention, theirs.self_attn)
        _copy_common(ours, theirs)
    for ours, theirs in zip(model.decoder.layers, marian.model.decoder.layers, strict=True):
        _copy_attention(ours.self_attention, theirs.self_attn)
        _copy_attention(ours.cross_attention, theirs.encoder_attn)
        _copy_norm(ours.cross_attention_residual, theirs.encoder_attn_layer_norm)
        _copy_common(ours, theirs)
    return model


def _copy_attention(ours: Any, theirs: Any) -> None:
    for mine, name in (
        ("w_q", "q_proj"),
        ("w_k", "k_proj"),
        ("w_v", "v_proj"),
        ("w_o", "out_proj"),
    ):
        other = getattr(theirs, name)
        copy_linear(getattr(ours, mine), other.weight, other.bias)


def _copy_norm(ours: Any, theirs: Any) -> None:
    ours.norm.load_state_dict(theirs.state_dict())


def _copy_common(ours: Any, theirs: Any) -> None:
    copy_linear(ours.feed_forward.w_1, theirs.fc1.weight, theirs.fc1.bias)
    copy_linear(ours.feed_forward.w_2, theirs.fc2.weight, theirs.fc2.bias)
    _copy_norm(ours.self_attention_residual, theirs.self_attn_layer_norm)
    _copy_norm(ours.feed_forward_residual, theirs.final_layer_norm)


def test_logits_equal_marians(marian: Any) -> None:
    model = copied(marian)
    source, target = ragged(6, 11, seed=5, vocab=VOCAB), ragged(6, 9, seed=6, vocab=VOCAB)
    with torch.no_grad():
        ours = model(source, target)
        theirs = marian(
            input_ids=source, attention_mask=source != PADDING, decoder_input_ids=target
        ).logits
    assert ours.std() > 0.5  # not the agreement of two silent networks
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-5)


def test_representations_equal_marians(marian: Any) -> None:
    source = ragged(6, 11, seed=5, vocab=VOCAB)
    real = source != PADDING
    with torch.no_grad():
        theirs = marian.get_encoder()(input_ids=source, attention_mask=real).last_hidden_state
        ours = copied(marian).encode(source)
    assert torch.allclose(ours[real], theirs[real], rtol=0, atol=1e-5)
