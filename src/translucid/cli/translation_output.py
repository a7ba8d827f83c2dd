"""How translations are written: text, Moses n-best lists, Pharaoh alignments, TSV, JSON lines.

::

    text                  The cat sleeps.
    --alignment           The cat sleeps. ||| 0-0 1-1 2-2
    --word-scores         The cat sleeps. ||| WordScores= -0.0214 -0.1052 -0.0035
    --n-best 2            0 ||| The cat sleeps. ||| LogProb= -0.1301 Tokens= 5 ||| -0.0941
                          0 ||| The cat is asleep. ||| LogProb= -2.5021 Tokens= 6 ||| -1.6370
    --format tsv          Le chat dort.⇥The cat sleeps.
    --format jsonl        {"line": 1, "source": "Le chat dort.", "translation": "The cat sleeps.", …

A translation takes one line whatever the network writes: a line break inside is written as a space,
and three bars in a row, which divide the fields, as ``&#124;&#124;&#124;`` where there are fields.
A tab inside a cell of TSV is written as a space.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from translucid.cli.word_scores import word_scores
from translucid.errors import InputError
from translucid.text.normalization import join_lines

if TYPE_CHECKING:
    from translucid.cli.line_files import Line
    from translucid.translator import Candidate, Translation

Format = Literal["text", "tsv", "jsonl"]
FORMATS: tuple[Format, ...] = ("text", "tsv", "jsonl")
_DIGITS = 6  # of numbers in JSON


@dataclass(frozen=True)
class Form:
    """What of a translation is written, and how."""

    format: Format
    n_best: bool
    alignment: bool
    word_scores: bool

    def __post_init__(self) -> None:
        if self.format == "text" and self.n_best and self.alignment:
            raise InputError(
                "--alignment is of the best translation, and an n-best list would need one for "
                "each: leave --n-best out, or take --format jsonl"
            )
        if self.format == "tsv" and (self.n_best or self.alignment or self.word_scores):
            raise InputError(
                "--format tsv has two columns, source and translation: leave --n-best, --alignment "
                "and --word-scores out, or take --format jsonl"
            )


def rendered(line: Line, translation: Translation, form: Form) -> bytes:
    """Return what is written for one line of input."""
    if form.format == "jsonl":
        text = json.dumps(as_json(line, translation, form), ensure_ascii=False) + "\n"
    elif form.format == "tsv":
        text = f"{_cell(line.text)}\t{_cell(translation.text)}\n"
    elif form.n_best:
        text = "".join(
            f"{_n_best_fields(line, candidate, form)}\n" for candidate in translation.n_best
        )
    else:
        text = _best_fields(translation, form)
        text += line.ending or ("" if text else "\n")  # a last line of nothing would be no line
    return text.encode("utf-8", "replace")


def one_field(text: str) -> str:
    """Return a text that stands between ``|||``: one line, and no such bars in it."""
    return join_lines(text).replace("|||", "&#124;&#124;&#124;")


def _cell(text: str) -> str:
    return join_lines(text).replace("\t", " ")


def _best_fields(translation: Translation, form: Form) -> str:
    if not (form.alignment or form.word_scores):
        return join_lines(translation.text)
    fields = [one_field(translation.text)]
    if form.alignment:
        fields.append(pharaoh(translation))
    if form.word_scores:
        fields.append(_word_scores_field(translation.n_best[0]))
    return " ||| ".join(fields)


def _n_best_fields(line: Line, candidate: Candidate, form: Form) -> str:
    """Return an entry of an n-best list as Moses writes it; lines are counted from 0 there."""
    features = f"LogProb= {number(candidate.log_prob)} Tokens= {len(candidate.log_probs)}"
    if form.word_scores:
        features += f" {_word_scores_field(candidate)}"
    fields = [str(line.number - 1), one_field(candidate.text), features, number(candidate.score)]
    return " ||| ".join(fields)


def _word_scores_field(candidate: Candidate) -> str:
    scores = word_scores(candidate.text, candidate.tokens, candidate.log_probs)
    return " ".join(["WordScores=", *map(number, scores or ())])


def pharaoh(translation: Translation) -> str:
    """Return the links between words as Pharaoh writes them: ``0-0 1-2``, source word first."""
    if translation.alignment is None:
        return ""
    return " ".join(f"{source}-{target}" for source, target in translation.alignment.links)


def number(value: float) -> str:
    """Return a score or log-probability as text output shows it."""
    return f"{value:.4f}"


def as_json(line: Line, translation: Translation, form: Form) -> dict[str, Any]:
    """Return all there is to know of a translation as plain values."""
    best, *others = translation.n_best
    values = {
        "line": line.number,
        "source": line.text,
        **_candidate_json(best, form),
        "confidence": None if translation.confidence is None else rounded(translation.confidence),
        "flags": vars(translation.flags),
    }
    if form.n_best:
        values["n_best"] = [_candidate_json(candidate, form) for candidate in (best, *others)]
    if form.alignment:
        values["alignment"] = _alignment_json(translation)
    return values


def _candidate_json(candidate: Candidate, form: Form) -> dict[str, Any]:
    values: dict[str, Any] = {
        "translation": candidate.text,
        "score": rounded(candidate.score),
        "log_prob": rounded(candidate.log_prob),
        "ending": candidate.ending,
        "tokens": candidate.tokens,
        "log_probs": [rounded(value) for value in candidate.log_probs],
    }
    if form.word_scores:
        scores = word_scores(candidate.text, candidate.tokens, candidate.log_probs)
        values["word_scores"] = None if scores is None else [rounded(score) for score in scores]
    return values


def _alignment_json(translation: Translation) -> dict[str, Any] | None:
    found = translation.alignment
    if found is None:
        return None
    return {
        "links": found.links,
        "source_tokens": found.source_tokens,
        "target_tokens": found.target_tokens,
        "blocks": [
            {
                "source_start": block.source_start,
                "target_start": block.target_start,
                "weights": [[rounded(value) for value in row] for row in block.weights],
            }
            for block in found.blocks
        ],
    }


def rounded(value: float) -> float:
    """Return a number as JSON output shows it."""
    return round(value, _DIGITS)
