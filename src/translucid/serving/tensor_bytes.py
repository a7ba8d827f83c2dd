"""A tensor of a trace, or a part of it, as the bytes that a page reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from translucid.errors import InputError
from translucid.interpret.trace import Trace
from translucid.interpret.trace_json import summary_tensor
from translucid.serving.problems import Fault, Problem, invalid

_INDICES = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
_SHOWN = 60  # characters of a wrong name or index that a message repeats


@dataclass(frozen=True)
class TensorBytes:
    """Numbers in C order, float32, little-endian; −∞ is −∞."""

    shape: tuple[int, ...]
    data: bytes


def tensor_bytes(trace: Trace, name: str, at: str | None) -> TensorBytes:
    """Return a tensor by name; `at` picks leading indices: `1,0` of (H, L, M) is a row of M."""
    tensor = summary_tensor(trace, name)
    if tensor is None:
        try:
            tensor = trace.tensor(name if name in trace.tensors else name[:_SHOWN])
        except InputError as error:
            raise Problem("unknown-tensor", str(error)) from error
    tensor = tensor[indices(at, tuple(tensor.shape))].contiguous()
    return TensorBytes(tuple(tensor.shape), tensor.numpy().astype("<f4", copy=False).tobytes())


def indices(at: str | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the leading indices that a request names, each within its dimension."""
    if at is None:
        return ()
    if not _INDICES.fullmatch(at):
        problem = (
            f"is {at[:_SHOWN]!r}: give whole numbers with commas between them, such as 3 or 1,0"
        )
        raise invalid([Fault("at", problem)])
    found = tuple(map(int, at.split(",")))
    allowed = ", ".join(f"0 to {size - 1}" for size in shape)
    if len(found) > len(shape):
        problem = f"has {len(found)} indices, and the tensor has {len(shape)} dimensions: {allowed}"
        raise invalid([Fault("at", problem)])
    wrong = [place for place, index in enumerate(found) if index >= shape[place]]
    if wrong:
        place = wrong[0]
        allowed = f"0 to {shape[place] - 1}" if shape[place] else "nothing: the tensor is empty"
        raise invalid([Fault("at", f"{found[place]} at place {place}: allowed is {allowed}")])
    return found
