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

With `rdrop_alpha` (R-Drop), each sentence goes through the network twice, and dropout makes two
distributions p and p′ of it. They are taught to agree: the loss of a token is the mean of
CE(p) + α/2 · KL(p ‖ p′) and CE(p′) + α/2 · KL(p′ ‖ p). A chunk then holds rows of both passes.

`register_loss` adds a loss that the setting `training.loss` can name.

Shapes: B batch, S source, T target, R rows (labels that count), C rows of a chunk, D d_model,
V vocabulary.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translucid.model import Transformer
from translucid.training.config import LOSSES

CHUNK_ELEMENTS = 1 << 23  # logits a chunk, 32 MB: more rows make the matrix products no faster
SUM_COLUMNS = 1024  # whose sum in bfloat16 is rounded once
PAIRED_ELEMENTS = 1 << 20  # of each pass; there are four such buffers, read and written many times


class Loss(Protocol):
    """A loss over the decoder's states: returns (objective_sum, plain_sum) over all rows.

    The logits are ``states_RD @ weight_VD.T``; `labels_R` are the right tokens. The gradient of the
    first sum is followed; the second is the sum of −log p of the right tokens, for the perplexity.
    With `rdrop_alpha` the second half of the rows is another pass over the first half, and both
    sums are means over the two passes.
    """

    def __call__(
        self,
        states_RD: Tensor,
        weight_VD: Tensor,
        labels_R: Tensor,
        smoothing: float,
        rdrop_alpha: float,
    ) -> tuple[Tensor, Tensor]:
        """Return the sums over all rows."""


register_loss = LOSSES.register


class Objective(nn.Module):
    """Teacher forcing: predict each token from the source and the target before it."""

    def __init__(
        self,
        model: Transformer,
        label_smoothing: float,
        rdrop_alpha: float,
        loss: str = "cross-entropy",
    ) -> None:
        super().__init__()
        self.loss: Loss = LOSSES.find(loss)
        self.model = model
        self.label_smoothing = label_smoothing
        self.rdrop_alpha = rdrop_alpha

    def forward(
        self, source_BS: Tensor, target_BT: Tensor, labels_BT: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return (smoothed_sum, plain_sum) over all labels that are not padding.

        Only the first has a gradient; the second tells the perplexity.
        """
        model = self.model
        if self.rdrop_alpha:  # twice as many sentences from here on
            source_BS, target_BT, labels_BT = (
                torch.cat([ids, ids]) for ids in (source_BS, target_BT, labels_BT)
            )
        states_BTD = model.decoder_states(target_BT, model.encode(source_BS), source_BS)
        counts_R = (labels_BT != model.config.padding_id).flatten().nonzero().squeeze(1)
        states_RD = states_BTD.flatten(0, 1).index_select(0, counts_R)
        projection, weight_VD = model.output_projection, model.output_projection.rows
        if projection.bias is not None:  # a column of the matrix, for a state that is always 1
            states_RD = nn.functional.pad(states_RD, (0, 1), value=1.0)
            weight_VD = torch.cat([weight_VD, projection.bias[:, None]], dim=1)
        return self.loss(
            states_RD,
            weight_VD,
            labels_BT.flatten()[counts_R],
            self.label_smoothing,
            self.rdrop_alpha,
        )


@register_loss("cross-entropy")
def projected_loss(
    states_RD: Tensor,
    weight_VD: Tensor,
    labels_R: Tensor,
    smoothing: float,
    rdrop_alpha: float,
) -> tuple[Tensor, Tensor]:
    """Return (smoothed_sum, plain_sum) of the logits ``states @ weightᵀ`` against the labels.

    With `rdrop_alpha` the second half of the rows is another pass over the first half: the sums are
    means over both passes, and the first contains their disagreement. Under autocast, the products
    with all of the vocabulary and what is made of them are in its precision; the right tokens'
    logits and all sums are in that of the weight.
    """
    device = states_RD.device.type
    fast = torch.is_autocast_enabled(device) and not rdrop_alpha
    precision = torch.get_autocast_dtype(device) if fast else weight_VD.dtype
    states_RD = states_RD.to(weight_VD.dtype)
    with torch.autocast(device, enabled=False):
        sums: tuple[Tensor, Tensor] = _ProjectedLoss.apply(  # type: ignore[no-untyped-call]
            states_RD, weight_VD, labels_R, smoothing, rdrop_alpha, precision
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
        ctx: Any,
        states_RD: Tensor,
        weight_VD: Tensor,
        labels_R: Tensor,
        smoothing: float,
        rdrop_alpha: float,
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad)
        smoothed, plain, gradients = _loss_and_gradients(
            states_RD, weight_VD, labels_R, smoothing, rdrop_alpha, precision, wanted
        )
        ctx.share = 0.5 if rdrop_alpha else 1.0  # of two passes the mean counts
        if wanted:
            ctx.save_for_backward(*gradients)
        plain = plain * ctx.share
        ctx.mark_non_differentiable(plain)
        return smoothed * ctx.share, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, _grad_plain: Tensor) -> tuple[Any, ...]:
        grad_states_RD, grad_weight_VD = ctx.saved_tensors
        factor = grad_smoothed * ctx.share
        return grad_states_RD * factor, grad_weight_VD * factor, None, None, None, None


def _loss_and_gradients(
    states_RD: Tensor,
    weight_VD: Tensor,
    labels_R: Tensor,
    smoothing: float,
    rdrop_alpha: float,
    precision: torch.dtype,
    wanted: bool,
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Walk the rows in chunks; return both sums and, where wanted, both gradients.

    With z the logits, the smoothed cross-entropy of a row is logsumexp(z) − (1 − ε) z_label
    − ε mean(z), and its gradient by z is p − q. The chunks give what depends on all logits, p and
    logsumexp; what comes from q are products of small matrices.
    """
    rows, vocab = states_RD.size(0), weight_VD.size(0)
    if rdrop_alpha:
        found = _normalize_pairs(states_RD, weight_VD, rdrop_alpha, wanted)
    else:
        found = _normalize_rows(states_RD, weight_VD, precision, wanted)
    _, _, grad_states_RD, grad_weight_VD = found
    right_R = (states_RD * weight_VD[labels_R]).sum(-1)
    mean_R = states_RD @ weight_VD.mean(0)
    plain = (found.normalizer_R - right_R).sum()
    smoothed = plain + smoothing * (right_R - mean_R).sum() + found.disagreement
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


class _Normalized(NamedTuple):
    """What depends on all logits: logsumexp of each row, and how far two passes are apart.

    The gradients are those of the total sum; they are meaningless unless requested.
    """

    normalizer_R: Tensor
    disagreement: Tensor | float
    grad_states_RD: Tensor
    grad_weight_VD: Tensor


def _allocate(states_RD: Tensor, weight_VD: Tensor, wanted: bool) -> _Normalized:
    return _Normalized(
        normalizer_R=states_RD.new_empty(states_RD.size(0)),
        disagreement=0.0,
        grad_states_RD=torch.empty_like(states_RD) if wanted else states_RD,
        grad_weight_VD=torch.zeros_like(weight_VD) if wanted else weight_VD,
    )


def _normalize_rows(
    states_RD: Tensor, weight_VD: Tensor, precision: torch.dtype, wanted: bool
) -> _Normalized:
    """Walk the rows of one pass.

    With e = exp(z − max z) and p = e / sum(e), the division by sum(e) moves to the small side of
    each product, so the only large thing is a chunk of e, written three times and read four.
    """
    found = _allocate(states_RD, weight_VD, wanted)
    normalizer_R, _, grad_states_RD, grad_weight_VD = found
    rows, vocab = states_RD.size(0), weight_VD.size(0)
    fast_VD = weight_VD.to(precision)
    # In bfloat16 the product with e on the right takes half the time of that with eᵀ on the left.
    fast_DV = None if precision == weight_VD.dtype else torch.zeros_like(weight_VD.t())
    step = max(1, min(rows, CHUNK_ELEMENTS // vocab))
    buffer_CV = states_RD.new_empty(step, vocab, dtype=precision)
    for start in range(0, rows, step):
        chunk = slice(start, min(start + step, rows))
        states_CD = states_RD[chunk]
        e_CV = torch.mm(states_CD.to(precision), fast_VD.t(), out=buffer_CV[: len(states_CD)])
        highest_C1 = e_CV.amax(dim=-1, keepdim=True)
        sum_C1 = _sum_rows(e_CV.sub_(highest_C1).exp_())
        normalizer_R[chunk] = (highest_C1 + sum_C1.log()).squeeze(1)
        if wanted:
            torch.div(e_CV @ fast_VD, sum_C1, out=grad_states_RD[chunk])
            shares_CD = states_CD / sum_C1
            if fast_DV is None:
                grad_weight_VD.addmm_(e_CV.t(), shares_CD)
            else:  # the sum over the chunks keeps all of its digits
                fast_DV.add_(shares_CD.to(precision).t() @ e_CV)
    if wanted and fast_DV is not None:
        grad_weight_VD.copy_(fast_DV.t())
    return found


def _sum_rows(e_CV: Tensor) -> Tensor:
    """Return the sums of the rows, sum_C1, those of bfloat16 in float32.

    PyTorch would copy all of a bfloat16 matrix to float32 for that. Sums of parts are added up
    inside in float32 and rounded once each, so the sum of a row is better than one of its terms.
    """
    if e_CV.dtype != torch.bfloat16:
        return e_CV.sum(dim=-1, keepdim=True)
    columns = torch.split(e_CV, SUM_COLUMNS, dim=-1)
    parts = [part_CW.sum(dim=-1, keepdim=True) for part_CW in columns]
    return torch.cat(parts, dim=-1).sum(dim=-1, keepdim=True, dtype=torch.float32)


def _normalize_pairs(
    states_RD: Tensor, weight_VD: Tensor, rdrop_alpha: float, wanted: bool
) -> _Normalized:
    """Walk the rows of two passes, a pair at a time.

    With p and q the probabilities of the two, d = log p − log q and h = α/2, the disagreement is
    h (KL(p ‖ q) + KL(q ‖ p)); KL(p ‖ q) = Σ p d, and with logsumexp the gradients by the logits are

        of the first      (1 + h − h KL(p ‖ q)) p + h p d − h q
        of the second     (1 + h − h KL(q ‖ p)) q − h q d − h p
    """
    found = _allocate(states_RD, weight_VD, wanted)
    normalizer_R, _, grad_states_RD, grad_weight_VD = found
    rows, vocab = states_RD.size(0) // 2, weight_VD.size(0)
    half, disagreement = rdrop_alpha / 2, states_RD.new_zeros(())
    step = max(1, min(rows, PAIRED_ELEMENTS // vocab))
    buffers = [states_RD.new_empty(step, vocab) for _ in range(4)]
    for start in range(0, rows, step):
        size = min(step, rows - start)
        d_CV, work_CV, p_CV, q_CV = (buffer[:size] for buffer in buffers)
        first, second = slice(start, start + size), slice(rows + start, rows + start + size)
        torch.mm(states_RD[first], weight_VD.t(), out=d_CV)
        torch.mm(states_RD[second], weight_VD.t(), out=work_CV)
        of_p_C1, of_q_C1 = _softmax(d_CV, p_CV), _softmax(work_CV, q_CV)
        normalizer_R[first], normalizer_R[second] = of_p_C1.squeeze(1), of_q_C1.squeeze(1)
        d_CV.sub_(work_CV).sub_(of_p_C1 - of_q_C1)
        p_to_q_C1 = torch.mul(p_CV, d_CV, out=work_CV).sum(-1, keepdim=True)
        q_to_p_C1 = -d_CV.mul_(q_CV).sum(-1, keepdim=True)
        disagreement += half * (p_to_q_C1.sum() + q_to_p_C1.sum())
        if wanted:
            grad_p_CV = work_CV.sub_(q_CV).mul_(half).addcmul_(p_CV, 1 + half - half * p_to_q_C1)
            grad_q_CV = d_CV.add_(p_CV).mul_(-half).addcmul_(q_CV, 1 + half - half * q_to_p_C1)
            for chunk, gradient_CV in ((first, grad_p_CV), (second, grad_q_CV)):
                torch.mm(gradient_CV, weight_VD, out=grad_states_RD[chunk])
                grad_weight_VD.addmm_(gradient_CV.t(), states_RD[chunk])
    return found._replace(disagreement=disagreement)


def _softmax(logits_CV: Tensor, out_CV: Tensor) -> Tensor:
    """Write the probabilities of the logits into `out_CV`, and return their logsumexp."""
    highest_C1 = logits_CV.amax(dim=-1, keepdim=True)
    sum_C1 = torch.sub(logits_CV, highest_C1, out=out_CV).exp_().sum(dim=-1, keepdim=True)
    out_CV.div_(sum_C1)
    return highest_C1 + sum_C1.log()
