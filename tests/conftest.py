"""Shared by all tests: one thread a worker, because two workers share two cores."""

from __future__ import annotations

import hypothesis
import torch

torch.set_num_threads(1)
# A deadline would be a timed test; a failing example is printed so that it can be run again.
hypothesis.settings.register_profile("translucid", deadline=None, print_blob=True)
hypothesis.settings.load_profile("translucid")
