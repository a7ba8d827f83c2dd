"""Shared by all tests: one thread a worker, because two workers share two cores."""

from __future__ import annotations

import signal

import hypothesis
import torch

# Started in the background by a plain shell, all of this would ignore Ctrl-C, and so would the
# programs under test that are sent one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)
# A deadline would be a timed test; a failing example is printed so that it can be run again.
hypothesis.settings.register_profile("translucid", deadline=None, print_blob=True)
hypothesis.settings.load_profile("translucid")
