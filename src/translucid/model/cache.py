"""The key-value cache of masked self-attention, for decoding one token at a time (section 3.1).

The keys and values of cross-attention never grow: `Decoder.project_memory` makes them once per
source, and the session holds them. Those of self-attention grow. As the decoder is auto-regressive,
what it computed for earlier positions never changes: it is kept, and each step projects and attends
for the newest position only::

    step      0   1   2   3
    keys    [ k0  k1  k2  k3 ·  ·  ·  · ]      length 4, capacity 8
                          ▲ appended by this step; nothing before it is touched

Where a source has several copies, as beam search has beams, each step appends the keys of all of
them side by side, and they stay where they are when copies are reordered: `ancestry` says which of
them belong to the past of each copy. So a beam that continues twice costs no copying::

    step            0        1        2            copy 0 is now what copy 1 was at step 1, and
    keys of copy    0  1     0  1     0  1         began as copy 0:
    copy 0 sees     ■  ·     ·  ■     ■  ·
    copy 1 sees     ■  ·     ■  ·     ·  ■

Shapes: B sources, W copies of each, H heads, T positions so far, M = T × W keys, C capacity in
keys, K size of a key, U of a value.
"""

from __future__ import annotations

import torch
from torch import Tensor

FIRST_CAPACITY = 16  # positions


class LayerCache:
    """Keys and values of one decoder layer so far (section 3.1); its buffers double when full."""

    def __init__(self) -> None:
        self.length = 0
        self._keys_BHCK: Tensor | None = None
        self._values_BHCU: Tensor | None = None

    def append(self, keys_BHWK: Tensor, values_BHWU: Tensor) -> tuple[Tensor, Tensor]:
        """Remember the newest position of all copies; return all keys and values so far."""
        start = self.length * keys_BHWK.size(2)
        self.length += 1
        self._keys_BHCK = _write(self._keys_BHCK, keys_BHWK, start)
        self._values_BHCU = _write(self._values_BHCU, values_BHWU, start)
        stop = start + keys_BHWK.size(2)
        return self._keys_BHCK[:, :, :stop], self._values_BHCU[:, :, :stop]

    def keep(self, sources_B: Tensor, keys: int) -> None:
        """Continue with these sources alone, of which this many keys are in use."""
        if self._keys_BHCK is not None and self._values_BHCU is not None:
            self._keys_BHCK = _select(self._keys_BHCK, sources_B, keys)
            self._values_BHCU = _select(self._values_BHCU, sources_B, keys)

    @property
    def bytes(self) -> int:
        """Memory that the buffers take, unused capacity included."""
        buffers = (self._keys_BHCK, self._values_BHCU)
        return sum(b.numel() * b.element_size() for b in buffers if b is not None)


class DecoderCache:
    """One :class:`LayerCache` per decoder layer (section 3.1), owned by one decoding session."""

    def __init__(self, layers: int, sources: int, copies: int, like: Tensor) -> None:
        self.layers = [LayerCache() for _ in range(layers)]
        self.copies = copies
        self._ancestry_BWM = like.new_empty(sources, copies, 0)
        self._own_WW = like.new_full((copies, copies), -torch.inf).fill_diagonal_(0.0)

    @property
    def length(self) -> int:
        """Number of target positions decoded so far."""
        return self.layers[0].length

    @property
    def bytes(self) -> int:
        """Memory that all layers' buffers take."""
        return sum(layer.bytes for layer in self.layers)

    def grow_ancestry(self) -> Tensor | None:
        """Give every copy its own newest key; return the mask that lets each see its own past.

        It is added to scores, as ancestry_B1WM. With one copy there is nothing to tell: None.
        """
        if self.copies == 1:
            return None
        newest_BWW = self._own_WW.expand(self._ancestry_BWM.size(0), -1, -1)
        self._ancestry_BWM = torch.cat([self._ancestry_BWM, newest_BWW], dim=2)
        return self._ancestry_BWM[:, None]

    def reorder(self, sources_B: Tensor, parents_BW: Tensor, all_sources: bool) -> None:
        """Continue with these sources, each copy with the past of its parent among the old copies.

        Keys and values move only where sources are left out.
        """
        if not all_sources:
            self._ancestry_BWM = self._ancestry_BWM[sources_B]
            for layer in self.layers:
                layer.keep(sources_B, self.length * self.copies)
        if self.copies > 1:
            rows_BWM = parents_BW[:, :, None].expand(self._ancestry_BWM.shape)
            self._ancestry_BWM = self._ancestry_BWM.gather(1, rows_BWM)


def _write(buffer_BHCK: Tensor | None, new_BHWK: Tensor, start: int) -> Tensor:
    """Put new keys into the buffer, which first grows to twice its size if it must."""
    sources, heads, count, size = new_BHWK.shape
    stop = start + count
    if buffer_BHCK is None or buffer_BHCK.size(2) < stop:
        capacity = max(FIRST_CAPACITY * count, 2 * start)
        grown = new_BHWK.new_empty(sources, heads, capacity, size)
        if buffer_BHCK is not None:
            grown[:, :, :start] = buffer_BHCK[:, :, :start]
        buffer_BHCK = grown
    buffer_BHCK[:, :, start:stop] = new_BHWK
    return buffer_BHCK


def _select(buffer_BHCK: Tensor, sources_B: Tensor, keys: int) -> Tensor:
    """Return a buffer of these sources; only what is in use is copied."""
    _, heads, capacity, size = buffer_BHCK.shape
    selected = buffer_BHCK.new_empty(sources_B.numel(), heads, capacity, size)
    torch.index_select(buffer_BHCK[:, :, :keys], 0, sources_B, out=selected[:, :, :keys])
    return selected
