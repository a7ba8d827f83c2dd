"""Recording: a twin of the network that notes every number on its way.

The twin shares every tensor with the served network (`model.twin`) and has attention kernels and
hooks of its own, so the served network is never touched and there is nothing to restore. A whole
translation is read in one pass, each position seeing only those before it (section 3.2.3): the
numbers are those that the search met step by step, which tests hold.

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
from translucid.interpret.tensor_shapes import Level, tensor_shapes
from translucid.interpret.trace import FrozenTensors
from translucid.model import MultiHeadAttention, Transformer
from translucid.model.attention import PLAIN, Kernel
from translucid.model.twin import twin
from translucid.text.tokenizer import BOS

if TYPE_CHECKING:
    from translucid.model.decoder import DecoderLayer
    from translucid.model.encoder import EncoderLayer

TOP = 10  # candidates of each step that are kept
_ROWS_AT_A_TIME = 64  # of the softmax, where it is not kept as a whole

Hook: TypeAlias = Callable[[nn.Module, tuple[Any, ...], Tensor], None]


@dataclass(frozen=True)
class Reading:
    """What the softmax of one row says of the token written there; see `trace.Step`."""

    log_prob: float
    rank: int
    entropy: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Recording:
    """The named tensors of one pass, and what the softmax said at each step."""

    tensors: FrozenTensors
    readings: tuple[Reading, ...]


class Notes:
    """Tensors by name, as float32 on the CPU and without the batch dimension."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def take(self, name: str, value_B: Tensor) -> None:
        """Note a tensor of a batch of one."""
        self.tensors[name] = value_B[0].to("cpu", torch.float32).contiguous()

    def output(self, name: str) -> Hook:
        """Return a hook that notes what a module returns."""
        return lambda _module, _args, output_B: self.take(name, output_B)

    def stream(self, stem: str) -> Hook:
        """Return a hook that notes the residual stream before and after an Add & Norm."""

        def note(_module: nn.Module, args: tuple[Any, ...], after_BLD: Tensor) -> None:
            self.take(f"{stem}.residual_before", args[0])
            self.take(f"{stem}.residual_after", after_BLD)

        return note


@dataclass(frozen=True)
class RecordingKernel:
    """Equation 1 (section 3.2.1) step by step, each step noted; at the light level weights only.

    `stem` begins the names of its tensors. `biased` attentions add a bias of their own in each
    head. `inner` is the kernel that the network had: where that changes the outcome, as one that
    turns heads off does, its outcome goes on.
    """

    notes: Notes
    stem: str
    level: Level
    biased: bool
    inner: Kernel

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMW: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        """Attend, in evaluation mode."""
        raw_BHLM = q_BHLK @ k_BHMK.transpose(-2, -1)
        scaled_BHLM = raw_BHLM / math.sqrt(q_BHLK.size(-1))
        weights_BHLM = (scaled_BHLM if mask is None else scaled_BHLM + mask).softmax(dim=-1)
        if self.inner in PLAIN:
            heads_BHLW = weights_BHLM @ v_BHMW
        else:
            heads_BHLW, _ = self.inner(q_BHLK, k_BHMK, v_BHMW, mask, dropout)
        self.notes.take(f"{self.stem}.weights", weights_BHLM)
        if self.level == "full":
            for name, value_B in (
                ("q", q_BHLK),
                ("k", k_BHMK),
                ("v", v_BHMW),
                ("raw_scores", raw_BHLM),
                ("scaled_scores", scaled_BHLM),
                ("mask", _whole(mask, raw_BHLM, self.biased)),
                ("heads", heads_BHLW),
            ):
                self.notes.take(f"{self.stem}.{name}", value_B)
        return heads_BHLW, weights_BHLM


def _whole(mask: Tensor | None, scores_BHLM: Tensor, biased: bool) -> Tensor:
    """Return what was added to the scores as (B, L, M), or as (B, H, L, M) where heads differ."""
    if mask is None:
        return torch.zeros_like(scores_BHLM[:, 0])
    mask_BHLM = mask.expand(scores_BHLM.shape)
    return mask_BHLM if biased else mask_BHLM[:, 0]


def recording_twin(model: Transformer, level: Level) -> tuple[Transformer, Notes]:
    """Return a twin that shares every tensor with the network, and the notes that it fills.

    It is for one sentence at a time, in evaluation mode.
    """
    other, notes = twin(model).eval(), Notes()
    relative = model.config.positions == "relative"
    for stem, attention in _attentions(other).items():
        biased = relative and stem.endswith("self_attention")
        attention.kernel = RecordingKernel(notes, stem, level, biased, attention.kernel)
        if level == "full":
            attention.w_o.register_forward_hook(notes.output(f"{stem}.output"))
    if level == "full":
        _watch_stacks(other, notes)
    return other, notes


def _attentions(model: Transformer) -> dict[str, MultiHeadAttention]:
    """Return all attentions by name: encoder.0.self_attention, …"""
    return {
        name.replace(".layers.", "."): module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }


def _watch_stacks(model: Transformer, notes: Notes) -> None:
    """Note what enters and leaves the two stacks of figure 1, and all between."""
    for side, embedding in (("source", model.source_embedding), ("target", model.target_embedding)):
        embedding.register_forward_hook(notes.output(f"{side}.embedding"))
    for name, side, stack, end in (
        ("encoder", "source", model.encoder, "memory"),
        ("decoder", "target", model.decoder, "decoder.states"),
    ):
        stack.dropout.register_forward_hook(notes.output(f"{side}.sum"))
        stack.register_forward_hook(notes.output(end))
        for number, layer in enumerate(stack.layers):
            _watch_layer(cast("EncoderLayer | DecoderLayer", layer), f"{name}.{number}", notes)


def _watch_layer(layer: EncoderLayer | DecoderLayer, stem: str, notes: Notes) -> None:
    """Note the residual stream around each sublayer, and the feed-forward layer's inside."""
    layer.register_forward_hook(notes.output(f"{stem}.output"))
    for name, module in layer.named_children():
        if name.endswith("_residual"):
            sublayer = name.removesuffix("_residual")
            module.register_forward_hook(notes.stream(f"{stem}.{sublayer}"))
    inner = f"{stem}.feed_forward.inner"
    layer.feed_forward.register_forward_hook(notes.output(f"{stem}.feed_forward.output"))
    layer.feed_forward.w_2.register_forward_pre_hook(
        lambda _module, args: notes.take(inner, args[0])
    )


@torch.inference_mode()
def record(
    model: Transformer, source: Sequence[int], written: Sequence[int], level: Level
) -> Recording:
    """Send a translation through a recording twin.

    `source` is what the encoder reads; `written` is all that was written, the end symbol last if
    it was. The decoder reads the start symbol and all but the last of it.
    """
    other, notes = recording_twin(model, level)
    device = next(model.parameters()).device
    source_BS = torch.tensor([source], device=device)
    read_BT = torch.tensor([[BOS, *written[:-1]]], device=device)
    states_BTD = other.decoder_states(read_BT, other.encode(source_BS), source_BS)
    if level == "full":
        _note_ends(other, states_BTD, notes)
    shapes = tensor_shapes(model.config, len(source), len(written), level)
    ordered = {name: notes.tensors[name] for name in shapes}
    readings = _readings(other, states_BTD[0], torch.tensor(written))
    return Recording(FrozenTensors(ordered), readings)


def _note_ends(model: Transformer, states_BTD: Tensor, notes: Notes) -> None:
    """Note the positions at the bottom of the stacks, and the softmax at the top."""
    for side, stack in (("source", model.encoder), ("target", model.decoder)):
        nothing_LD = torch.zeros_like(notes.tensors[f"{side}.sum"], device=states_BTD.device)
        notes.take(f"{side}.positions", stack.positions.add_to(nothing_LD[None], 0))
    logits_BTV = model.output_projection(states_BTD)
    notes.take("logits", logits_BTV)
    notes.take("log_probs", logits_BTV.log_softmax(dim=-1))


def _readings(model: Transformer, states_TD: Tensor, written_T: Tensor) -> tuple[Reading, ...]:
    """Read the softmax over the vocabulary, a few rows at a time."""
    found: list[Reading] = []
    for begin in range(0, states_TD.size(0), _ROWS_AT_A_TIME):
        rows = slice(begin, begin + _ROWS_AT_A_TIME)
        logits_PV = model.output_projection(states_TD[rows]).to("cpu", torch.float32)
        found += _read_rows(logits_PV.log_softmax(dim=-1), written_T[rows])
    return tuple(found)


def _read_rows(log_probs_PV: Tensor, written_P: Tensor) -> list[Reading]:
    chosen_P1 = log_probs_PV.gather(1, written_P[:, None])
    ranks_P = (log_probs_PV > chosen_P1).sum(dim=1) + 1
    entropies_P = torch.special.entr(log_probs_PV.exp()).sum(dim=1)
    values_PK, tokens_PK = top_tokens(log_probs_PV, min(TOP, log_probs_PV.size(1)))
    return [
        Reading(log_prob, rank, entropy, tuple(zip(tokens, values, strict=True)))
        for log_prob, rank, entropy, tokens, values in zip(
            chosen_P1[:, 0].tolist(),
            ranks_P.tolist(),
            entropies_P.tolist(),
            tokens_PK.tolist(),
            values_PK.tolist(),
            strict=True,
        )
    ]
