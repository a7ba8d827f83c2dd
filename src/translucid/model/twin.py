"""A twin of the network to watch or to change (section 3.2): another body, the same numbers."""

from __future__ import annotations

import copy
import itertools

from translucid.model.transformer import Transformer


def twin(model: Transformer) -> Transformer:
    """Return a structural copy that shares every tensor; the paper has no such thing.

    Its attention kernels (section 3.2.1) can be replaced while the model itself goes on serving.
    """
    shared = {id(t): t for t in itertools.chain(model.parameters(), model.buffers())}
    return copy.deepcopy(model, memo=shared)
