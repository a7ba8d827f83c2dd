"""Translations as the API tells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from translucid.errors import InputError
from translucid.translator import Alignment, Partial, Translation


def check_alignments(translations: Sequence[Translation], most: int) -> None:
    """Refuse alignments of too many numbers: they grow with the square of a text's length."""
    each = [one.alignment for one in translations if one.alignment is not None]
    numbers = sum(len(one.source_tokens) * len(one.target_tokens) for one in each)
    if numbers > most:
        raise InputError(
            f"the alignments would have {numbers} numbers; this server sends {most} "
            "(max_alignment): send fewer or shorter texts, or leave alignment out"
        )


def translation_json(translation: Translation) -> dict[str, Any]:
    """Return everything that is known of a translation."""
    alignment = translation.alignment
    return {
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
        "tokens": translation.tokens,
        "log_probs": translation.log_probs,
        "confidence": translation.confidence,
        "flags": translation.flags,
        "n_best": translation.n_best,
        "alignment": None if alignment is None else _alignment_json(alignment),
    }


def _alignment_json(alignment: Alignment) -> dict[str, Any]:
    return {
        "source_tokens": alignment.source_tokens,
        "target_tokens": alignment.target_tokens,
        "weights": alignment.weights,
        "links": alignment.links,
    }


def partial_json(partial: Partial) -> dict[str, Any]:
    """Return what a stream tells of a translation under way."""
    return {"stable": partial.stable, "tail": partial.tail, "beams": partial.beams}
