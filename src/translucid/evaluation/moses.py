"""The Moses tokenizer, for BLEU that can be compared with older papers.

Scores before sacrebleu are often of text that Moses' scripts lower-cased, normalised and tokenised,
in this order (such as the official Multi30k files). sacrebleu has no such tokenizer. This module
follows the same rules:

* a run of white space is one space; symbols and punctuation are separate tokens;
* a run of dots is one word; a comma stays between two digits;
* an apostrophe goes to the right in English (``man 's``), to the left in French and its like
  (``l' eau``), and stands alone elsewhere;
* the period of a word is a separate token, unless the word has another one (``e.s.e.``), is a known
  abbreviation or German ordinal, or is followed by a word in lower case.

Moses also spells some characters as XML entities, which changes no score and is left out here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

_LEFT = frozenset({"fr", "it", "ga", "ca"})  # l' eau
_RIGHT = frozenset({"en"})  # man 's
_GLOTTAL = frozenset({"so", "tdt"})  # a letter like others
_COMMA_IN_NUMBERS = frozenset({"de", "es", "cs", "cz", "fr"})  # 1 000 is 1,000 and not 1.000
_QUOTE_BEFORE_COMMA_UNKNOWN = frozenset({"cs", "cz"})

# What a word in lower case may be that keeps its period before a number or a sign.
_ABBREVIATIONS = {
    "en": {"e.g", "i.e", "rev", "v", "vs"},
    "de": {
        *("bzw", "ca", "etc", "evtl", "ggf", "inkl", "max", "min", "nr", "str", "usw", "vgl"),
        *map(str, range(1, 100)),  # ordinals
    },
    "fr": {"av", "cf", "env", "etc", "ex", "p", "vol"},
}


class MosesTokenizer(BaseTokenizer):
    """Normalises the punctuation of a lower-cased line and divides it into words."""

    def __init__(self, language: str | None) -> None:
        self._language = "" if language is None else re.split(r"[-_]", language.lower())[0]

    def signature(self) -> str:
        """Return the name in the signature of a score."""
        return f"moses-norm-{self._language or 'any'}-translucid1"

    def __call__(self, line: str) -> str:
        """Return the words with one space between them."""
        return " ".join(split_words(normalize_punctuation(line, self._language), self._language))


# ---- punctuation --------------------------------------------------------------------------------

_ONE_FOR_ONE = str.maketrans(
    {"„": '"', "“": '"', "”": '"', "–": "-", "—": " - ", "´": "'", "…": "..."}
)
_SPACING = (
    (re.compile(r"\("), " ("),
    (re.compile(r"\)"), ") "),
    (re.compile(r" +"), " "),
    (re.compile(r"\) ([.!:?;,])"), r")\1"),
    (re.compile(r"\( | (?=\))"), lambda found: "(" if "(" in found.group() else ""),
    (re.compile(r"(\d) %"), r"\1%"),
    (re.compile(r" ([:;])"), r"\1"),
)
_QUOTES = (
    (re.compile(r"(?<=[a-z])[‘’](?=[a-z])", re.IGNORECASE), "'"),
    (re.compile(r"[‘’‚]|''"), '"'),
    (re.compile(r" « "), ' "'),
    (re.compile(r"« ?"), '"'),
    (re.compile(r" » "), '" '),
    (re.compile(r" ?»"), '"'),
)
_NO_BREAK_SPACES = (
    (re.compile("\u00a0([%:?!;])"), r"\1"),
    (re.compile("(nº|,)\u00a0"), r"\1 "),
    (re.compile("\u00a0(ºC|cm)"), r" \1"),
)


def normalize_punctuation(text: str, language: str) -> str:
    """Normalise quotes, dashes and the spaces around punctuation, as Moses does."""
    for pattern, new in _SPACING:
        text = pattern.sub(new, text)
    text = re.sub(" +", " ", text.translate(_ONE_FOR_ONE))
    for pattern, plain in (*_QUOTES, *_NO_BREAK_SPACES):
        text = pattern.sub(plain, text)
    text = re.sub(" +", " ", text)
    if language == "en":
        text = re.sub(r'"([,.]+)', r'\1"', text)
    elif language not in _QUOTE_BEFORE_COMMA_UNKNOWN:
        text = re.sub(r'(\.+)"(\s*[^<])', r'"\1\2', text.replace(',"', '",'))
    mark = "," if language in _COMMA_IN_NUMBERS else "."
    return re.sub("(\\d)\u00a0(\\d)", rf"\1{mark}\2", text)


# ---- words --------------------------------------------------------------------------------------


def split_words(text: str, language: str) -> list[str]:
    """Return the words of a text whose punctuation is normalised."""
    printable = (character for character in " ".join(text.split()) if character >= " ")
    spaced = _separate("".join(printable), language)
    words = spaced.split()
    divided: list[str] = []
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        if word[-1] == "." and word.strip(".") and not _keeps_period(word[:-1], after, language):
            divided += [word[:-1], "."]
        else:
            divided.append(word)
    if divided and divided[-1].endswith(".'"):
        divided[-1:] = [*filter(None, [divided[-1][:-2]]), ".", "'"]
    return divided


_PIECES = re.compile(r"\.{2,}|.", re.DOTALL)


def _separate(text: str, language: str) -> str:
    """Put spaces around everything that is a token, except periods."""
    spaced = []
    for found in _PIECES.finditer(text):
        piece = found.group()
        before = text[found.start() - 1 : found.start()] if found.start() else ""
        after = text[found.end() : found.end() + 1]
        if len(piece) > 1:
            spaced.append(f" {piece} ")
        elif piece == ",":
            inside = _is_number(after) and (not before or _is_number(before))
            spaced.append("," if inside else " , ")
        elif piece == "'":
            spaced.append(_apostrophe(before, after, language))
        elif piece in " .`-" or _kind(piece) in "LMN":
            spaced.append(piece)
        else:
            spaced.append(f" {piece} ")
    return "".join(spaced)


def _apostrophe(before: str, after: str, language: str) -> str:
    """Return an apostrophe with the spaces that its neighbours and the language require."""
    if language not in _LEFT | _RIGHT | _GLOTTAL:
        return " ' "
    if not before or not after:  # nothing to part it from
        return "'"
    letters = _is_letter(before), _is_letter(after)
    if all(letters):
        return {"en": " '"}.get(language, "'" if language in _GLOTTAL else "' ")
    if language in _RIGHT and _is_number(before) and letters[1]:
        return " '" if after == "s" else "'"  # 1990 's
    return " ' "


def _keeps_period(word: str, after: str, language: str) -> bool:
    if "." in word and any(map(_is_letter, word)):
        return True
    return word in _ABBREVIATIONS.get(language, ()) or (bool(after) and after[0].islower())


@lru_cache(maxsize=1 << 12)
def _kind(character: str) -> str:
    """Return L for a letter, N for a digit, M for what is combined with one, else another class."""
    category = unicodedata.category(character)
    return "P" if category == "No" else category[0]  # ², ½: they stand alone


def _is_letter(character: str) -> bool:
    return character != "" and _kind(character) in "LM"


def _is_number(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] == "N"
