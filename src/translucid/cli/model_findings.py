"""After training: what is found out about a model and kept with it.

The heads that align words, how frequent each token is in each of its source languages, and how to
tell acceptable translations from others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import typer

from translucid.data.shards import PreparedData
from translucid.errors import InputError
from translucid.evaluation.metrics import sentence_chrf
from translucid.translator import (
    SourceLanguages,
    calibrate,
    find_alignment_heads,
    keep_alignment_heads,
    keep_calibration,
    keep_source_languages,
    load,
)
from translucid.translator.confidence import ACCEPTABLE, features
from translucid.translator.head_search import MOST_PAIRS

_PAIRS_CALIBRATED = 1000  # of each direction
_PAIRS_COUNTED = 200_000  # of a large training set so many are enough


def keep_findings(models: Sequence[Path], data: PreparedData) -> None:
    """Find out what a model's users will want to know, and write it into each model directory."""
    _keep_languages(models, data)
    _keep_heads(models, data)
    _keep_calibration(models, data)


def _keep_languages(models: Sequence[Path], data: PreparedData) -> None:
    """Count the tokens of each source language, where there are several."""
    sources = list(dict.fromkeys(source for source, _ in data.manifest.directions))
    if len(sources) == 1:
        return
    split, size = data.split("train"), data.manifest.tokenizer.vocab_size
    step = max(1, len(split) // _PAIRS_COUNTED)
    pairs = np.arange(0, len(split), step)
    counts = {
        language: torch.from_numpy(np.bincount(split.rows(language, pairs)[0], minlength=size))
        for language in sources
    }
    for model in models:
        keep_source_languages(model, SourceLanguages.of_counts(counts))


def _keep_heads(models: Sequence[Path], data: PreparedData) -> None:
    """Find the heads of each model on the dev set, in the first direction, and write them down."""
    if "dev" not in data.manifest.splits:
        return
    split = data.split("dev")
    source, target = data.manifest.directions[0]
    pairs = [
        (split.text(source, pair), split.text(target, pair))
        for pair in range(min(len(split), MOST_PAIRS))
    ]
    try:
        for model in models:
            keep_alignment_heads(model, find_alignment_heads(load(model), pairs, target=target))
    except InputError as error:
        typer.echo(f"Which heads align words stays unknown: {error}", err=True)


def _keep_calibration(models: Sequence[Path], data: PreparedData) -> None:
    """Translate dev pairs of all directions, and learn when translations are acceptable."""
    if "dev" not in data.manifest.splits:
        return
    split = data.split("dev")
    numbers = range(0, len(split), -(-len(split) // _PAIRS_CALIBRATED))
    try:
        for model in models:
            translator = load(model)
            rows: list[tuple[float, ...]] = []
            acceptable: list[bool] = []
            for source, target in data.manifest.directions:
                texts = [split.text(source, number) for number in numbers]
                references = [split.text(target, number) for number in numbers]
                found = translator.translate(texts, target=target)
                scores = sentence_chrf([one.text for one in found], [references])
                for translation, chrf in zip(found, scores, strict=True):
                    if translation.log_probs:
                        rows.append(features(translation.n_best[0], translation.source_tokens))
                        acceptable.append(chrf >= ACCEPTABLE)
            keep_calibration(model, calibrate(rows, acceptable))
    except InputError as error:
        typer.echo(f"How far translations can be trusted stays unknown: {error}", err=True)
