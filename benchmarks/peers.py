"""The peers that benchmarks train beside ours: networks of the same sizes from other libraries."""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.text.tokenizer import BOS, EOS, PAD


class Peer(Protocol):
    """A network that gives the logits of every target position, and can be asked in two parts."""

    @property
    def module(self) -> nn.Module: ...
    def encode(self, source_BS: Tensor) -> Tensor: ...
    def decode(self, target_BT: Tensor, memory_BSD: Tensor, source_BS: Tensor) -> Tensor: ...


class PlainTransformer(nn.Module):
    """`torch.nn.Transformer`, pre-norm, with sinusoids and one matrix for all embeddings."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.source_vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
            norm_first=True,
        )
        layers = [*self.transformer.encoder.layers, *self.transformer.decoder.layers]
        for layer in layers:  # nn.Transformer knows one share for all; ours has two more
            layer.dropout.p = config.feed_forward_dropout
            layer.self_attn.dropout = config.attention_dropout
        for layer in self.transformer.decoder.layers:
            layer.multihead_attn.dropout = config.attention_dropout
        place = torch.arange(config.max_positions)[:, None]
        pace = torch.exp(torch.arange(0, config.d_model, 2) * (-math.log(1e4) / config.d_model))
        waves = torch.zeros(config.max_positions, config.d_model)
        waves[:, 0::2], waves[:, 1::2] = torch.sin(place * pace), torch.cos(place * pace)
        self.register_buffer("waves", waves)

    @property
    def module(self) -> nn.Module:
        return self

    def embed(self, tokens_BL: Tensor) -> Tensor:
        x_BLD = self.embedding(tokens_BL) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x_BLD + self.waves[: tokens_BL.size(1)])

    def encode(self, source_BS: Tensor) -> Tensor:
        return self.transformer.encoder(
            self.embed(source_BS), src_key_padding_mask=source_BS == PAD
        )

    def decode(self, target_BT: Tensor, memory_BSD: Tensor, source_BS: Tensor) -> Tensor:
        length = target_BT.size(1)
        later_TT = torch.ones(length, length, dtype=torch.bool).triu(1)
        x_BTD = self.transformer.decoder(
            self.embed(target_BT),
            memory_BSD,
            tgt_mask=later_TT,
            tgt_is_causal=True,
            memory_key_padding_mask=source_BS == PAD,
        )
        return x_BTD @ self.embedding.weight.T


class Marian:
    """Hugging Face's MarianMTModel, post-norm as it is; first weights for its width.

    (MarianConfig's own, a deviation of 0.02, are for networks eight times as wide as `tiny`.)
    """

    def __init__(self, config: ModelConfig) -> None:
        width = config.d_model
        self.module = marian_model(config, dropout=config.dropout, init_std=width**-0.5)

    def encode(self, source_BS: Tensor) -> Tensor:
        mask_BS = (source_BS != PAD).long()
        return self.module.get_encoder()(source_BS, attention_mask=mask_BS)[0]

    def decode(self, target_BT: Tensor, memory_BSD: Tensor, source_BS: Tensor) -> Tensor:
        return self.module(
            encoder_outputs=(memory_BSD,),
            attention_mask=(source_BS != PAD).long(),
            decoder_input_ids=target_BT,
            use_cache=False,
        ).logits


def marian_model(config: ModelConfig, **more: Any) -> Any:
    """Return a MarianMTModel of these sizes that was never trained."""
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=config.source_vocab_size,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            bos_token_id=BOS,
            decoder_start_token_id=BOS,
            max_position_embeddings=1024,
            **more,
        )
    )


def logits(peer: Peer, source_BS: Tensor, target_BT: Tensor) -> Tensor:
    return peer.decode(target_BT, peer.encode(source_BS), source_BS)
