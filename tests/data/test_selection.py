"""Selection of pairs: an interrupt is heard at each of its steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

from translucid.data.prepare.selection import PairStatus, Selection


def interrupted(action: Callable[[], object], *, at_call: int) -> bool:
    """Run with a Ctrl-C in the call of Python code with this number; return whether it came."""
    calls = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"
        if event == "call" and calls == at_call:
            raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls >= at_call


@pytest.mark.parametrize("status", PairStatus)
def test_an_interrupt_is_heard_wherever_pairs_are_counted(status: PairStatus) -> None:
    """numpy drops what an attribute of an enumeration raises; so it must not see one."""
    selection = Selection((), np.arange(5, dtype=np.uint8))
    heard = 0
    while True:
        try:
            came = interrupted(lambda: selection.count(status), at_call=heard + 1)
        except KeyboardInterrupt:
            heard += 1
        else:
            assert not came, f"the interrupt in call {heard + 1} was lost"
            break
    assert heard >= 2
    assert selection.count(status) == 1
