"""Two or more systems on one reference set: is one really better, and where do they differ?

Both tests are sacrebleu's and paired, each system against the first, the baseline: bootstrap
resampling (is the difference the same in sets drawn anew from these sentences?) and approximate
randomisation (is it there when outputs are swapped between the systems at random?). A p-value is
the probability of a difference at least as large if the systems were equally good. They are not
corrected for many comparisons: of twenty equal systems, one will seem different at p < 0.05.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from translucid.errors import InputError
from translucid.evaluation.evaluate import Scoring
from translucid.evaluation.metrics import (
    case_notice,
    memory_notice,
    sentence_chrf,
    tested_metrics,
    tokenized_notice,
)
from translucid.evaluation.reference_set import ReferenceSet
from translucid.events import Emit, Progress

SIGNIFICANT = 0.05
TRIALS = 10_000  # sacrebleu's default for approximate randomisation

Method = Literal["bs", "ar"]
TITLES: dict[Method, str] = {
    "bs": "paired bootstrap resampling",
    "ar": "paired approximate randomisation",
}


WINS = ("better", "worse", "alike", "same")  # what `Comparison.wins` counts


@dataclass(frozen=True)
class System:
    """A system by its name, and its translations."""

    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class SystemScore:
    """A system's score by one metric; 95 % of resampled scores lie within `mean` ± `margin`.

    The p-values are those of its difference from the baseline, which has none itself.
    """

    system: str
    score: float
    mean: float | None
    margin: float | None
    p_bootstrap: float | None
    p_randomization: float | None


def significant(p: float | None, one: SystemScore, baseline: SystemScore) -> bool:
    """Tell whether a p-value is of a difference that is taken to be real.

    sacrebleu gives the smallest p-values to systems that do not differ at all, because no trial
    differs more than they do.
    """
    return p is not None and p < SIGNIFICANT and one.score != baseline.score


@dataclass(frozen=True)
class MetricComparison:
    """All systems by one metric; a signature for each test that was made."""

    metric: str
    signatures: tuple[str, ...]
    systems: tuple[SystemScore, ...]


@dataclass(frozen=True)
class Difference:
    """A sentence with its translations by all systems, and the chrF of each."""

    line: int
    source: str
    references: tuple[str, ...]
    translations: tuple[str, ...]
    chrf: tuple[float, ...]

    @property
    def spread(self) -> float:
        """How far the best of them is from the worst."""
        return max(self.chrf) - min(self.chrf)


@dataclass(frozen=True)
class Comparison:
    """Several systems on one reference set; the first is the baseline."""

    systems: tuple[str, ...]
    metrics: tuple[MetricComparison, ...]
    sentences: tuple[Difference, ...]

    def most_different(self, count: int) -> tuple[Difference, ...]:
        """Return the sentences on which the systems' chrF differs most."""
        differing = [one for one in self.sentences if one.spread > 0]
        return tuple(sorted(differing, key=lambda one: -one.spread)[:count])

    def wins(self, system: int) -> Counter[str]:
        """Count the sentences on which a system is better and worse than the baseline by chrF.

        `alike` are equal in chrF, `same` to the letter (and so alike too).
        """
        counts: Counter[str] = Counter()
        for one in self.sentences:
            difference = one.chrf[system] - one.chrf[0]
            counts["better" if difference > 0 else "worse" if difference < 0 else "alike"] += 1
            counts["same"] += one.translations[system] == one.translations[0]
        return counts


def compare(
    systems: Sequence[System], given: ReferenceSet, scoring: Scoring, trials: int, emit: Emit
) -> Comparison:
    """Compare systems by all metrics; 0 resamples or 0 trials leave out one of the tests."""
    check([system.name for system in systems], scoring, trials)
    _check_lengths(systems, given)
    for notice in (
        *(tokenized_notice(system.name, system.texts) for system in systems),
        *(case_notice(system.name, system.texts, given.references) for system in systems),
        memory_notice(len(given), scoring.resamples, trials),
    ):
        if notice is not None:
            emit(notice)
    tests: dict[Method, int] = {"bs": scoring.resamples, "ar": trials}
    wanted = {test: count for test, count in tests.items() if count > 0}
    return Comparison(
        systems=tuple(system.name for system in systems),
        metrics=_metrics(systems, given, scoring, wanted, emit),
        sentences=_sentences(systems, given),
    )


def check(names: Sequence[str], scoring: Scoring, trials: int) -> None:
    """Refuse a comparison that cannot be made, before anything is translated for it."""
    if len(names) < 2:
        raise InputError(f"{len(names)} system cannot be compared: give two or more")
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"two systems are named {repeated[0]!r}: give each a name of its own")
    if scoring.resamples <= 0 and trials <= 0:
        raise InputError("0 resamples and 0 trials: at least one of the tests must be made")
    scoring.target_words()  # refuses a tokenizer that does not exist


def _check_lengths(systems: Sequence[System], given: ReferenceSet) -> None:
    for system in systems:
        if len(system.texts) != len(given):
            raise InputError(
                f"{system.name} has {len(system.texts):,} translations of {len(given):,} "
                "sentences: there must be one for each"
            )


def _metrics(
    systems: Sequence[System],
    given: ReferenceSet,
    scoring: Scoring,
    tests: Mapping[Method, int],
    emit: Emit,
) -> tuple[MetricComparison, ...]:
    metrics = tested_metrics(scoring.target_lang, scoring.tokenizer)
    found = []
    for number, (name, metric) in enumerate(metrics.items()):
        emit(Progress("testing", number, len(metrics), "metrics"))
        made = [_tested(systems, given, name, metric, test, count) for test, count in tests.items()]
        found.append(_joined(name, [system.name for system in systems], made))
    emit(Progress("testing", len(metrics), len(metrics), "metrics"))
    return tuple(found)


@dataclass(frozen=True)
class _Tested:
    """What sacrebleu says of one test: the baseline's result first."""

    method: Method
    signature: str
    results: tuple[Result, ...]


def _tested(
    systems: Sequence[System],
    given: ReferenceSet,
    name: str,
    metric: Metric,
    method: Method,
    count: int,
) -> _Tested:
    named: list[tuple[str, Sequence[str]]] = [(one.name, one.texts) for one in systems]
    test = PairedTest(named, {name: metric}, given.references, method, n_samples=count)
    signatures, columns = test()
    return _Tested(method, str(signatures[name]), tuple(cast("list[Result]", columns[name])))


def _joined(metric: str, names: Sequence[str], made: Sequence[_Tested]) -> MetricComparison:
    """Put the tests of a metric side by side."""
    found = {test.method: test.results for test in made}
    blank = (Result(math.nan),) * len(names)
    rows = zip(names, found.get("bs", blank), found.get("ar", blank), strict=True)
    return MetricComparison(
        metric=metric,
        signatures=tuple(test.signature for test in made),
        systems=tuple(
            SystemScore(
                system=name,
                score=float(bootstrap.score if "bs" in found else randomization.score),
                mean=_number(bootstrap.mean),
                margin=_number(bootstrap.ci),
                p_bootstrap=_number(bootstrap.p_value),
                p_randomization=_number(randomization.p_value),
            )
            for name, bootstrap, randomization in rows
        ),
    )


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _sentences(systems: Sequence[System], given: ReferenceSet) -> tuple[Difference, ...]:
    chrf = [sentence_chrf(system.texts, given.references) for system in systems]
    texts = [system.texts for system in systems]
    return tuple(
        Difference(line, source, references, translations, scores)
        for line, (source, references, translations, scores) in enumerate(
            zip(
                given.sources,
                zip(*given.references, strict=True),
                zip(*texts, strict=True),
                zip(*chrf, strict=True),
                strict=True,
            ),
            start=1,
        )
    )
