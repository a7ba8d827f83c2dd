"""Recording: a weight-sharing copy of the network that records every number on its way.

The copy shares every tensor with the served network (`share_weights`) and has its own attention
kernels and hooks, so the served network is never touched and there is nothing to restore. It reads
a whole translation in one pass, each position seeing only those before it (section 3.2.3); tests
check that the numbers are those of the search step by step.

Shapes: B batch (1 here), S source, T target, L queries, M keys, D d_model, H heads, K size of a
query or key in one head, W of a value, V vocabulary, P rows of the softmax at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch
from torch import Tensor, nn

from translucid.decoding.candidates import top_tokens
from translucid.interpret.trace import FrozenTensors, Level, may_bias_scores, tensor_shapes
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.attention import EQUATION_1_KERNELS, Kernel
from translucid.model.transformer import share_weights
from translucid.text.tokenizer import BOS

if TYPE_CHECKING:
    from translucid.model.decoder import DecoderLayer
    from translucid.model.encoder import EncoderLayer

TOP = 10  # most probable tokens recorded of each step
_SOFTMAX_ROWS = 64  # computed at a time

Hook: TypeAlias = Callable[[nn.Module, tuple[Any, ...], Tensor], None]


@dataclass(frozen=True)
class Prediction:
    """The softmax of one row, and the token written there; see `trace.Step`."""

    log_prob: float
    rank: int
    entropy: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Recording:
    """The named tensors of one pass, and the prediction of each step."""

    tensors: FrozenTensors
    predictions: tuple[Prediction, ...]


class TensorLog:
    """Recorded tensors by name, as float32 on the CPU and without the batch dimension."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def add(self, name: str, value_B: Tensor) -> None:
        """Record a tensor of a batch of one."""
        self.tensors[name] = value_B[0].to("cpu", torch.float32).contiguous()

    def output_hook(self, name: str) -> Hook:
        """Return a hook that records the output of a module."""
        return lambda _module, _args, output_B: self.add(name, output_B)

    def residual_hook(self, stem: str) -> Hook:
        """Return a hook that records the residual stream before and after an Add & Norm."""

        def add_both(_module: nn.Module, args: tuple[Any, ...], after_BLD: Tensor) -> None:
            self.add(f"{stem}.residual_before", args[0])
            self.add(f"{stem}.residual_after", after_BLD)

        return add_both


@dataclass(frozen=True)
class RecordingKernel:
    """Equation 1 (section 3.2.1) step by step; records each step, at the light level only weights.

    `stem` begins the names of its tensors. `biased` attentions add a bias per head. `inner` is the
    kernel that the network had; where that is not equation 1 alone, as in ablation or in a
    registered kernel, its output counts, and its weights if it returns them.
    """

    log: TensorLog
    stem: str
    level: Level
    biased: bool
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        """Attend, in evaluation mode."""
        raw_BHLM = q_BHLK @ k_BHMK.transpose(-2, -1)
        scaled_BHLM = raw_BHLM / math.sqrt(q_BHLK.size(-1))
        weights_BHLM = (scaled_BHLM if mask is None else scaled_BHLM + mask).softmax(dim=-1)
        if self.inner in EQUATION_1_KERNELS:
            heads_BHLU = weights_BHLM @ v_BHMU
        else:
            heads_BHLU, own_BHLM = self.inner(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
            weights_BHLM = weights_BHLM if own_BHLM is None else own_BHLM
        self.log.add(f"{self.stem}.weights", weights_BHLM)
        if self.level == "full":
            for name, value_B in (
                ("q", q_BHLK),
                ("k", k_BHMK),
                ("v", v_BHMU),
                ("raw_scores", raw_BHLM),
                ("scaled_scores", scaled_BHLM),
                ("mask", _expand_mask(mask, raw_BHLM, self.biased)),
                ("heads", heads_BHLU),
            ):
                self.log.add(f"{self.stem}.{name}", value_B)
        return heads_BHLU, weights_BHLM


def _expand_mask(mask: Tensor | None, scores_BHLM: Tensor, biased: bool) -> Tensor:
    """Return what was added to the scores as (B, L, M), or as (B, H, L, M) where heads differ."""
    if mask is None:
        return torch.zeros_like(scores_BHLM[:, 0])
    mask_BHLM = mask.expand(scores_BHLM.shape)
    return mask_BHLM if biased else mask_BHLM[:, 0]


def recording_copy(model: Transformer, level: Level) -> tuple[Transformer, TensorLog]:
    """Return a weight-sharing copy of the network, and the log that it fills.

    It reads one sentence at a time, in evaluation mode.
    """
    copy, log = share_weights(model).eval(), TensorLog()
    for stem, attention in _attentions(copy).items():
        biased = may_bias_scores(model.config) and stem.endswith("self_attention")
        attention.kernel = RecordingKernel(log, stem, level, biased, attention.kernel)
        if level == "full":
            attention.w_o.register_forward_hook(log.output_hook(f"{stem}.output"))
    if level == "full":
        _hook_stacks(copy, log)
    return copy, log


def _attentions(model: Transformer) -> dict[str, MultiHeadAttention]:
    """Return all attentions by name: encoder.0.self_attention, …"""
    return {
        name.replace(".layers.", "."): module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }


def _hook_stacks(model: Transformer, log: TensorLog) -> None:
    """Record what enters and leaves the two stacks of figure 1, and everything between."""
    for side, embedding in (("source", model.source_embedding), ("target", model.target_embedding)):
        embedding.register_forward_hook(log.output_hook(f"{side}.embedding"))
    for name, side, stack, end in (
        ("encoder", "source", model.encoder, "memory"),
        ("decoder", "target", model.decoder, "decoder.states"),
    ):
        stack.dropout.register_forward_hook(log.output_hook(f"{side}.sum"))
        stack.register_forward_hook(log.output_hook(end))
        for number, layer in enumerate(stack.layers):
            _hook_layer(cast("EncoderLayer | DecoderLayer", layer), f"{name}.{number}", log)


def _hook_layer(layer: EncoderLayer | DecoderLayer, stem: str, log: TensorLog) -> None:
    """Record the residual stream around each sublayer, and inside the feed-forward layer."""
    layer.register_forward_hook(log.output_hook(f"{stem}.output"))
    for name, module in layer.named_children():
        if name.endswith("_residual"):
            sublayer = name.removesuffix("_residual")
            module.register_forward_hook(log.residual_hook(f"{stem}.{sublayer}"))
    inner = f"{stem}.feed_forward.inner"
    layer.feed_forward.register_forward_hook(log.output_hook(f"{stem}.feed_forward.output"))
    layer.feed_forward.w_2.register_forward_pre_hook(lambda _module, args: log.add(inner, args[0]))


@torch.inference_mode()
def record(
    model: Transformer, source: Sequence[int], written: Sequence[int], level: Level
) -> Recording:
    """Send a translation through a recording copy.

    `source` is what the encoder reads; `written` is everything that was written, including the
    end symbol. The decoder reads the start symbol and all but the last of it.
    """
    copy, log = recording_copy(model, level)
    device = next(model.parameters()).device
    source_BS = torch.tensor([source], device=device)
    read_BT = torch.tensor([[BOS, *written[:-1]]], device=device)
    states_BTD = copy.decoder_states(read_BT, copy.encode(source_BS), source_BS)
    if level == "full":
        _record_ends(copy, states_BTD, log)
    shapes = tensor_shapes(model.config, len(source), len(written), level)
    ordered = {name: log.tensors[name] for name in shapes}
    predictions = _predict(copy, states_BTD[0], torch.tensor(written))
    return Recording(FrozenTensors(ordered), predictions)


def _record_ends(model: Transformer, states_BTD: Tensor, log: TensorLog) -> None:
    """Record the positions at the bottom of the stacks, and the softmax at the top."""
    for side, stack in (("source", model.encoder), ("target", model.decoder)):
        zeros_LD = torch.zeros_like(log.tensors[f"{side}.sum"], device=states_BTD.device)
        log.add(f"{side}.positions", stack.positions.add_to(zeros_LD[None], 0))
    logits_BTV = model.output_projection(states_BTD)
    log.add("logits", logits_BTV)
    log.add("log_probs", logits_BTV.log_softmax(dim=-1))


def _predict(model: Transformer, states_TD: Tensor, written_T: Tensor) -> tuple[Prediction, ...]:
    """Compute the softmax over the vocabulary, a few rows at a time."""
    predictions: list[Prediction] = []
    for begin in range(0, states_TD.size(0), _SOFTMAX_ROWS):
        rows = slice(begin, begin + _SOFTMAX_ROWS)
        logits_PV = model.output_projection(states_TD[rows]).to("cpu", torch.float32)
        predictions += _predict_rows(logits_PV.log_softmax(dim=-1), written_T[rows])
    return tuple(predictions)


def _predict_rows(log_probs_PV: Tensor, written_P: Tensor) -> list[Prediction]:
    chosen_P1 = log_probs_PV.gather(1, written_P[:, None])
    ranks_P = (log_probs_PV > chosen_P1).sum(dim=1) + 1
    entropies_P = torch.special.entr(log_probs_PV.exp()).sum(dim=1)
    values_PK, tokens_PK = top_tokens(log_probs_PV, min(TOP, log_probs_PV.size(1)))
    return [
        Prediction(log_prob, rank, entropy, tuple(zip(tokens, values, strict=True)))
        for log_prob, rank, entropy, tokens, values in zip(
            chosen_P1[:, 0].tolist(),
            ranks_P.tolist(),
            entropies_P.tolist(),
            tokens_PK.tolist(),
            values_PK.tolist(),
            strict=True,
        )
    ]
