"""Cleaning: what is repaired in a sentence pair, and which pairs are removed.

::

    as read ─► encoding ─► control ─► whitespace ─► NFC ─► typography ─► case ─► damaged? … ─► kept
               └───────────────────────── repairs ──────────────────────────┘   └─ filters

Every step is a pure function of one pair that returns the pair (the same object if there was
nothing to do) or the reason to remove it. Filters that need more than one pair, or its tokens
(duplicates, held-out sentences, number of tokens), run later in the pipeline; their switches and
reasons are here too, so that this file lists all of them.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, NamedTuple, Self, TypeAlias

from pydantic import Field

from translucid.config import Config, Flag
from translucid.errors import InputError, optional
from translucid.text.normalization import has_typography, lowercase, nfc, plain_typography

Limit = Annotated[int, Field(ge=0)]


class CleaningConfig(Config):
    """A switch for every repair and filter; a limit of 0 switches its filter off."""

    repair_encoding: bool = Field(
        default=True, description="repair text that was read in a wrong encoding"
    )
    strip_control: bool = Field(default=True, description="remove control and invisible characters")
    tidy_whitespace: bool = Field(
        default=True, description="leave one plain space between words, none before and after"
    )
    plain_typography: Annotated[bool, Flag("--plain-typography")] = Field(
        default=False,
        description="write apostrophes, quotes, ellipses and spaces as keyboards do; the model "
        "does so too",
    )
    lowercase: Annotated[bool, Flag("--lowercase")] = Field(
        default=False, description="convert text to lower case; the model does so too"
    )
    compose_unicode: Annotated[bool, Flag("--nfc/--no-nfc")] = Field(
        default=True, description="convert text to Unicode's composed form (NFC)"
    )
    drop_damaged: Annotated[bool, Flag("--drop-damaged/--keep-damaged")] = Field(
        default=True, description="remove pairs with lost characters (U+FFFD)"
    )
    drop_empty: Annotated[bool, Flag("--drop-empty/--keep-empty")] = Field(
        default=True, description="remove pairs with an empty side"
    )
    max_characters: Limit = Field(
        default=1000, description="maximum length of a side in characters; 0: any"
    )
    max_words: Limit = Field(
        default=200, description="maximum length of a side in words (between spaces); 0: any"
    )
    max_tokens: Limit = Field(default=512, description="maximum length of a side in tokens; 0: any")
    max_ratio: float = Field(
        default=4.0,
        ge=0,
        description="how many times longer than the other one side may be; 0: any",
    )
    drop_identical: Annotated[bool, Flag("--drop-identical/--keep-identical")] = Field(
        default=True, description="remove pairs whose sides are the same"
    )
    drop_markup: Annotated[bool, Flag("--drop-markup/--keep-markup")] = Field(
        default=True,
        description="remove pairs that are mostly markup, or whose tags and placeholders differ",
    )
    check_language: bool = Field(default=False, description="remove pairs in a wrong language")
    drop_duplicates: Annotated[bool, Flag("--drop-duplicates/--keep-duplicates")] = Field(
        default=True, description="remove pairs that occurred before"
    )


class Sides(NamedTuple):
    """The two sentences of a pair."""

    source: str
    target: str


class _Named(StrEnum):
    """What cleaning does to a pair: its name in files, and its heading in reports."""

    heading: str

    def __new__(cls, name: str, heading: str) -> Self:
        named = str.__new__(cls, name)
        named._value_, named.heading = name, heading
        return named


class Repair(_Named):
    """What was repaired in a pair that stays."""

    SURROGATES = "surrogates", "half of a surrogate pair replaced"
    ENCODING = "encoding", "encoding repaired"
    CONTROL = "control", "control characters removed"
    WHITESPACE = "whitespace", "whitespace tidied"
    COMPOSED = "nfc", "composed to NFC"
    TYPOGRAPHY = "typography", "typography made plain"
    LOWER_CASED = "lower_cased", "brought into lower case"


class Reason(_Named):
    """Why a pair was removed, in the order in which the filters run."""

    DAMAGED = "damaged", "lost characters (U+FFFD)"
    EMPTY = "empty", "empty side"
    TOO_LONG = "too_long", "too long"
    RATIO = "ratio", "length ratio"
    IDENTICAL = "identical", "identical sides"
    MARKUP = "markup", "copied markup"
    LANGUAGE = "language", "wrong language"
    DUPLICATE = "duplicate", "duplicate"
    HELD_OUT = "held_out", "in held-out data"
    TOO_MANY_TOKENS = "too_many_tokens", "too many tokens"


def enabled_steps(config: CleaningConfig) -> dict[Repair | Reason, bool]:
    """Return for every repair and filter whether it is on; two of them always are."""
    return {
        Repair.SURROGATES: True,
        Repair.ENCODING: config.repair_encoding,
        Repair.CONTROL: config.strip_control,
        Repair.WHITESPACE: config.tidy_whitespace,
        Repair.COMPOSED: config.compose_unicode,
        Repair.TYPOGRAPHY: config.plain_typography,
        Repair.LOWER_CASED: config.lowercase,
        Reason.DAMAGED: config.drop_damaged,
        Reason.EMPTY: config.drop_empty,
        Reason.TOO_LONG: config.max_characters > 0 or config.max_words > 0,
        Reason.RATIO: config.max_ratio > 0,
        Reason.IDENTICAL: config.drop_identical,
        Reason.MARKUP: config.drop_markup,
        Reason.LANGUAGE: config.check_language,
        Reason.DUPLICATE: config.drop_duplicates,
        Reason.HELD_OUT: True,
        Reason.TOO_MANY_TOKENS: config.max_tokens > 0,
    }


Step: TypeAlias = Callable[[Sides], Sides | Reason]


class Cleaned(NamedTuple):
    """The result for a pair: its text, what was repaired, and why it is removed, if it is."""

    sides: Sides
    repairs: tuple[Repair, ...]
    reason: Reason | None


class Cleaner:
    """The steps that a configuration switches on, in order.

    Raises MissingPackageError for a step whose package is not installed, and InputError for a
    language that cannot be recognised.
    """

    def __init__(self, config: CleaningConfig, source_lang: str, target_lang: str) -> None:
        self._repairs = tuple(_repairs(config))
        self._keeps_case = not config.lowercase
        self._filters = tuple(_filters(config, source_lang, target_lang))

    def clean(self, sides: Sides) -> Cleaned:
        """Repair a pair and check it against the filters."""
        sides, repairs = self._repair_sides(sides)
        for check in self._filters:
            verdict = check(sides)
            if verdict is not sides:
                assert isinstance(verdict, Reason), "a filter changes nothing"
                return Cleaned(sides, repairs, verdict)
        return Cleaned(sides, repairs, None)

    def repair(self, sides: Sides) -> Cleaned:
        """Repair a pair that is never removed, such as a line of a given test set."""
        return Cleaned(*self._repair_sides(sides), None)

    def _repair_sides(self, sides: Sides) -> tuple[Sides, tuple[Repair, ...]]:
        done: tuple[Repair, ...] = ()
        if self._keeps_case and all(needs_no_repair(s) and not has_typography(s) for s in sides):
            return sides, done
        for name, repair in self._repairs:
            source, target = repair(sides.source), repair(sides.target)
            if source is not sides.source or target is not sides.target:
                if (source, target) != sides:
                    done = (*done, name)
                sides = Sides(source, target)
        return sides, done


def _repairs(config: CleaningConfig) -> Iterator[tuple[Repair, Callable[[str], str]]]:
    """Yield the repairs that are on.

    NFC comes after the others because removing an invisible character can join a letter and its
    accent, and before lower case, because the translator does it in this order. Surrogates are
    always repaired: no text file can contain half of a pair.
    """
    on = enabled_steps(config)
    for repair, make in (
        (Repair.SURROGATES, lambda: join_surrogates),
        (Repair.ENCODING, make_encoding_repair),
        (Repair.CONTROL, lambda: strip_control),
        (Repair.WHITESPACE, lambda: tidy_whitespace),
        (Repair.COMPOSED, lambda: nfc),
        (Repair.TYPOGRAPHY, lambda: plain_typography),
        (Repair.LOWER_CASED, lambda: lowercase),
    ):
        if on[repair]:
            yield repair, make()


def _filters(config: CleaningConfig, source_lang: str, target_lang: str) -> Iterator[Step]:
    """Yield the filters that are on, cheap ones first."""
    on = enabled_steps(config)
    too_long = functools.partial(
        refuse_long, characters=config.max_characters, words=config.max_words
    )
    for reason, step in (
        (Reason.DAMAGED, refuse_damaged),
        (Reason.EMPTY, refuse_empty),
        (Reason.TOO_LONG, too_long),
        (Reason.RATIO, functools.partial(refuse_ratio, ratio=config.max_ratio)),
        (Reason.IDENTICAL, refuse_identical),
        (Reason.MARKUP, refuse_markup),
    ):
        if on[reason]:
            yield step
    if on[Reason.LANGUAGE]:
        yield make_language_filter(source_lang, target_lang)


# ---- repairs: one sentence in, one sentence out -------------------------------------------------

_SURROGATE = re.compile("[\ud800-\udfff]")
# ftfy takes 12 µs to find that a sentence with an accent is correct. Everything that it repairs has
# one of these signs, which the regular expression finds in 1 µs (a property test checks that).
_MAY_BE_MOJIBAKE = re.compile("[\x80-\x9f]|[^\x00-\x7f]{2}|[ÃÂ] |[Œœ][^A-Za-z]")
# Characters that separate lines or fields become a space; other invisible ones are removed. The
# joiners U+200C and U+200D stay, since Persian, the languages of India and emoji need them, and so
# do variation selectors and tags of emoji.
_SEPARATORS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    + "".join(f"{chr((plane << 16) | 0xFFFE)}{chr((plane << 16) | 0xFFFF)}" for plane in range(17))
    + "]"
)
_TO_SPACE = str.maketrans(dict.fromkeys(_SEPARATORS, " "))


def needs_no_repair(text: str) -> bool:
    """Return whether no repair but lower case would change the text; true for most, and fast."""
    if not text.isprintable() or "  " in text or text[:1] == " " or text[-1:] == " ":
        return False
    return text.isascii() or (
        not _MAY_BE_MOJIBAKE.search(text) and unicodedata.is_normalized("NFC", text)
    )


def join_surrogates(text: str) -> str:
    """Join the halves of surrogate pairs, as escapes in JSON leave them; a lone half is U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def make_encoding_repair() -> Callable[[str], str]:
    """Return a function that repairs text decoded with a wrong encoding: ``dÃ©jÃ `` is ``déjà``."""
    job = "Encoding repair (--no-repair-encoding switches it off)"
    fix_encoding = optional("ftfy", extra="data", job=job).fix_encoding

    def repair(text: str) -> str:
        if text.isascii() or not _MAY_BE_MOJIBAKE.search(text):
            return text
        repaired: str = fix_encoding(text)
        return repaired

    return repair


def strip_control(text: str) -> str:
    """Remove invisible characters; those that separate lines or fields become a space."""
    if text.isprintable():
        return text
    return _INVISIBLE.sub("", text.translate(_TO_SPACE))


def tidy_whitespace(text: str) -> str:
    """Replace each run of whitespace by one plain space, and strip both ends."""
    return " ".join(text.split())


# ---- filters: a pair in, the same pair or a reason out ------------------------------------------


def refuse_damaged(sides: Sides) -> Sides | Reason:
    """Refuse a pair with U+FFFD, which marks a character that was lost earlier."""
    damaged = "\ufffd" in sides.source or "\ufffd" in sides.target
    return Reason.DAMAGED if damaged else sides


def refuse_empty(sides: Sides) -> Sides | Reason:
    """Refuse a pair with nothing, or nothing but whitespace, on one side."""
    return sides if sides.source.strip() and sides.target.strip() else Reason.EMPTY


def refuse_long(sides: Sides, *, characters: int, words: int) -> Sides | Reason:
    """Refuse a pair with a side of more characters or words than allowed (0: any number)."""
    for text in sides:
        if characters and len(text) > characters:
            return Reason.TOO_LONG
        if words and len(text) >= 2 * words and len(text.split()) > words:
            return Reason.TOO_LONG
    return sides


RATIO_MARGIN = 15


def refuse_ratio(sides: Sides, *, ratio: float) -> Sides | Reason:
    """Refuse a pair if one side is too many times longer than the other, in characters.

    15 characters are added to both sides first: in short sentences large ratios mean nothing
    ("Go." – "Allez-y, partez !").
    """
    longer, shorter = len(sides.source) + RATIO_MARGIN, len(sides.target) + RATIO_MARGIN
    if longer < shorter:
        longer, shorter = shorter, longer
    return Reason.RATIO if longer > ratio * shorter else sides


def refuse_identical(sides: Sides) -> Sides | Reason:
    """Refuse a pair whose sides are the same except for case: it was not translated."""
    same = sides.source == sides.target or sides.source.casefold() == sides.target.casefold()
    return Reason.IDENTICAL if same else sides


# In this order: <b>, </b>, <br/>  |  &amp; &#233;  |  {0} {name}  |  %s %d %(name)s %1$s
_MARKUP = re.compile(
    r"<(?P<tag>/?[A-Za-z][\w:.-]*)(?:\s[^<>]*)?/?>"
    r"|&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});"
    r"|\{[\w.:]*\}"
    r"|%(?:\(\w+\)|\d+\$)?[-+#0]?\d*(?:\.\d+)?[sdifuxXc@](?![^\W\d_])"
)
_MARKUP_SIGN = re.compile("[<&{%]")


def refuse_markup(sides: Sides) -> Sides | Reason:
    """Refuse a pair whose sides disagree in tags, entities or placeholders, or are mostly markup.

    Order and attributes do not count. Mostly markup means that a side has fewer letters and digits
    outside its tags, entities and placeholders than it has of these.
    """
    if not _MARKUP_SIGN.search(sides.source) and not _MARKUP_SIGN.search(sides.target):
        return sides
    source, target = (list(_MARKUP.finditer(text)) for text in sides)
    if sorted(map(_markup_name, source)) != sorted(map(_markup_name, target)):
        return Reason.MARKUP
    for text, found in zip(sides, (source, target), strict=True):
        if found and sum(map(str.isalnum, _MARKUP.sub("", text))) < len(found):
            return Reason.MARKUP
    return sides


def _markup_name(match: re.Match[str]) -> str:
    return match.group("tag") or match.group()


# A sentence is in a wrong language if another one is e² times as likely. On 8,000 sentences of
# Tatoeba this removes 0 to 0.1 % of the right ones, and misses 0.5 % of the wrong ones.
_LOG_ODDS = 2.0


def make_language_filter(source_lang: str, target_lang: str) -> Step:
    """Return the filter that refuses a pair with a side that is clearly in another language."""
    job = "Checking languages (--check-language)"
    rank = optional("py3langid", extra="data", job=job).rank
    known = sorted(lang for lang, _ in rank(""))
    expected = [re.split("[-_]", lang)[0].lower() for lang in (source_lang, target_lang)]
    if unknown := [lang for lang in expected if lang not in known]:
        raise InputError(
            f"--check-language cannot recognise {' and '.join(map(repr, unknown))}; "
            f"it knows {', '.join(known)}. Leave --check-language out, or use one of these codes."
        )

    def refuse_language(sides: Sides) -> Sides | Reason:
        for lang, text in zip(expected, sides, strict=True):
            scores = rank(text)
            margin = scores[0][1] - dict(scores)[lang]
            # Scores are sums over overlapping features; dividing by √bytes turns them into odds.
            if margin > _LOG_ODDS * math.sqrt(len(text.encode())):
                return Reason.LANGUAGE
        return sides

    return refuse_language
