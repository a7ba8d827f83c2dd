"""Two or more systems on one test set: is one really better, and where do they differ?

Both tests are sacrebleu's and paired, each system against the first, the baseline: bootstrap
resampling (does the difference remain in sets resampled from these sentences?) and approximate
randomisation (does it remain when outputs are swapped between the systems at random?). A p-value is
the probability of a difference at least as large if the systems were equally good. They are not
corrected for many comparisons: of twenty equal systems, one will seem different at p < 0.05.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from translucid.errors import InputError
from translucid.evaluation.evaluate import SENTENCES, check_test
from translucid.evaluation.metrics import (
    RESAMPLES,
    Scoring,
    check_case,
    check_memory,
    check_tokenized,
    comparison_metrics,
    sentence_chrf,
)
from translucid.evaluation.reference_set import ReferenceSet, ReferenceSource
from translucid.evaluation.results import (
    REPORT,
    SCORES,
    SETTINGS,
    build_settings,
    dump_json,
    folder_name,
    join_lines,
    write_results,
)
from translucid.evaluation.system import System
from translucid.events import Emit, Progress, silent
from translucid.translator import Translator

SIGNIFICANT = 0.05
TRIALS = 10_000  # sacrebleu's default for approximate randomisation

Method = Literal["bs", "ar"]

Outputs: TypeAlias = Mapping[str, Sequence[str]]  # translations by the name of the system

WINS = ("better", "worse", "alike", "same")  # what `Comparison.wins` counts


@dataclass(frozen=True)
class SystemScore:
    """A system's score by one metric; 95 % of resampled scores lie within `mean` ± `margin`.

    The p-values are those of its difference from the baseline; the baseline has none.
    """

    system: str
    score: float
    mean: float | None
    margin: float | None
    p_bootstrap: float | None
    p_randomization: float | None


def is_significant(p: float | None, one: SystemScore, baseline: SystemScore) -> bool:
    """Return whether a p-value shows a difference that is taken to be real.

    sacrebleu gives the smallest p-values to systems that do not differ at all, because no trial
    differs more than they do.
    """
    return p is not None and p < SIGNIFICANT and one.score != baseline.score


@dataclass(frozen=True)
class MetricComparison:
    """All systems by one metric, with one signature per test."""

    metric: str
    signatures: tuple[str, ...]
    systems: tuple[SystemScore, ...]


@dataclass(frozen=True)
class Difference:
    """A sentence with the translations of all systems, and the chrF of each."""

    line: int
    source: str
    references: tuple[str, ...]
    translations: tuple[str, ...]
    chrf: tuple[float, ...]

    @property
    def spread(self) -> float:
        """The difference between the best and the worst."""
        return max(self.chrf) - min(self.chrf)


@dataclass(frozen=True)
class Comparison:
    """Several systems on one test set; the first is the baseline."""

    systems: tuple[str, ...]
    metrics: tuple[MetricComparison, ...]
    sentences: tuple[Difference, ...]
    scoring: Scoring
    settings: Mapping[str, Any] = field(default_factory=dict)

    def most_different(self, count: int) -> tuple[Difference, ...]:
        """Return the sentences on which the systems' chrF differs most."""
        differing = [one for one in self.sentences if one.spread > 0]
        return tuple(sorted(differing, key=lambda one: -one.spread)[:count])

    def wins(self, system: int) -> Counter[str]:
        """Count the sentences on which a system is better and worse than the baseline by chrF.

        `alike` have the same chrF, `same` the same text (and so the same chrF).
        """
        counts: Counter[str] = Counter()
        for one in self.sentences:
            difference = one.chrf[system] - one.chrf[0]
            counts["better" if difference > 0 else "worse" if difference < 0 else "alike"] += 1
            counts["same"] += one.translations[system] == one.translations[0]
        return counts

    def to_json(self, sentences: int = SENTENCES) -> dict[str, Any]:
        """Return everything as plain values, with this many of the most different sentences."""
        return {
            "systems": list(self.systems),
            "baseline": self.systems[0],
            "sentences": len(self.sentences),
            "metrics": [asdict(metric) for metric in self.metrics],
            "against_baseline": [
                {"system": name, **{key: self.wins(number)[key] for key in WINS}}
                for number, name in enumerate(self.systems)
                if number
            ],
            "most_different": [
                {
                    "line": one.line,
                    "source": one.source,
                    "references": list(one.references),
                    "translations": dict(zip(self.systems, one.translations, strict=True)),
                    "chrf": dict(zip(self.systems, one.chrf, strict=True)),
                }
                for one in self.most_different(sentences)
            ],
        }

    def save(self, folder: str | Path, sentences: int = SENTENCES) -> None:
        """Write all translations, results and an HTML report, replacing earlier results."""
        from translucid.evaluation.report import comparison_report

        translations = {
            f"translations-{number + 1}-{folder_name([name])}.txt": join_lines(
                [one.translations[number] for one in self.sentences]
            )
            for number, name in enumerate(self.systems)
        }
        write_results(
            Path(folder),
            {
                **translations,
                SCORES: dump_json(self.to_json(sentences)),
                SETTINGS: dump_json(self.settings),
                REPORT: comparison_report(self, sentences),
            },
        )


def compare(
    systems: Sequence[Translator | System],
    test: ReferenceSet | ReferenceSource | None = None,
    *,
    sources: Sequence[str] | None = None,
    references: Sequence[str] | Sequence[Sequence[str]] | None = None,
    source_lang: str | None = None,
    target: str | None = None,
    bleu_tokenizer: str | None = None,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
    batch_size: int = 64,
    on_event: Emit = silent,
) -> Comparison:
    """Compare two or more systems on one test set, each with the first, by all metrics.

    Models translate the test set; see `evaluate` for how to give it. 0 `resamples` or 0 `trials`
    leave out one of the tests.
    """
    named = [System.from_model(one) if isinstance(one, Translator) else one for one in systems]
    given = check_test(test, sources, references)
    model = next((one.model for one in named if one.model is not None), None)
    languages = given.languages(model, source_lang, target)
    if isinstance(given, ReferenceSource):
        given = given.read(languages)
    scoring = Scoring(languages.source, languages.target, bleu_tokenizer, False, resamples)
    check_comparison([system.name for system in named], scoring, trials)
    texts = [one.translate(given, languages.target, batch_size, on_event).texts for one in named]
    facts = [one.describe(languages.source, languages.target) for one in named]
    outputs = {one.name: each for one, each in zip(named, texts, strict=True)}
    found = _compare_outputs(outputs, given, scoring, trials, on_event)
    return replace(found, settings=build_settings(facts, given, vars(scoring), trials=trials))


def check_comparison(names: Sequence[str], scoring: Scoring, trials: int) -> None:
    """Refuse a comparison that cannot be made, before anything is translated for it."""
    if len(names) < 2:
        raise InputError(f"a comparison needs two or more systems, not {len(names)}")
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"two systems are named {repeated[0]!r}: give each its own name")
    if scoring.resamples <= 0 and trials <= 0:
        raise InputError("0 resamples and 0 trials: at least one of the tests must run")
    scoring.target_words()  # refuses a tokenizer that does not exist


def _compare_outputs(
    outputs: Outputs, test: ReferenceSet, scoring: Scoring, trials: int, emit: Emit
) -> Comparison:
    for notice in (
        *(check_tokenized(name, texts) for name, texts in outputs.items()),
        *(check_case(name, texts, test.references) for name, texts in outputs.items()),
        check_memory(len(test), scoring.resamples, trials),
    ):
        if notice is not None:
            emit(notice)
    tests: dict[Method, int] = {"bs": scoring.resamples, "ar": trials}
    wanted = {method: count for method, count in tests.items() if count > 0}
    return Comparison(
        systems=tuple(outputs),
        metrics=_test_metrics(outputs, test, scoring, wanted, emit),
        sentences=_sentences(outputs, test),
        scoring=scoring,
    )


def _test_metrics(
    outputs: Outputs,
    test: ReferenceSet,
    scoring: Scoring,
    tests: Mapping[Method, int],
    emit: Emit,
) -> tuple[MetricComparison, ...]:
    metrics = comparison_metrics(scoring.target_lang, scoring.tokenizer)
    found = []
    for number, (name, metric) in enumerate(metrics.items()):
        emit(Progress("testing", number, len(metrics), "metrics"))
        made = [_run_test(outputs, test, name, metric, *one) for one in tests.items()]
        found.append(_join_tests(name, list(outputs), made))
    emit(Progress("testing", len(metrics), len(metrics), "metrics"))
    return tuple(found)


@dataclass(frozen=True)
class _TestResult:
    """The result of one of sacrebleu's tests, the baseline first."""

    method: Method
    signature: str
    results: tuple[Result, ...]


def _run_test(
    outputs: Outputs, test: ReferenceSet, name: str, metric: Metric, method: Method, count: int
) -> _TestResult:
    named: list[tuple[str, Sequence[str]]] = list(outputs.items())
    paired = PairedTest(named, {name: metric}, test.references, method, n_samples=count)
    signatures, columns = paired()
    return _TestResult(method, str(signatures[name]), tuple(cast("list[Result]", columns[name])))


def _join_tests(metric: str, names: Sequence[str], made: Sequence[_TestResult]) -> MetricComparison:
    """Return both tests of a metric together."""
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


def _sentences(outputs: Outputs, test: ReferenceSet) -> tuple[Difference, ...]:
    chrf = [sentence_chrf(texts, test.references) for texts in outputs.values()]
    return tuple(
        Difference(line, source, references, translations, scores)
        for line, (source, references, translations, scores) in enumerate(
            zip(
                test.sources,
                zip(*test.references, strict=True),
                zip(*outputs.values(), strict=True),
                zip(*chrf, strict=True),
                strict=True,
            ),
            start=1,
        )
    )
