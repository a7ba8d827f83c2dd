"""Our network and Hugging Face's MarianMTModel: which weight is which, in both directions.

::

    ours                                             theirs
    encoder.layers.0.self_attention.w_q.weight       model.encoder.layers.0.self_attn.q_proj.weight
    encoder.layers.0.self_attention_residual.norm…   model.encoder.layers.0.self_attn_layer_norm…
    decoder.layers.0.cross_attention.w_o.bias        model.decoder.layers.0.encoder_attn.out_proj…
    decoder.layers.0.feed_forward.w_1.weight         model.decoder.layers.0.fc1.weight
    source_embedding.weight                          model.encoder.embed_tokens.weight
    output_projection.bias                           final_logits_bias, as a matrix of one row

Both compute the same: post-norm, scaled embeddings, sinusoids. Theirs has all sines first; the
paper has sines and cosines in turn, which is the same network with its dimensions in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from translucid.config import ModelConfig
from translucid.engines.conversion import expected_shapes

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS = "model.safetensors"

OURS = "translucid"  # what an exported config.json says of our own settings, for importing it
NORM_EPSILON = 1e-5  # theirs is not a setting
ACTIVATIONS = {"relu": "relu", "silu": "swish", "gelu": "gelu"}  # by our name

SOURCE, TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, OUTPUT_BIAS = "lm_head.weight", "final_logits_bias"
MATRICES = (SOURCE, TARGET, OUTPUT)  # with a row for each piece
SHARED = "model.shared.weight"

_MAPS = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}
_ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
_REST = {"feed_forward.w_1": "fc1", "feed_forward.w_2": "fc2"}


def name_layers(config: ModelConfig) -> dict[str, str]:
    """Return the name that each of a network's weights has in theirs, embeddings left out."""
    parts = {
        **{f"{a}.{w}": f"{b}.{p}" for a, b in _ATTENTIONS.items() for w, p in _MAPS.items()},
        **{f"{a}_residual.norm": f"{b}_layer_norm" for a, b in _ATTENTIONS.items()},
        **_REST,
        "feed_forward_residual.norm": "final_layer_norm",
    }
    return {name: _rename(name, parts) for name in expected_shapes(config) if ".layers." in name}


def _rename(name: str, parts: Mapping[str, str]) -> str:
    side, _, number, *middle, kind = name.split(".")
    return f"model.{side}.layers.{number}.{parts['.'.join(middle)]}.{kind}"


def reorder_dimensions(
    weights: Mapping[str, Tensor], *, sines_first: bool
) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of the same network with the dimensions of its d_model in another order.

    From sines and cosines in turn to all sines first, or back.
    """
    import torch

    size = weights["source_embedding.weight"].size(1)
    order = torch.arange(size).view(-1, 2).t().flatten()  # 0, 2, 4, …, 1, 3, 5, …
    order = order if sines_first else order.argsort()
    for name, weight in weights.items():
        *_, part, kind = name.split(".")
        if part in ("w_o", "w_2", "norm"):  # what is added to the sum, or normalises it
            yield name, weight[order]
        else:  # a matrix that reads it; biases of such are of other dimensions
            yield name, weight[:, order] if kind == "weight" else weight


def biases_of_attention(weights: Mapping[str, Any]) -> list[str]:
    """Return the names of the biases of W^Q, W^K, W^V and W^O among ours."""
    return [name for name in weights if "attention.w_" in name and name.endswith(".bias")]
