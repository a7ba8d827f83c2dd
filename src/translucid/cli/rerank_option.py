"""The model that reranks translations, as the command line names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.built_in import built_in_name
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.translator import Reranker


@dataclass(frozen=True)
class RerankOption:
    """The models named with --rerank, several being an ensemble; or none."""

    models: tuple[Path, ...]
    reranker: Reranker | None

    def facts(self) -> dict[str, Any]:
        """Return which models rerank and how much they count; nothing where none do."""
        if self.reranker is None:
            return {}
        named = [built_in_name(model) or str(model) for model in self.models]
        return {"rerank": {"models": named, **self.identity()}}

    def identity(self) -> dict[str, Any]:
        """Return all that the new order depends on."""
        from translucid.translator.loading import fingerprint

        if self.reranker is None:
            return {}
        return {"fingerprint": fingerprint(self.models), "weight": self.reranker.weight}


def load_reranker(models: Sequence[Path] | None, weight: float | None) -> RerankOption:
    """Load what --rerank and --rerank-weight name."""
    if not models:
        if weight is not None:
            raise InputError(
                "--rerank-weight without --rerank: name the model that reranks the translations"
            )
        return RerankOption((), None)
    from translucid.translator import Reranker, load
    from translucid.translator.rerank import WEIGHT

    reranker = Reranker(load(*models), WEIGHT if weight is None else weight)
    return RerankOption(tuple(models), reranker)
