"""Which model made a trace: a hash of its weights, its settings and its vocabulary."""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING

import torch

from translucid.model import Transformer

if TYPE_CHECKING:
    from translucid.translator import Translator

_State = tuple[tuple[int, int], ...]
_known: weakref.WeakKeyDictionary[Transformer, tuple[_State, str]] = weakref.WeakKeyDictionary()


def model_hash(translator: Translator) -> str:
    """Return the SHA-256 of a translator's networks and vocabulary, in hexadecimal.

    It does not depend on where the networks compute, nor on what the model is called.
    """
    digest = hashlib.sha256(translator.tokenizer.fingerprint.encode())
    for member in translator.members:
        digest.update(_network_hash(member.model).encode())
    return digest.hexdigest()


def _network_hash(model: Transformer) -> str:
    """Return the SHA-256 of settings and weights; it is computed again only if a weight changed."""
    state = tuple((p.data_ptr(), 0 if p.is_inference() else p._version) for p in model.parameters())
    known = _known.get(model)
    if known is not None and known[0] == state:
        return known[1]
    digest = hashlib.sha256(model.config.to_json().encode())
    for name, parameter in sorted(model.named_parameters()):
        digest.update(f"{name} {parameter.dtype} {tuple(parameter.shape)}".encode())
        flat = parameter.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    _known[model] = (state, digest.hexdigest())
    return _known[model][1]
