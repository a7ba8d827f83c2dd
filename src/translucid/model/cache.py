"""The key-value cache of masked self-attention, for decoding one token at a time (section 3.1).

The decoder is auto-regressive: what it computed for earlier positions never changes, so their keys
and values are kept, and each step projects and attends for the newest position only::

    step      0   1   2   3
    keys    [ k0  k1  k2  k3 ·  ·  ·  · ]      length 4, capacity 8
                          ▲ appended by this step; nothing before it is touched

Shapes: N rows, H heads, T positions so far, C capacity, K size of a key, W of a value.
"""

from __future__ import annotations

from torch import Tensor

FIRST_CAPACITY = 16


class LayerCache:
    """Keys and values of one decoder layer so far (section 3.1); its buffers double when full."""

    def __init__(self) -> None:
        self.length = 0
        self._keys_NHCK: Tensor | None = None
        self._values_NHCW: Tensor | None = None

    def append(self, keys_NHTK: Tensor, values_NHTW: Tensor) -> tuple[Tensor, Tensor]:
        """Remember the newest positions; return the keys and values of all positions so far."""
        start, self.length = self.length, self.length + keys_NHTK.size(2)
        self._keys_NHCK = _write(self._keys_NHCK, keys_NHTK, start)
        self._values_NHCW = _write(self._values_NHCW, values_NHTW, start)
        return self._keys_NHCK[:, :, : self.length], self._values_NHCW[:, :, : self.length]

    def reorder(self, rows_N: Tensor) -> None:
        """Keep the given rows, in the given order; a row may be kept several times, or not."""
        if self._keys_NHCK is not None and self._values_NHCW is not None:
            self._keys_NHCK = _select(self._keys_NHCK, rows_N, self.length)
            self._values_NHCW = _select(self._values_NHCW, rows_N, self.length)

    @property
    def bytes(self) -> int:
        """Memory that the buffers take, unused capacity included."""
        buffers = (self._keys_NHCK, self._values_NHCW)
        return sum(b.numel() * b.element_size() for b in buffers if b is not None)


class DecoderCache:
    """A :class:`LayerCache` a decoder layer (section 3.1), owned by one decoding session."""

    def __init__(self, layers: int) -> None:
        self.layers = [LayerCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        """Number of target positions decoded so far."""
        return self.layers[0].length

    @property
    def bytes(self) -> int:
        """Memory that all layers' buffers take."""
        return sum(layer.bytes for layer in self.layers)

    def reorder(self, rows_N: Tensor) -> None:
        """Keep the given rows, in the given order, in every layer."""
        for layer in self.layers:
            layer.reorder(rows_N)


def _write(buffer_NHCK: Tensor | None, new_NHTK: Tensor, start: int) -> Tensor:
    """Put new positions into the buffer, which first grows to twice its size if it must."""
    rows, heads, count, size = new_NHTK.shape
    stop = start + count
    if buffer_NHCK is None or buffer_NHCK.size(2) < stop:
        capacity = max(FIRST_CAPACITY, stop, 2 * start)
        grown = new_NHTK.new_empty(rows, heads, capacity, size)
        if buffer_NHCK is not None:
            grown[:, :, :start] = buffer_NHCK[:, :, :start]
        buffer_NHCK = grown
    buffer_NHCK[:, :, start:stop] = new_NHTK
    return buffer_NHCK


def _select(buffer_NHCK: Tensor, rows_N: Tensor, length: int) -> Tensor:
    """Return a buffer with these rows; only the positions in use are copied."""
    _, heads, capacity, size = buffer_NHCK.shape
    selected = buffer_NHCK.new_empty(rows_N.numel(), heads, capacity, size)
    selected[:, :, :length] = buffer_NHCK[:, :, :length].index_select(0, rows_N)
    return selected
