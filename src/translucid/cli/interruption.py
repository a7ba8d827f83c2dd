"""Ctrl-C and SIGTERM: the first asks for an end in good order, the second does not wait."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopped_by_signals(stop: Callable[[], None], *, once: bool) -> Iterator[None]:
    """Call `stop` at the first signal; a second one interrupts at once.

    With `once` a second one does nothing: under torchrun a Ctrl-C reaches a process twice, from the
    terminal and from torchrun, which itself ends processes that take too long.
    """

    def first(number: int, frame: FrameType | None) -> None:
        del number, frame
        signal.signal(signal.SIGINT, signal.SIG_IGN if once else signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if once else signal.SIG_DFL)
        stop()

    before = {number: signal.signal(number, first) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
