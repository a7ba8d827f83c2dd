"""Results as files: a folder that appears whole, and replaces only what is such a folder itself.

::

    FOLDER/translations.txt     a line for each source
           scores.json          every score, with its signature and interval
           settings.json        how it was made: model, search, data, versions, machine
           report.html          to look at
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from translucid.atomic import new_folder, synced
from translucid.errors import InputError
from translucid.evaluation.breakdown import FrequencyGroup, LengthGroup
from translucid.evaluation.compare import WINS, Comparison, Difference
from translucid.evaluation.evaluate import Evaluation, Sentence, Trust
from translucid.evaluation.metrics import MetricScore
from translucid.evaluation.system import Likelihood

TRANSLATIONS, SCORES = "translations.txt", "scores.json"
SETTINGS, REPORT = "settings.json", "report.html"


def check_place(folder: Path) -> None:
    """Refuse, before any work is done, a folder that cannot be written or that holds other things.

    Earlier results may be replaced.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error}. Give another place (-o)") from error
    if not os.access(folder.parent, os.W_OK):
        raise InputError(f"{folder.parent} may not be written to: give another place (-o)")
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / SETTINGS).is_file() or not (folder / SCORES).is_file():
        raise InputError(
            f"{folder} is there and holds no results of an evaluation: give another name (-o)"
        )


def save(folder: Path, files: Mapping[str, str]) -> None:
    """Write files of results by their names; results that are there already are replaced."""
    check_place(folder)
    with new_folder(folder) as draft:
        for name, text in files.items():
            with synced(draft / name) as file:
                file.write(text.encode("utf-8"))


def in_lines(texts: tuple[str, ...]) -> str:
    """Return texts, a line each."""
    return "".join(f"{text}\n" for text in texts)


def in_json(content: Any) -> str:
    """Return readable JSON."""
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def evaluation_json(found: Evaluation, sentences: int) -> dict[str, Any]:
    """Return an evaluation as plain values, with so many of the worst and of the best sentences."""
    return {
        "name": found.name,
        "sentences": len(found.sentences),
        "scores": [_score(score) for score in found.scores],
        "length": {**asdict(found.lengths), "ratio": found.lengths.ratio},
        "perplexity": None if found.likelihood is None else _likelihood(found.likelihood),
        "confidence": None if found.trust is None else _trust(found.trust),
        "flags": {name: count for name, count in sorted(found.flagged().items()) if count},
        "by_source_length": [_length_group(group) for group in found.by_length],
        "by_word_frequency": {
            "seen_in": found.frequency_origin,
            "groups": [_frequency_group(group) for group in found.by_frequency],
        },
        "worst": [_sentence(one) for one in found.worst(sentences)],
        "best": [_sentence(one) for one in found.best(sentences)],
    }


def _likelihood(known: Likelihood) -> dict[str, Any]:
    return {
        "perplexity": known.perplexity,
        "bits_per_character": known.bits_per_character,
        **asdict(known),
    }


def _trust(trust: Trust) -> dict[str, Any]:
    return {**asdict(trust), "curve": [one._asdict() for one in trust.curve]}


def _length_group(group: LengthGroup) -> dict[str, Any]:
    return {
        "words": group.label,
        "sentences": group.sentences,
        "scores": [_score(group.bleu), _score(group.chrf)],
        "length_ratio": group.length_ratio,
    }


def _frequency_group(group: FrequencyGroup) -> dict[str, Any]:
    return {
        "times": group.label,
        "in_references": group.in_references,
        "in_translations": group.in_translations,
        "matched": group.matched,
        "recall": group.recall,
        "precision": group.precision,
        "f1": group.f1,
    }


def _score(score: MetricScore) -> dict[str, Any]:
    return {**asdict(score), "higher_is_better": score.higher_is_better, "cite": score.cited()}


def _sentence(one: Sentence) -> dict[str, Any]:
    flags = [name for name, on in vars(one.flags).items() if on]
    return {**asdict(one), "flags": flags}


def comparison_json(found: Comparison, sentences: int) -> dict[str, Any]:
    """Return a comparison as plain values, with so many of the sentences that differ most."""
    return {
        "systems": list(found.systems),
        "baseline": found.systems[0],
        "sentences": len(found.sentences),
        "metrics": [asdict(metric) for metric in found.metrics],
        "against_baseline": [
            {"system": name, **{key: found.wins(number)[key] for key in WINS}}
            for number, name in enumerate(found.systems)
            if number
        ],
        "most_different": [_difference(one, found) for one in found.most_different(sentences)],
    }


def _difference(one: Difference, found: Comparison) -> dict[str, Any]:
    return {
        "line": one.line,
        "source": one.source,
        "references": list(one.references),
        "translations": dict(zip(found.systems, one.translations, strict=True)),
        "chrf": dict(zip(found.systems, one.chrf, strict=True)),
    }
