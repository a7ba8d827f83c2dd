"""What pictures call the parts of a network, and how a part is chosen."""

from __future__ import annotations

from translucid.errors import InputError
from translucid.interpret.trace import Side, Trace, TraceToken

ATTENTIONS: dict[Side, str] = {
    "encoder": "Self-attention of the encoder",
    "decoder": "Masked self-attention of the decoder",
    "cross": "Cross-attention",
}


def head_name(side: Side, layer: int, head: int) -> str:
    """Return what a head is called in a title."""
    return f"{ATTENTIONS[side]}, layer {layer}, head {head}"


def query_tokens(trace: Trace, side: Side) -> tuple[TraceToken, ...]:
    """Return the tokens that look: the rows of an attention."""
    return trace.source_tokens if side == "encoder" else trace.target_tokens


def key_tokens(trace: Trace, side: Side) -> tuple[TraceToken, ...]:
    """Return the tokens that are looked at: the columns of an attention."""
    return trace.target_tokens if side == "decoder" else trace.source_tokens


def checked(name: str, value: int, count: int, what: str) -> int:
    """Return a number that counts from 0, or raise InputError that says which there are."""
    if not 0 <= value < count:
        allowed = "only 0" if count == 1 else f"0 to {count - 1}"
        raise InputError(f"{name} {value}: this {what} has {count}, counted from 0: {allowed}")
    return value


def checked_layer(trace: Trace, side: Side, layer: int) -> int:
    """Return the number of a layer that has this attention, or raise InputError."""
    stack = "encoder" if side == "encoder" else "decoder"
    return checked("layer", layer, trace.layers(side), stack)


def checked_head(trace: Trace, head: int) -> int:
    """Return the number of a head, or raise InputError."""
    return checked("head", head, trace.model.heads, "network")
