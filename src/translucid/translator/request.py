"""The options of a translation: one request for Python, the command line and HTTP.

:class:`TranslationRequest` is plain data. :class:`RequestEncoder` turns a text and a request into
tokens for the search: segments, forced prefix, terminology.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from translucid.config import Config, Rule
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Tokens
from translucid.engines.base import DecoderInput
from translucid.errors import ConfigError, InputError, nearest
from translucid.text.capitals import Encode
from translucid.text.normalization import nfc
from translucid.text.sentences import is_unspaced
from translucid.text.spans import span_finder, whole_word
from translucid.text.tokenizer import EOS, FIRST_PIECE, UNK, Tokenizer
from translucid.translator.segmentation import SegmentedText, Segmenter


def _refuse_text(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticCustomError("not_a_list", "give a list of texts, not a single text")
    return value


Words = Annotated[tuple[str, ...], BeforeValidator(_refuse_text)]


def _check_keep(values: Mapping[str, Any]) -> str | None:
    for phrase in values["keep"]:
        if not phrase.strip() or "\n" in phrase:
            return f"keep has {phrase!r}: give words or phrases of one line"
    return None


def _check_keep_against_terms(values: Mapping[str, Any]) -> str | None:
    for phrase in values["keep"]:
        for source, written in values["terms"].items():
            if phrase.strip() and re.search(whole_word(nfc(phrase).strip()), nfc(source)):
                return (
                    f"{phrase!r} is in keep, and the term {source!r} must become {written!r}: "
                    "leave one of the two out"
                )
    return None


def _check_terms_method(values: Mapping[str, Any]) -> str | None:
    search = values["search"]
    if not values["terms"] or search is None or search.method == "beam":
        return None
    return f"terms need the method 'beam', and the search is {search.method!r}"


class TranslationRequest(Config):
    """How texts are to be translated."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("keep",), _check_keep),
        Rule(("keep", "terms"), _check_keep_against_terms),
        Rule(("terms", "search"), _check_terms_method),
    )
    renamed: ClassVar[Mapping[str, str]] = {"prefixes": "prefix"}

    target: str | None = Field(
        None,
        description="language to translate into; left out: the only one that the model has, or "
        "the one that fits the language of the text",
    )
    search: SearchConfig | None = Field(
        None, description="how to search; left out: the model's own settings"
    )
    terms: dict[str, str] = Field(
        default={},
        description="words of the source, and what they must become (beam search only)",
    )
    forbidden: Words = Field(default=(), description="words that no translation may have")
    keep: Words = Field(default=(), description="words and phrases that are not translated")
    prefix: str | tuple[str, ...] = Field(
        "",
        description="what every translation must begin with, or one prefix per text, '' for none",
    )
    alignment: bool = Field(False, description="also return what each word attended to")
    token_scores: bool = Field(False, description="also return log P of each token")

    def __init__(self, /, **values: Any) -> None:
        lists = {
            name: tuple(value)
            for name, value in values.items()
            if name in ("forbidden", "keep", "prefix", "prefixes")
            and isinstance(value, Iterable)
            and not isinstance(value, str)
        }
        super().__init__(**{**values, **lists})

    @classmethod
    def build(
        cls, request: TranslationRequest | None, options: Mapping[str, Any], search: SearchConfig
    ) -> TranslationRequest:
        """Return a request with options by name: fields of the request or settings of the search.

        Settings change those of the request, or else `search`, the model's own. An option that is
        None counts as not given.
        """
        options = {name: value for name, value in options.items() if value is not None}
        known = {*cls.model_fields, *cls.renamed}
        given = {name: value for name, value in options.items() if name in known}
        settings = {name: value for name, value in options.items() if name not in known}
        if unknown := settings.keys() - SearchConfig.model_fields.keys():
            known |= SearchConfig.model_fields.keys()
            raise ConfigError(
                "the request",
                [f"unknown option {name!r}; {nearest(name, known)}" for name in sorted(unknown)],
            )
        if settings:
            base = given.get("search") or (request and request.search) or search
            given["search"] = base.override(settings)
        if request is None:
            return cls(**given)
        return request.replace(**given) if given else request

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated again."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**values, **changes})

    def expand_prefixes(self, texts: Sequence[str]) -> Sequence[str]:
        """Return one prefix per text."""
        if isinstance(self.prefix, str):
            return [self.prefix] * len(texts)
        if len(self.prefix) != len(texts):
            raise InputError(
                f"{len(self.prefix)} prefixes for {len(texts)} texts: give one per text, '' for "
                "none, or a single one for all"
            )
        return self.prefix


@dataclass(frozen=True)
class EncodedText:
    """A text in segments, and the decoder's input for each of them."""

    segmented: SegmentedText
    inputs: tuple[DecoderInput, ...]


@dataclass(frozen=True)
class RequestEncoder:
    """Turns the texts of one translation direction into inputs of the decoder.

    Every source begins with `tag`.
    """

    segmenter: Segmenter
    target_tokenizer: Tokenizer
    tag: Tokens
    terms: Terminology

    def encode(self, text: str, prefix: str) -> EncodedText:
        """Return the decoder's inputs for a text whose translation begins with `prefix`."""
        segmented = self.segmenter.segment(text)
        if not all(one.protected.may_begin(nfc(prefix)) for one in segmented.segments[:1]):
            segmented = _read_first_as_written(segmented, self.segmenter.encode)
        hidden = _hide_spans(nfc(prefix), segmented, self.target_tokenizer)
        begin = _encode_prefix(hidden, self.target_tokenizer)
        inputs = tuple(
            DecoderInput(
                source=(*self.tag, *segment.tokens, EOS),
                prefix=() if number else begin,
                terms=self.terms.find(
                    segment.text, any_case=segment.protected.capitals is not None
                ),
            )
            for number, segment in enumerate(segmented.segments)
        )
        return EncodedText(segmented, inputs)


def _read_first_as_written(segmented: SegmentedText, encode: Encode) -> SegmentedText:
    """Return a text whose first segment is read in capitals if it is in capitals."""
    first, *others = segmented.segments
    protected = first.protected.as_written()
    first = replace(first, protected=protected, tokens=tuple(encode(protected.text)))
    return replace(segmented, segments=(first, *others))


def _hide_spans(prefix: str, segmented: SegmentedText, tokenizer: Tokenizer) -> str:
    """Return a prefix as the network would write it: placeholders for the spans of the source."""
    prefix = prefix.strip()
    if not segmented.segments or not prefix:
        return prefix
    first = segmented.segments[0]
    prefix = prefix.removeprefix(first.before.strip())
    if segmented.between_spans and span_finder().find(prefix):
        raise InputError(
            f"the prefix {prefix!r} contains tags, addresses or the like, and this model has no "
            "placeholders for them: give a prefix that ends before them"
        )
    if len(segmented.segments) == 1:
        prefix = prefix.removesuffix(segmented.after.strip())
    return first.protected.hide_beginning(prefix, tokenizer.encode)


def _encode_prefix(text: str, tokenizer: Tokenizer) -> Tokens:
    text = nfc(text).strip()
    tokens = tuple(tokenizer.encode(text))
    if "\n" in text or UNK in tokens:
        raise InputError(
            f"the prefix {text!r} cannot begin a translation: it has several lines, or characters "
            "that the model's vocabulary cannot spell"
        )
    return tokens


class Terminology:
    """Words of the source and the words that they must become.

    A term matches whole words. A term in lower case matches any case, so that it may begin a
    sentence; one with capitals matches only as it is written, or in a line in capitals. If two
    terms overlap, the longer one counts. A term that occurs twice in the source must occur twice
    in the translation.
    """

    def __init__(self, terms: Mapping[str, str], encode: Callable[[str], Sequence[int]]) -> None:
        self._targets = {
            _clean_term(s, s, t): _encode_term(s, _clean_term(t, s, t), encode)
            for s, t in terms.items()
        }
        # The longest first, because a regular expression takes the first alternative that fits. In
        # a line in capitals, a term in lower case comes before the same one with a capital.
        longest_first = sorted(self._targets, key=lambda term: (-len(term), term))
        self._in_own_case = _Finder(longest_first)
        usual_first = sorted(longest_first, key=lambda term: (-len(term), term != term.lower()))
        self._in_any_case = _Finder(usual_first, re.IGNORECASE)

    def find_spans(self, source: str, *, any_case: bool = False) -> list[tuple[int, int]]:
        """Return the spans of terms in a source, [start, end)."""
        return [(start, end) for _, start, end in self._finder(any_case).find(source)]

    def find(self, source: str, *, any_case: bool = False) -> tuple[Tokens, ...]:
        """Return the token sequences that a translation of the source must contain."""
        return tuple(self._targets[term] for term, _, _ in self._finder(any_case).find(source))

    def _finder(self, any_case: bool) -> _Finder:
        return self._in_any_case if any_case else self._in_own_case


class _Finder:
    """Finds terms as whole words, the first ones first."""

    def __init__(self, terms: Sequence[str], flags: re.RegexFlag = re.NOFLAG) -> None:
        self._terms = terms
        self._any = re.compile("|".join(f"({_pattern(one)})" for one in terms) or r"(?!)", flags)

    def find(self, source: str) -> Iterator[tuple[str, int, int]]:
        """Yield each term in a source with its start and end."""
        for match in self._any.finditer(source):
            if match.lastindex:
                yield self._terms[match.lastindex - 1], *match.span()


def _clean_term(text: str, source: str, target: str) -> str:
    text = nfc(text).strip()
    if not text or "\n" in text:
        raise InputError(
            f"the term {source!r} → {target!r} has an empty side or one of several lines: give a "
            "word or a few, on both sides"
        )
    return text


def _encode_term(source: str, target: str, encode: Callable[[str], Sequence[int]]) -> Tokens:
    tokens = tuple(encode(target))
    if UNK in tokens:
        raise InputError(
            f"the term {source!r} → {target!r} cannot be written: the model's vocabulary has no "
            f"pieces for all of {target!r}"
        )
    return tokens


def _pattern(term: str) -> str:
    """Return a regular expression that finds a term as a whole word."""
    before = r"(?<!\w)" if _is_letter(term[0]) else ""
    behind = r"(?!\w)" if _is_letter(term[-1]) else ""
    body = re.escape(term)
    return f"{before}(?i:{body}){behind}" if term == term.lower() else f"{before}{body}{behind}"


def _is_letter(character: str) -> bool:
    """Tell whether a word may continue beside this character, in a script with spaces."""
    return (character.isalnum() or character == "_") and not is_unspaced(character)


def find_forbidden_tokens(words: Sequence[str], tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that are one of these words, with a space before it or without.

    A network that insists may still spell the word with other tokens, letter by letter.
    """
    wanted = {nfc(word).strip().removeprefix("▁"): word for word in words}
    if not wanted:
        return ()
    found: dict[str, list[int]] = {word: [] for word in wanted}
    for token in range(FIRST_PIECE, tokenizer.vocab_size):
        text = tokenizer.decode([token]).strip()
        if text and text in found:
            found[text].append(token)
    for word, tokens in found.items():
        if not tokens:
            pieces = " ".join(tokenizer.piece(token) for token in tokenizer.encode(word))
            raise InputError(
                f"{wanted[word]!r} cannot be forbidden: no token of the vocabulary is this word by "
                "itself" + (f"; it is written as {pieces}: forbid one of these" if pieces else "")
            )
    return tuple(token for tokens in found.values() for token in tokens)


@contextmanager
def error_context(what: str, number: int) -> Iterator[None]:
    """Prefix error messages with the number of their text, which counts from 0 here."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{what} {number + 1}: {error}") from error


def check_texts(name: str, texts: Iterable[str]) -> list[str]:
    """Return texts as a list; refuse a single string, and items that are not strings."""
    if isinstance(texts, str):
        raise InputError(
            f"{name} is a list of texts, not the text {texts[:40]!r}: put it in a list"
        )
    given = list(texts)
    for number, text in enumerate(given, start=1):
        if not isinstance(text, str):
            raise InputError(
                f"number {number} of {name} is {text!r}, {type(text).__name__}: give strings"
            )
    return given


def check_pairs(sources: Iterable[str], targets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return sources and targets as lists; refuse lists of different lengths."""
    given = check_texts("sources", sources), check_texts("targets", targets)
    if len(given[0]) != len(given[1]):
        raise InputError(
            f"{len(given[0])} sources and {len(given[1])} targets: give one target per source"
        )
    return given


def check_batch_size(batch_size: int) -> None:
    """Refuse empty batches."""
    if batch_size < 1:
        raise InputError(f"batch_size = {batch_size}: a batch has at least 1 sentence")


def describe_directions(directions: Sequence[tuple[str, str]]) -> str:
    """Return directions as people write them: fr→en, en→fr."""
    return ", ".join(f"{source}→{target}" for source, target in directions) or "none"
