"""Our layers equal PyTorch's own with copied weights, in both norm orders."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from networks import NORMS, copy_linear, network, ragged, small_config
from translucid.config import ModelConfig
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.decoder import DecoderLayer
from translucid.model.encoder import EncoderLayer
from translucid.model.masks import padding_mask

SIZE, HEADS, INNER = 32, 4, 48


def config(norm: str, activation: str) -> ModelConfig:
    sizes: dict[str, Any] = {"d_model": SIZE, "d_ff": INNER, "heads": HEADS, "d_k": 8, "d_v": 8}
    return small_config(**sizes, norm=norm, activation=activation, attention_bias=True)


def theirs(layer: type[nn.Module], norm: str, activation: str) -> Any:
    torch.manual_seed(7)
    made = layer(
        SIZE, HEADS, INNER, dropout=0.1, activation=activation, batch_first=True,
        norm_first=norm == "pre",
    )  # fmt: skip
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return made.eval()


def copy_attention(ours: MultiHeadAttention, other: nn.MultiheadAttention) -> None:
    weights, biases = other.in_proj_weight.chunk(3), other.in_proj_bias.chunk(3)
    for linear, weight, bias in zip((ours.w_q, ours.w_k, ours.w_v), weights, biases, strict=True):
        copy_linear(linear, weight, bias)
    copy_linear(ours.w_o, other.out_proj.weight, other.out_proj.bias)


def copy_rest(ours: EncoderLayer | DecoderLayer, other: Any, norms: list[Any]) -> None:
    copy_linear(ours.feed_forward.w_1, other.linear1.weight, other.linear1.bias)
    copy_linear(ours.feed_forward.w_2, other.linear2.weight, other.linear2.bias)
    for mine, norm in zip(
        norms, (other.norm1, other.norm2, other.norm3)[: len(norms)], strict=True
    ):
        mine.norm.load_state_dict(norm.state_dict())


def copy_encoder_layer(ours: EncoderLayer, other: Any) -> None:
    copy_attention(ours.self_attention, other.self_attn)
    norms = [ours.self_attention_residual, ours.feed_forward_residual]
    other.norm3 = None
    copy_rest(ours, other, norms)


def copy_decoder_layer(ours: DecoderLayer, other: Any) -> None:
    copy_attention(ours.self_attention, other.self_attn)
    copy_attention(ours.cross_attention, other.multihead_attn)
    copy_rest(
        ours,
        other,
        [
            ours.self_attention_residual,
            ours.cross_attention_residual,
            ours.feed_forward_residual,
        ],
    )


def stacks(norm: str, activation: str) -> tuple[Transformer, Any, Any]:
    """Our network without positions, and PyTorch's encoder and decoder layers copied into it."""
    model = network(config(norm, activation).replace(positions="none"))
    encoder, decoder = (
        [theirs(kind, norm, activation) for _ in range(2)]
        for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    )
    for ours, other in zip(model.encoder.layers, encoder, strict=True):
        copy_encoder_layer(ours, other)  # type: ignore[arg-type]
    for ours, other in zip(model.decoder.layers, decoder, strict=True):
        copy_decoder_layer(ours, other)  # type: ignore[arg-type]
    return model, encoder, decoder


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_stacks_of_layers_equal_pytorchs(norm: str, activation: str) -> None:
    model, encoder, decoder = stacks(norm, activation)
    source, target = ragged(5, 9, seed=1), ragged(5, 7, seed=2)
    padding = source == 0
    with torch.no_grad():
        x = model.source_embedding(source)
        for layer in encoder:
            x = layer(x, src_key_padding_mask=padding)
        memory = model.encoder.norm(x)
        ours = model.encode(source)
        # PyTorch's fast path may leave anything at padded positions: compare the real ones.
        assert torch.allclose(ours[~padding], memory[~padding], rtol=0, atol=1e-5)

        y = model.target_embedding(target)
        causal = nn.Transformer.generate_square_subsequent_mask(7)
        for layer in decoder:
            y = layer(
                y, ours, tgt_mask=causal, memory_key_padding_mask=padding, tgt_is_causal=False
            )
        states = model.decoder.norm(y)
        assert torch.allclose(model.decoder_states(target, ours, source), states, rtol=0, atol=1e-5)


def test_cross_attention_reads_the_last_encoder_layer() -> None:
    model = network(small_config())
    source, target = ragged(3, 6, seed=1), ragged(3, 5, seed=2)
    seen: list[torch.Tensor] = []
    model.encoder.layers[-1].register_forward_hook(lambda _m, _i, output: seen.append(output))
    logits = model(source, target)
    allowed = padding_mask(source, 0)
    states = model.decoder(
        model.target_embedding(target), model.decoder.project_memory(seen[0], allowed)
    )
    assert torch.equal(model.output_projection(states), logits)
