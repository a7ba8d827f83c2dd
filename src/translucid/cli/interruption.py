"""Ctrl-C and SIGTERM: the first asks for an end in good order, the second does not wait."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AGAIN = 0.01  # seconds until a Ctrl-C that was dropped comes again


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


def hear_ctrl_c_everywhere() -> None:
    """Have Ctrl-C sent again where Python drops the exception that it raised.

    In a finalizer or the callback of a weak reference, which every import has, an exception cannot
    leave; Python prints it and goes on, and the command would run as if nobody had asked it to end.
    """
    usual = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt) and not sys.is_finalizing():
            this = threading.get_ident()  # the main thread: no other is ever interrupted
            again = threading.Timer(_AGAIN, _interrupt, [this])  # when the callback is over
            again.daemon = True  # a command that has ended by then needs it no more
            again.start()
        else:
            usual(dropped)

    sys.unraisablehook = hook


def _interrupt(thread: int) -> None:
    if hasattr(signal, "pthread_kill"):  # which also ends what the thread waits for
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        _thread.interrupt_main()
