"""Confidence: the probability that a translation is acceptable, estimated without a reference.

::

    MODEL/confidence.json     {"weights": […], "acceptable": 50.0, "auc": 0.87, "curve": […], …}

A translation is called acceptable if its chrF with a reference is 50 or more, which stands in for
the judgement of a person. Logistic regression learns it on dev pairs, from what the search knows
anyway: the probability of the tokens, and the length of the translation relative to its source. The
quality that the file states was measured on pairs that each fit had not seen (five folds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, Strict

from translucid.checksums import new_listed_file
from translucid.config import Config
from translucid.errors import ConfigError, DataError, InputError
from translucid.translator.translation import Candidate

CONFIDENCE = "confidence.json"
ACCEPTABLE = 50.0  # chrF
FEWEST_LINES = 100
FEATURES = (
    "mean log P of a token",
    "log of the length",
    "log of the length beside the source's",
    "its square",
    "ended early or in circles",
)
_LOWEST = -10.0
_FOLDS = 5
_BINS = 10
_RIDGE = 1.0

_Count = Field(min_length=len(FEATURES), max_length=len(FEATURES))
_Numbers = Annotated[tuple[float, ...], Strict(False), _Count]
_Scales = Annotated[tuple[Annotated[float, Field(gt=0)], ...], Strict(False), _Count]
_Floats = npt.NDArray[np.float64]


class Bin(NamedTuple):
    """Translations of similar confidence: its mean, and the share that is acceptable."""

    confidence: float
    acceptable: float
    lines: int


class Calibration(Config):
    """Logistic regression on features, and how well it separates good from bad on unseen pairs."""

    means: _Numbers
    scales: _Scales
    weights: _Numbers
    bias: float
    acceptable: float = Field(
        default=ACCEPTABLE, description="lowest chrF that counts as acceptable"
    )
    lines: int = Field(ge=0, description="number of pairs that it was learned from")
    auc: float = Field(ge=0, le=1, description="how often a good one is above a bad one")
    curve: Annotated[tuple[Bin, ...], Strict(False)] = Field(
        description="mean confidence, share that is acceptable, and lines of each tenth"
    )

    def confidence(self, candidate: Candidate, source_tokens: int) -> float | None:
        """Return the probability that a translation is acceptable; None if it is blank."""
        if not candidate.tokens:
            return None
        values = compute_features(candidate, source_tokens)
        each = zip(values, self.means, self.scales, self.weights, strict=True)
        return _sigmoid(self.bias + math.fsum((v - m) / s * w for v, m, s, w in each))


def compute_features(candidate: Candidate, source_tokens: int) -> tuple[float, ...]:
    """Return the numbers that FEATURES names, for a source of this many tokens."""
    count = candidate.length
    ratio = math.log(count / (source_tokens + 1))
    return (
        max(_LOWEST, candidate.log_prob / count),
        math.log(count),
        ratio,
        ratio * ratio,
        float(candidate.ending != "end"),
    )


def calibrate(rows: Sequence[tuple[float, ...]], acceptable: Sequence[bool]) -> Calibration:
    """Learn from the features of translations which of them are acceptable."""
    good = sum(acceptable)
    if len(rows) < FEWEST_LINES or min(good, len(rows) - good) < _FOLDS:
        raise InputError(
            f"{good:,} of {len(rows):,} translations are acceptable: to tell them apart, at least "
            f"{FEWEST_LINES} pairs are needed, with {_FOLDS} of each kind"
        )
    given = np.array(rows)
    labels = np.array(acceptable, dtype=np.float64)
    folds = np.arange(len(rows)) % _FOLDS
    held_out = np.empty(len(rows))
    for fold in range(_FOLDS):
        seen = folds != fold
        held_out[~seen] = _predict(given[~seen], *_fit(given[seen], labels[seen]))
    means, scales, weights, bias = _fit(given, labels)
    return Calibration(
        means=tuple(means.tolist()),
        scales=tuple(scales.tolist()),
        weights=tuple(weights.tolist()),
        bias=bias,
        lines=len(rows),
        auc=area_under_curve(held_out, labels > 0),
        curve=calibration_curve(held_out, labels > 0),
    )


def area_under_curve(confidences: Sequence[float] | _Floats, good: npt.ArrayLike) -> float:
    """Return how often a good one has a higher confidence than a bad one; equals count half.

    >>> area_under_curve([0.1, 0.4, 0.4, 0.9], [False, False, True, True])
    0.875
    """
    values, is_good = np.asarray(confidences, dtype=np.float64), np.asarray(good, dtype=bool)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # the mean rank of equals
    many = int(is_good.sum())
    below = ranks[is_good].sum() - many * (many + 1) / 2
    return float(below / (many * (len(values) - many)))


def calibration_curve(
    confidences: Sequence[float] | _Floats, good: npt.ArrayLike
) -> tuple[Bin, ...]:
    """Return a bin for each tenth, from the least confident to the most."""
    values, is_good = np.asarray(confidences, dtype=np.float64), np.asarray(good, dtype=bool)
    order = np.argsort(values, kind="stable")
    return tuple(
        Bin(float(values[part].mean()), float(is_good[part].mean()), len(part))
        for part in np.array_split(order, min(_BINS, len(order)))
    )


def _fit(rows: _Floats, labels: _Floats) -> tuple[_Floats, _Floats, _Floats, float]:
    """Return means and scales of the features, weights and bias, by Newton's method."""
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales[scales == 0] = 1.0
    design = np.column_stack([(rows - means) / scales, np.ones(len(rows))])
    ridge = np.diag([_RIDGE] * rows.shape[1] + [1e-6])
    found = np.zeros(design.shape[1])
    for _ in range(50):
        predicted = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        slope = design.T @ (predicted - labels) + ridge @ found
        curvature = (design.T * (predicted * (1 - predicted))) @ design + ridge
        step = np.linalg.solve(curvature, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    return means, scales, found[:-1], float(found[-1])


def _predict(
    rows: _Floats, means: _Floats, scales: _Floats, weights: _Floats, bias: float
) -> _Floats:
    return 1 / (1 + np.exp(-np.clip((rows - means) / scales @ weights + bias, -30, 30)))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-min(30.0, max(-30.0, value))))


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Write a calibration into a model directory, atomically replacing an older one."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a model directory: a calibration is kept inside one")
    with new_listed_file(folder / CONFIDENCE) as file:
        file.write(calibration.to_json().encode())


def read_calibration(folder: Path) -> Calibration | None:
    """Return the calibration of a model directory; None if it has none."""
    path = folder / CONFIDENCE
    if not path.is_file():
        return None
    try:
        return Calibration.from_file(path)
    except (ConfigError, UnicodeDecodeError) as error:
        remedy = f"Delete {CONFIDENCE}: translations will be without confidence."
        raise DataError(path, str(error), remedy=remedy) from error
