"""Output of translations: text, Moses n-best lists, Pharaoh alignments, TSV, JSON lines.

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

import bisect
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from translucid.errors import InputError, TranslucidError
from translucid.events import Emit, silent
from translucid.text.normalization import join_lines
from translucid.text.tokenizer import CORE_PIECES, UNK, UNKNOWN_TEXT

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

    @property
    def needs_token_scores(self) -> bool:
        """Whether log P of each token is written."""
        return self.format == "jsonl" or self.word_scores

    def __post_init__(self) -> None:
        if self.format == "text" and self.n_best and self.alignment:
            raise InputError(
                "--alignment describes only the best translation, so it cannot be combined with "
                "--n-best: leave --n-best out, or use --format jsonl"
            )
        if self.format == "tsv" and (self.n_best or self.alignment or self.word_scores):
            raise InputError(
                "--format tsv has two columns, source and translation: leave --n-best, --alignment "
                "and --word-scores out, or use --format jsonl"
            )


def render_translation(line: Line, translation: Translation, form: Form) -> bytes:
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
        text += line.ending or (
            "" if text else "\n"
        )  # without its newline, an empty last line would vanish
    return text.encode("utf-8", "replace")


def escape_field(text: str) -> str:
    """Return a text to write between ``|||``: one line, without such bars."""
    return join_lines(text).replace("|||", "&#124;&#124;&#124;")


def _cell(text: str) -> str:
    return join_lines(text).replace("\t", " ")


def _best_fields(translation: Translation, form: Form) -> str:
    if not (form.alignment or form.word_scores):
        return join_lines(translation.text)
    fields = [escape_field(translation.text)]
    if form.alignment:
        fields.append(pharaoh(translation))
    if form.word_scores:
        fields.append(_word_scores_field(translation.n_best[0]))
    return " ||| ".join(fields)


def _n_best_fields(line: Line, candidate: Candidate, form: Form) -> str:
    """Return an entry of an n-best list as Moses writes it; lines are counted from 0 there."""
    features = f"LogProb= {format_float(candidate.log_prob)} Tokens= {candidate.length}"
    if form.word_scores:
        features += f" {_word_scores_field(candidate)}"
    fields = [
        str(line.number - 1),
        escape_field(candidate.text),
        features,
        format_float(candidate.score),
    ]
    return " ||| ".join(fields)


def _word_scores_field(candidate: Candidate) -> str:
    scores = word_scores(candidate.text, candidate.tokens, candidate.log_probs)
    return " ".join(["WordScores=", *map(format_float, scores or ())])


def pharaoh(translation: Translation) -> str:
    """Return the links between words as Pharaoh writes them: ``0-0 1-2``, source word first."""
    if translation.alignment is None:
        return ""
    return " ".join(f"{source}-{target}" for source, target in translation.alignment.links)


def format_float(value: float) -> str:
    """Return a score or log-probability as text output shows it."""
    return f"{value:.4f}"


def as_json(line: Line, translation: Translation, form: Form) -> dict[str, Any]:
    """Return everything about a translation as plain values."""
    best, *others = translation.n_best
    values = {
        "line": line.number,
        "source": line.text,
        **_candidate_json(best, form),
        "confidence": None
        if translation.confidence is None
        else round_float(translation.confidence),
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
        "score": round_float(candidate.score),
        "log_prob": round_float(candidate.log_prob),
        "ending": candidate.ending,
        "tokens": candidate.tokens,
        "log_probs": [round_float(value) for value in candidate.log_probs or ()],
    }
    if form.word_scores:
        scores = word_scores(candidate.text, candidate.tokens, candidate.log_probs)
        values["word_scores"] = None if scores is None else [round_float(score) for score in scores]
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
                "weights": [[round_float(value) for value in row] for row in block.weights],
            }
            for block in found.blocks
        ],
    }


def round_float(value: float) -> float:
    """Return a number as JSON output shows it."""
    return round(value, _DIGITS)


_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE_MARK = "▁"  # how sentencepiece writes a space


def word_scores(
    text: str, tokens: Sequence[str], log_probs: Sequence[float] | None
) -> list[float] | None:
    """Return log P of each word of ``text.split()``; None if tokens cannot be assigned to words.

    The score of a word is the sum over its tokens; the scores of all words sum to log P::

        tokens      ▁The   ▁cat   s   ▁sleep   .   </s>
        log P       -0.1   -0.2  -0.3   -0.1  -0.2  -0.05
        words       The    cats         sleep.
        scores      -0.1   -0.5         -0.35        (the end symbol counts with the last word)

    White space is not compared, so a token belongs to the word that its first visible character is
    part of, and one without such a character to the word that follows.
    """
    if log_probs is None or len(log_probs) > len(tokens) + 1:
        return None  # not requested, or of several parts, each with its own end symbol
    ends = list(itertools.accumulate(len(word) for word in text.split()))
    if not ends:
        return []
    found: list[list[float]] = [[] for _ in ends]
    last = len(ends) - 1
    for place, log_prob in zip(_places(tokens), log_probs, strict=False):
        found[min(bisect.bisect_right(ends, place), last)].append(log_prob)
    found[last] += log_probs[len(tokens) :]
    return [math.fsum(values) for values in found]


def _places(tokens: Sequence[str]) -> Iterator[int]:
    """Yield how many visible characters precede those of each token."""
    parts = [_token_bytes(token) for token in tokens]
    borders = list(itertools.accumulate(map(len, parts), initial=0))
    token = place = shown = 0
    # A byte that is part of no character becomes one by itself, which is not white space.
    for character in b"".join(parts).decode("utf-8", "surrogateescape"):
        place += len(character.encode("utf-8", "surrogateescape"))
        while token < len(parts) and borders[token] < place:
            yield shown
            token += 1
        shown += not character.isspace()


def _token_bytes(token: str) -> bytes:
    """Return the text of a token, a space where its piece has a mark for it."""
    if match := _BYTE.fullmatch(token):
        return bytes([int(match[1], 16)])
    text = UNKNOWN_TEXT if token == CORE_PIECES[UNK] else token.replace(_SPACE_MARK, " ")
    return text.encode("utf-8", "replace")


# By flag: how the summary counts it, and what a warning says of the lines.
FLAGS: Mapping[str, tuple[str, str]] = {
    "truncated": ("truncated", "cut at the limit of length (--max-length, --extra-length)"),
    "looped": ("looped", "ended because the translation went in circles"),
    "split": ("split", "too long for the network at once, and translated in parts"),
    "between_spans": (
        "translated between spans",
        "translated piece by piece between tags, addresses and the like, for which this model has "
        "no placeholders",
    ),
    "forced_spans": (
        "with a span out of place",
        "with a tag, an address or the like where the model would not have put it",
    ),
    "doubtful": ("doubtful", "doubtful: the model is more likely to be wrong than right"),
    "unknown": ("with unknown characters", "with characters that the vocabulary cannot spell"),
    "empty": ("empty", "translated into nothing"),
    "replaced": ("not UTF-8", "not UTF-8; � stands for what could not be read"),
}
_NAMED = 10  # lines that a warning names


class Tally:
    """Counts lines and tokens, and remembers which lines deserve a look.

    `seconds` are those of translating, without the time in which there was nothing to translate.
    `notices` are what the translator said on the way.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.tokens = 0
        self.seconds = 0.0
        self.notices: list[str] = []
        self._flagged: dict[str, list[int]] = {flag: [] for flag in FLAGS}

    def add(self, lines: Sequence[Line], translations: Sequence[Translation]) -> None:
        """Count lines and what has become of them."""
        for line, translation in zip(lines, translations, strict=True):
            self.lines += 1
            self.tokens += len(translation.tokens)
            flags = {
                **vars(translation.flags),
                "doubtful": translation.doubtful,
                "empty": bool(line.text.strip()) and not translation.text.strip(),
                "replaced": line.replaced,
            }
            for flag, numbers in self._flagged.items():
                if flags[flag]:
                    numbers.append(line.number)

    def warnings(self) -> list[str]:
        """Return a line of text for each kind of flag that was raised, and all notices."""
        flagged = [
            f"{_place(numbers)}: {FLAGS[flag][1]}"
            for flag, numbers in self._flagged.items()
            if numbers
        ]
        return [*flagged, *self.notices]

    def summary(self) -> str:
        """Return the line that is printed at the end."""
        counts = ", ".join(
            f"{len(numbers):,} {FLAGS[flag][0]}"
            for flag, numbers in self._flagged.items()
            if numbers or flag in ("truncated", "looped")
        )
        speed = self.tokens / self.seconds if self.seconds > 0 else 0.0
        plural = "" if self.lines == 1 else "s"
        return (
            f"{self.lines:,} line{plural}, {self.tokens:,} tokens in {self.seconds:.1f} s "
            f"({speed:,.0f} tokens/s): {counts}"
        )


def _place(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]:,}"
    named = ", ".join(f"{number:,}" for number in numbers[:_NAMED])
    more = len(numbers) - _NAMED
    return f"lines {named}" + (f" and {more:,} more" if more > 0 else "")


DASH = Path("-")


def check_output(output: Path | None, inputs: Sequence[Path]) -> Path | None:
    """Return the file to write, None for standard output; it must be none of those read."""
    if output is None or output == DASH:
        return None
    if output.is_dir():
        raise InputError(f"-o {output}: is a folder; give a file")
    if not output.parent.is_dir():
        raise InputError(f"-o {output}: there is no folder {output.parent}; create it first")
    if output.exists() and any(output.samefile(path) for path in inputs):
        raise InputError(f"-o {output} is also an input file; choose another name")
    return output


class StreamOutput:
    """Results that are written to a stream as soon as they are ready."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, results: bytes, lines: int) -> None:
        """Hand over the results."""
        del lines
        try:
            self._stream.write(results)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            from translucid.cli.display import discard_buffer

            discard_buffer(self._stream)
            reason = error.strerror or error
            raise TranslucidError(f"{self._name} cannot be written: {reason}") from error


@contextmanager
def open_output(path: Path | None) -> Iterator[StreamOutput]:
    """Give standard output, or a file that is written anew."""
    if path is None:
        if sys.stdout is None:
            raise InputError("standard output is closed; give a file with -o FILE")
        yield StreamOutput(sys.stdout.buffer, "standard output")
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise InputError(f"-o {path} cannot be written: {error.strerror or error}") from error
    with file:
        yield StreamOutput(file, f"-o {path}")


@contextmanager
def show_line_progress(output: Path | None, *, quiet: bool) -> Iterator[Emit]:
    """Give a consumer of progress; where results scroll by on a terminal, it shows none."""
    if quiet or (output is None and sys.stdout.isatty()):
        yield silent
    else:
        from translucid.cli.display import show_progress, stderr_console

        with show_progress(stderr_console()) as emit:
            yield emit
