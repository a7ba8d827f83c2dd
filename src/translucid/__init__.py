"""Translucid: a Transformer you can train, trust and see through.

::

    import translucid

    translator = translucid.load("fr-en")           # or a model directory, or the folder of a run
    for translation in translator.translate(["Le chat dort."]):
        print(translation.text)

    trace = translucid.explain(translator, "Le chat dort.")     # every number on the way
    translucid.evaluate(translator, sources=french, references=english).bleu

Importing this package is cheap: it loads neither PyTorch nor any optional package, until one of
these is used. The network of "Attention Is All You Need" is in :mod:`translucid.model`.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from translucid.errors import needs_pytorch

if TYPE_CHECKING:
    from translucid.data.prepare import prepare
    from translucid.evaluation.compare import compare
    from translucid.evaluation.evaluate import evaluate
    from translucid.interop.export import export
    from translucid.interop.importing import import_model
    from translucid.interpret import Trace, explain
    from translucid.serving import serve
    from translucid.training.average import average
    from translucid.training.study import study
    from translucid.training.train import train
    from translucid.translator import Reranker, TranslationRequest, Translator, load

__version__ = "2.0.0"
__all__ = [
    "Reranker",
    "Trace",
    "TranslationRequest",
    "Translator",
    "__version__",
    "average",
    "compare",
    "evaluate",
    "explain",
    "export",
    "import_model",
    "load",
    "prepare",
    "serve",
    "study",
    "train",
]

# PyTorch's threads wait for each other by spinning. When another program holds one of the cores,
# each of the many waits of a training step lasts until the system takes the core from the spinning
# thread, which made training thirteen times slower (docs/results.md). So they sleep after some
# microseconds, longer than the pause between two operations; PyTorch reads this when it is loaded.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

_LAZY = {
    "Reranker": "translucid.translator",
    "Trace": "translucid.interpret",
    "TranslationRequest": "translucid.translator",
    "Translator": "translucid.translator",
    "average": "translucid.training.average",
    "compare": "translucid.evaluation.compare",
    "evaluate": "translucid.evaluation.evaluate",
    "explain": "translucid.interpret",
    "export": "translucid.interop.export",
    "import_model": "translucid.interop.importing",
    "load": "translucid.translator",
    "prepare": "translucid.data.prepare",
    "serve": "translucid.serving",
    "study": "translucid.training.study",
    "train": "translucid.training.train",
}


def __getattr__(name: str) -> Any:
    """Import a function or class when it is first used."""
    if name in _LAZY:
        with needs_pytorch(f"translucid.{name}"):
            return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
