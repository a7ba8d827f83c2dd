"""What each part of the decoder adds to a token's logit, down to single heads.

The decoder's last state is a sum: what enters the first layer, and the output of every head and of
every feed-forward layer (section 3.1). The logit of a token is the product of that state with the
token's row of the output matrix. Only the LayerNorm between them is not linear, because it divides
by the standard deviation of the whole. With that divisor kept as it was ("frozen"), every part has
a share of the logit of its own, and the shares sum to the logit (Elhage et al. 2021, "direct logit
attribution")::

    logit = w · (γ ⊙ (x − mean(x)) / σ + β),  x = Σ parts
          = Σ w · (γ ⊙ (part − mean(part)) / σ)  +  w · β

In a post-norm network (the paper's) every sublayer ends in such a norm, and each of them is frozen.

What a share is not: what would happen without the part. Parts also act on each other, and the norm
would divide by something else. Ablation and patching answer that.

Shapes: T target, D d_model, H heads, U size of a value, K tokens, V vocabulary, P parts.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.interpret.trace import Trace
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.decoder import DecoderLayer
from translucid.model.embeddings import OutputProjection

ATTENTIONS = ("self_attention", "cross_attention")
SUBLAYERS = (*ATTENTIONS, "feed_forward")


def part_names(config: ModelConfig) -> tuple[str, ...]:
    """Return the names of the parts, in the order of `logit_contributions`; all from 0.

    >>> part_names(ModelConfig(vocab_size=50, decoder_layers=1, heads=2))  # doctest: +ELLIPSIS
    ('embedding', 'decoder.0.self_attention.0', 'decoder.0.self_attention.1', ...)
    """
    names = ["embedding"]
    for layer in range(config.decoder_layers):
        for sublayer in ATTENTIONS:
            names += [f"decoder.{layer}.{sublayer}.{head}" for head in range(config.heads)]
        names.append(f"decoder.{layer}.feed_forward")
    return (*names, "constants")


def contribution_tokens(trace: Trace) -> Tensor:
    """Return which tokens' logits are taken apart: at each step the written one, then its rivals.

    The rivals are the ten most probable tokens of the step, the written one among them or not.
    """
    return torch.tensor([[step.token.id, *(one.id for one in step.top)] for step in trace.steps])


@torch.inference_mode()
def logit_contributions(model: Transformer, trace: Trace) -> Tensor:
    """Return what each part adds to the logits of `contribution_tokens`, float64 (T, K, P).

    The trace must be a full one. The sum over the parts is the logit.
    """
    parts = _Parts(trace.tensor("target.sum").double())
    for number, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        for sublayer in SUBLAYERS:
            stem = f"decoder.{number}.{sublayer}"
            added_TD = trace.tensor(f"{stem}.output").double()
            if sublayer == "feed_forward":
                parts.add(added_TD[None])
            else:
                parts.add(*_head_outputs(getattr(layer, sublayer), trace.tensor(f"{stem}.heads")))
            residual = getattr(layer, f"{sublayer}_residual")
            if not residual.pre:
                parts.normalize(residual.norm, trace.tensor(f"{stem}.residual_before") + added_TD)
    if isinstance(model.decoder.norm, nn.LayerNorm):
        last = f"decoder.{trace.model.decoder_layers - 1}.output"
        parts.normalize(model.decoder.norm, trace.tensor(last).double())
    return _project(model.output_projection, parts.stacked_PTD(), contribution_tokens(trace))


class _Parts:
    """The parts of a stream, each (T, D); the last is what belongs to no part: biases, β."""

    def __init__(self, first_TD: Tensor) -> None:
        self._parts_PTD = first_TD[None]
        self._constants_TD = torch.zeros_like(first_TD)

    def add(self, parts_PTD: Tensor, bias_D: Tensor | None = None) -> None:
        self._parts_PTD = torch.cat([self._parts_PTD, parts_PTD])
        if bias_D is not None:
            self._constants_TD = self._constants_TD + bias_D

    def normalize(self, norm: nn.LayerNorm, whole_TD: Tensor) -> None:
        """Apply a LayerNorm to every part, with the divisor of the whole."""
        variance_T1 = whole_TD.var(dim=-1, correction=0, keepdim=True)
        scale_TD = _as_double(norm.weight) / (variance_T1 + norm.eps).sqrt()
        self._parts_PTD = _center(self._parts_PTD) * scale_TD
        self._constants_TD = _center(self._constants_TD) * scale_TD + _as_double(norm.bias)

    def stacked_PTD(self) -> Tensor:  # noqa: N802
        return torch.cat([self._parts_PTD, self._constants_TD[None]])


def _center(parts: Tensor) -> Tensor:
    return parts - parts.mean(dim=-1, keepdim=True)


def _as_double(values: Tensor) -> Tensor:
    return values.detach().cpu().double()


def _head_outputs(attention: MultiHeadAttention, heads_HTU: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return what each head adds to the stream, (H, T, D), and the bias of W^O if it has one."""
    w_o_DX = _as_double(attention.w_o.weight)  # X: all heads side by side
    w_o_DHU = w_o_DX.reshape(len(w_o_DX), heads_HTU.size(0), -1)
    bias = attention.w_o.bias
    return (
        torch.einsum("htu,dhu->htd", heads_HTU.double(), w_o_DHU),
        None if bias is None else _as_double(bias),
    )


def _project(projection: OutputProjection, parts_PTD: Tensor, tokens_TK: Tensor) -> Tensor:
    """Multiply every part with the rows of the tokens; (P, T, D) → (T, K, P)."""
    rows_TKD = _as_double(projection.rows)[tokens_TK]
    return torch.einsum("ptd,tkd->tkp", parts_PTD, rows_TKD)
