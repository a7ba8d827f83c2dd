"""The objective: cross-entropy of the next token with label smoothing (sections 3.1 and 5.4).

The smoothed target q gives the right token 1 − ε and spreads ε evenly over all V tokens, the right
one included. The loss is KL(q ‖ p), which is zero when the model says exactly q; perplexity is
always from the plain loss, −log p of the right token. Both are *sums* over tokens, so that the
gradient of several micro-batches, or of several processes, adds up to that of one big batch.

The output projection and the loss are one function that works on chunks of rows: logits of about a
thousand rows are made, turned into probabilities in place, multiplied into the gradients of states
and weights, and overwritten by the next chunk. The logits of a batch are never all in memory::

    states_RD ─┬─ rows 0…1023    ─▶ logits ─▶ p ─▶ gradient of states, += gradient of weight
               ├─ rows 1024…2047 ─▶ (the same buffer)
               └─ …

Shapes: B batch, S source, T target, R rows (labels that count), C rows of a chunk, D d_model,
V vocabulary.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translucid.model import Transformer

CHUNK_ELEMENTS = 1 << 23  # logits a chunk, 32 MB: more rows make the matrix products no faster


class Objective(nn.Module):
    """Teacher forcing: given the source and the target so far, how well is the next token told?"""

    def __init__(self, model: Transformer, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(
        self, source_BS: Tensor, target_BT: Tensor, labels_BT: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return (smoothed_sum, plain_sum) over all labels that are not padding.

        Only the first has a gradient; the second tells the perplexity.
        """
        model = self.model
        states_BTD = model.decoder_states(target_BT, model.encode(source_BS), source_BS)
        counts_R = (labels_BT != model.config.padding_id).flatten().nonzero().squeeze(1)
        return projected_loss(
            states_BTD.flatten(0, 1).index_select(0, counts_R),
            model.output_projection.weight,
            labels_BT.flatten()[counts_R],
            self.label_smoothing,
        )


def projected_loss(
    states_RD: Tensor, weight_VD: Tensor, labels_R: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return (smoothed_sum, plain_sum) of the logits ``states @ weightᵀ`` against the labels.

    They are computed in the precision of the weight, float32 under autocast too.
    """
    states_RD = states_RD.to(weight_VD.dtype)
    with torch.autocast(states_RD.device.type, enabled=False):
        sums: tuple[Tensor, Tensor] = _ProjectedLoss.apply(  # type: ignore[no-untyped-call]
            states_RD, weight_VD, labels_R, smoothing
        )
    return sums


def target_entropy(smoothing: float, vocab_size: int) -> float:
    """Return H(q), the entropy of a smoothed target, which no cross-entropy can be below."""
    spread = smoothing / vocab_size
    right = 1 - smoothing + spread
    rest = (vocab_size - 1) * spread * math.log(spread) if spread > 0 else 0.0
    return -(right * math.log(right) + rest)


class _ProjectedLoss(torch.autograd.Function):
    """Loss and gradients in one pass; ``backward`` only multiplies by what comes from above."""

    @staticmethod
    def forward(
        ctx: Any, states_RD: Tensor, weight_VD: Tensor, labels_R: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad)
        smoothed, plain, gradients = _loss_and_gradients(
            states_RD, weight_VD, labels_R, smoothing, wanted
        )
        if wanted:
            ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, _grad_plain: Tensor) -> tuple[Any, ...]:
        grad_states_RD, grad_weight_VD = ctx.saved_tensors
        return grad_states_RD * grad_smoothed, grad_weight_VD * grad_smoothed, None, None


def _loss_and_gradients(
    states_RD: Tensor, weight_VD: Tensor, labels_R: Tensor, smoothing: float, wanted: bool
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Walk the rows in chunks; return both sums and, where wanted, both gradients.

    With z the logits, e = exp(z − max z) and p = e / sum(e), the smoothed cross-entropy of a row is
    logsumexp(z) − (1 − ε) z_label − ε mean(z), and its gradient by z is p − q. What comes from q
    are products of small matrices, and the division by sum(e) moves to the small side of each
    product, so the only large thing is a chunk of e, written three times and read four.
    """
    rows, vocab = states_RD.size(0), weight_VD.size(0)
    step = max(1, min(rows, CHUNK_ELEMENTS // vocab))
    normalizer_R = states_RD.new_empty(rows)
    grad_states_RD = torch.empty_like(states_RD) if wanted else states_RD
    grad_weight_VD = torch.zeros_like(weight_VD) if wanted else weight_VD
    buffer_CV = states_RD.new_empty(step, vocab)
    for start in range(0, rows, step):
        chunk = slice(start, min(start + step, rows))
        e_CV = torch.mm(states_RD[chunk], weight_VD.t(), out=buffer_CV[: chunk.stop - start])
        highest_C1 = e_CV.amax(dim=-1, keepdim=True)
        sum_C1 = e_CV.sub_(highest_C1).exp_().sum(dim=-1, keepdim=True)
        normalizer_R[chunk] = (highest_C1 + sum_C1.log()).squeeze(1)
        if wanted:
            torch.mm(e_CV, weight_VD, out=grad_states_RD[chunk]).div_(sum_C1)
            grad_weight_VD.addmm_(e_CV.t(), states_RD[chunk] / sum_C1)
    right_R = (states_RD * weight_VD[labels_R]).sum(-1)
    mean_R = states_RD @ weight_VD.mean(0)
    plain = (normalizer_R - right_R).sum()
    smoothed = plain + smoothing * (right_R - mean_R).sum()
    if wanted:
        grad_states_RD.sub_(weight_VD[labels_R], alpha=1 - smoothing)
        grad_states_RD.sub_(weight_VD.mean(0), alpha=smoothing)
        grad_weight_VD.index_add_(0, labels_R, states_RD, alpha=smoothing - 1)
        grad_weight_VD.sub_(states_RD.sum(0), alpha=smoothing / vocab)
    return (
        smoothed - rows * target_entropy(smoothing, vocab),
        plain,
        (grad_states_RD, grad_weight_VD),
    )
