"""A network that takes part in translating, alone or as one of an ensemble.

Shapes: B batch, S source, T target, N rows, V vocabulary.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from translucid.decoding.stepper import Stepper
from translucid.model import Transformer
from translucid.text.tokenizer import PAD
from translucid.translator.alignment_heads import AlignmentHeads
from translucid.translator.attention import AttendingSession, Watch, watched


@dataclass(frozen=True)
class Member:
    """A network, and the heads of it that align best."""

    model: Transformer
    heads: AlignmentHeads
    _twins: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return next(self.model.parameters()).device

    @property
    def positions(self) -> int:
        """Most tokens that the network can read or write at once."""
        config = self.model.config
        return config.max_positions if config.positions == "learned" else sys.maxsize

    def watched(self) -> tuple[Transformer, Watch]:
        """Return a twin of the network that shows where those heads look; each thread has one.

        Making it takes about as long as a step of the search does.
        """
        if not hasattr(self._twins, "found"):
            self._twins.found = watched(self.model, self.heads.chosen)
        found: tuple[Transformer, Watch] = self._twins.found
        return found

    def start(self, sources: Sequence[Sequence[int]], *, copies: int, attending: bool) -> Stepper:
        """Return a decoding session of some sources; `attending` ones tell where they look."""
        source_BS = padded(sources, self.device)
        if not attending:
            return self.model.start(source_BS, copies)
        model, watch = self.watched()
        return AttendingSession(model.start(source_BS, copies), watch, self.heads.chosen)


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return rows of different lengths as one tensor, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows], device=device)
