"""Minimum Bayes risk: of many samples, the one that is most like all of them.

::

    samples   I am here    I'm here    I am here    we were there
    utility   of a sample = mean chrF of it against every sample, itself among them
    best      "I am here": two of the four samples say it, and a third says nearly the same

Samples occur as often as the network finds them probable, so the mean estimates the expected
utility if the right translation is drawn from the network (Eikema and Aziz, 2022: sampling-based
approximations to minimum Bayes risk decoding). It is the score of the hypothesis, in chrF's per
cent.

chrF is sacrebleu's at its defaults (n-grams of 1 to 6 characters without white space, β = 2,
effective order). Its n-grams are counted once for each different text, and all pairs of texts are
compared by one product of matrices for each n, where sacrebleu would count both texts of every
pair anew.

Shapes: U different texts, G different n-grams, the k-th of the same kind in a text apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.helpers import extract_all_char_ngrams

from translucid.decoding.config import SearchConfig
from translucid.decoding.greedy import LikelyTokens
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.decoding.request import SearchRequest
from translucid.decoding.sampling import draw_samples, group_rows, rank_rows, record_samples
from translucid.decoding.stepper import Stepper
from translucid.decoding.tree import Recorder
from translucid.errors import InputError

Floats = NDArray[np.float64]


def mbr_search(
    start: Callable[[int], Stepper],
    request: SearchRequest,
    settings: SearchConfig,
    recorder: Recorder | None,
) -> list[list[Hypothesis]]:
    """Draw `samples` translations of every source; return those of the highest expected utility.

    No text is returned twice, so there may be fewer than `n_best`.
    """
    if request.decode is None:
        raise InputError(
            "minimum Bayes risk compares texts, and this request cannot turn tokens into text: "
            "give it decode = the tokenizer's function, or choose another method"
        )
    seen: LikelyTokens | None = None if recorder is None else {}
    hypotheses = draw_samples(start, request, settings, seen)
    utilities = [
        expected_utilities(hypotheses, rows, request.decode)
        for rows in group_rows(request, settings)
    ]
    best = [_rank_by_utility(hypotheses, utility)[: settings.n_best] for utility in utilities]
    if recorder is not None and seen is not None:
        record_samples(recorder, request, settings, hypotheses, seen, best)
    return [
        [replace(hypotheses[number], score=utility[number]) for number in numbers]
        for utility, numbers in zip(utilities, best, strict=True)
    ]


def expected_utilities(
    hypotheses: Sequence[Hypothesis], rows: Sequence[int], decode: Callable[[Tokens], str]
) -> dict[int, float]:
    """Return the expected chrF of each distinct text among samples, keyed by a row that wrote it.

    If several rows wrote it, the key is the best of them.
    """
    by_text: dict[str, list[int]] = {}
    for number in rows:
        by_text.setdefault(decode(hypotheses[number].tokens), []).append(number)
    shares_U = np.array([len(numbers) for numbers in by_text.values()]) / len(rows)
    utilities_U = pairwise_chrf(list(by_text)) @ shares_U
    each = [rank_rows(hypotheses, numbers)[0] for numbers in by_text.values()]
    return dict(zip(each, utilities_U.tolist(), strict=True))


def _rank_by_utility(hypotheses: Sequence[Hypothesis], utility: Mapping[int, float]) -> list[int]:
    """Return rows best first, by utility; loops come last."""
    return sorted(
        utility, key=lambda n: (not hypotheses[n].finished, -utility[n], -hypotheses[n].score, n)
    )


def pairwise_chrf(texts: Sequence[str]) -> Floats:
    """Return chrF of every text (first index) against every text as its reference (second)."""
    ngrams = [extract_all_char_ngrams(text, CHRF.CHAR_ORDER) for text in texts]
    precision_UU = np.zeros((len(texts), len(texts)))
    recall_UU, orders_UU = np.zeros_like(precision_UU), np.zeros_like(precision_UU)
    for order in range(CHRF.CHAR_ORDER):
        counts = [of_text[order] for of_text in ngrams]
        length_U = np.array([sum(count.values()) for count in counts])
        matches_UU = _count_matches(counts)
        precision_UU += matches_UU / np.maximum(length_U, 1)[:, None]
        recall_UU += matches_UU / np.maximum(length_U, 1)
        orders_UU += (length_U[:, None] > 0) & (length_U > 0)
    precision_UU /= np.maximum(orders_UU, 1)
    recall_UU /= np.maximum(orders_UU, 1)
    weighted_UU = CHRF.BETA**2 * precision_UU + recall_UU
    product_UU = (1 + CHRF.BETA**2) * precision_UU * recall_UU
    return 100 * np.divide(
        product_UU, weighted_UU, out=np.zeros_like(product_UU), where=weighted_UU > 0
    )


def _count_matches(counts: Sequence[Counter[str]]) -> Floats:
    """Return the number of n-grams that every two texts share, Σ min(count in one, count in other).

    The k-th "an" of a text counts as a separate item, which another text has or has not. So the
    sum of minima is a scalar product of zeros and ones. Items of a single text are left out.
    """
    owners: dict[tuple[str, int], list[int]] = {}
    for text, count in enumerate(counts):
        for ngram, times in count.items():
            for k in range(times):
                owners.setdefault((ngram, k), []).append(text)
    shared = [texts for texts in owners.values() if len(texts) > 1]
    has_UG = np.zeros((len(counts), len(shared)), dtype=np.float32)
    for item, texts in enumerate(shared):
        has_UG[texts, item] = 1
    matches_UU = (has_UG @ has_UG.T).astype(np.float64)
    np.fill_diagonal(matches_UU, [sum(count.values()) for count in counts])
    return matches_UU
