"""The translator: texts in, translations out, in their order and none lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import torch

from translucid.checkpoint.format import GenerationConfig
from translucid.decoding.job import Tokens
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.text.normalization import lowercase, nfc
from translucid.text.placeholders import remove_spans
from translucid.text.spans import span_finder
from translucid.text.tokenizer import Tokenizer, Tokenizers
from translucid.translator.alignment import soft_alignments
from translucid.translator.asking import (
    Wishes,
    check_batch_size,
    checked_keep,
    checked_pairs,
    checked_prefixes,
    checked_texts,
    told_of,
)
from translucid.translator.batches import in_batches
from translucid.translator.confidence import Calibration
from translucid.translator.forbidding import forbidden_tokens
from translucid.translator.member import Member
from translucid.translator.order import Order
from translucid.translator.parts import Part, Reader
from translucid.translator.reading_back import Found, ReadingBack, all_of_the_beam
from translucid.translator.scoring import Pair, fits, pairs_of, score_pairs, scored
from translucid.translator.searching import Searcher, never_written, placeholders_of
from translucid.translator.source_language import SourceLanguages
from translucid.translator.streaming import grow, in_background
from translucid.translator.terms import Terminology
from translucid.translator.translation import Partial, Scored, Translation

CHARACTERS_TO_KNOW = 4000  # of texts, from which their language is known
MAX_SOURCE_TOKENS = 256  # a longer line is divided; trained networks have hardly seen longer ones


class Translator:
    """Translates texts with one network, or with several that share a vocabulary.

    Texts are normalised as the training text was (NFC). Every line of a text is translated by
    itself; blank lines and white space around lines stay where they are. A line longer than 256
    tokens is divided into sentences, and its translation is flagged as `split`.
    """

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        members: tuple[Member, ...],
        generation: GenerationConfig,
        source_languages: SourceLanguages | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.members = members
        self.generation = generation
        self.source_languages = source_languages
        self.calibration = calibration

    @cached_property
    def writer(self) -> Tokenizer:
        """The tokenizer of translations: it has the pieces that the network can write, no others.

        Those are all, unless its data was prepared with --target-pieces-only.
        """
        return self.tokenizer.within(self.members[0].model.config.target_vocab_size)

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """Pairs of source and target language that it was trained on."""
        return self.generation.directions

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages of its directions, in the order of the alphabet."""
        return tuple(sorted({language for pair in self.directions for language in pair}))

    @property
    def default_search(self) -> SearchConfig:
        """How it searches unless told otherwise, as the model directory says."""
        return SearchConfig(
            method="beam",
            beam=self.generation.beam,
            length_penalty=self.generation.length_penalty,
            extra_length=self.generation.extra_length,
        )

    def translate(
        self,
        texts: Iterable[str],
        *,
        target: str | None = None,
        search: SearchConfig | None = None,
        terms: Mapping[str, str] | None = None,
        prefixes: Iterable[str] | None = None,
        forbidden: Iterable[str] = (),
        keep: Iterable[str] = (),
        alignment: bool = False,
        reading_back: ReadingBack | None = None,
        batch_size: int = 64,
        emit: Emit | None = None,
    ) -> list[Translation]:
        """Translate texts; the result has one translation a text, in their order.

        `target` is the language to translate into; where the model has several and none is given,
        the language of each text decides (see `translator.source_language`). `terms` are words of
        the source and what they must become (see `translator.terms`). `prefixes` has for each text
        what its translation must begin with, or ''; a blank text stays blank all the same.
        `forbidden` are words that no translation may have (see `translator.forbidding`), `keep`
        words and phrases that stand in it as in the text, as addresses, tags and the like do (see
        `translucid.text.spans`). `alignment` asks for what each word looked at. With
        `reading_back`, a network of the other direction has a say in which of the hypotheses is the
        best (see `translator.reading_back`). `batch_size` is how many sentences are translated at
        once; it changes nothing but speed and memory.
        """
        check_batch_size(batch_size)
        order = self.order(
            texts,
            target=target,
            search=search,
            terms=terms,
            prefixes=prefixes,
            forbidden=forbidden,
            keep=keep,
        )
        emit = emit or silent
        if reading_back is None:
            found = self._find(order, batch_size, emit)
        else:
            found = self._find_and_read_back(order, target, reading_back, batch_size, emit)
        choices = order.choices(found)
        weights = self._weights(order.pairs(choices), batch_size) if alignment else None
        return order.translations(choices, weights)

    def order(
        self,
        texts: Iterable[str],
        *,
        target: str | None = None,
        search: SearchConfig | None = None,
        terms: Mapping[str, str] | None = None,
        prefixes: Iterable[str] | None = None,
        forbidden: Iterable[str] = (),
        keep: Iterable[str] = (),
    ) -> Order:
        """Return what `translate` would search for, for callers that search by themselves.

        What cannot be searched for is refused: a prefix or terms for which there is no room.
        """
        lines = checked_texts("texts", texts)
        begins = checked_prefixes(prefixes, lines)
        words = [self._spelled(word) for word in checked_texts("forbidden", forbidden)]
        never = forbidden_tokens(words, self.writer)
        kept = checked_keep(keep, terms or {})
        directions = []
        for number, text in enumerate(lines):
            with told_of("text", number):
                directions.append(self._probable_direction(target, text))
        if target is not None:  # what cannot be is refused without texts too
            self.wishes(None, target, terms, kept)
        wishes = {way: self.wishes(*way, terms, kept) for way in set(directions)}
        asked = tuple(
            wishes[directions[number]].ask(number, text, begins[number])
            for number, text in enumerate(lines)
        )
        self._refuse_forbidden_terms(terms or {}, set(never))
        searcher = self.searcher(search).without(never)
        for number, one in enumerate(asked):
            for request in one.requests:
                searcher.check_room(number, request)
        return Order(tuple(lines), asked, searcher, self.tokenizer, self.calibration)

    def _refuse_forbidden_terms(self, terms: Mapping[str, str], never: set[int]) -> None:
        for source, written in terms.items():
            if never.intersection(self.writer.encode(nfc(written).strip())):
                raise InputError(
                    f"the term {source!r} must become {written!r}, and a word of that is "
                    "forbidden: leave one of the two out"
                )

    def stream(
        self,
        text: str,
        *,
        target: str | None = None,
        search: SearchConfig | None = None,
        terms: Mapping[str, str] | None = None,
        prefix: str = "",
        forbidden: Iterable[str] = (),
        keep: Iterable[str] = (),
        alignment: bool = False,
    ) -> Iterator[Partial]:
        """Translate a text and yield what there is as it goes; the last one has everything.

        What is `stable` in one is never taken back. The last translation is that of `translate`.
        """
        order = self.order(
            [text],
            target=target,
            search=search,
            terms=terms,
            prefixes=[prefix],
            forbidden=forbidden,
            keep=keep,
        )
        return in_background(lambda tell: tell(self.follow(order, tell, alignment)))

    def follow(self, order: Order, tell: Callable[[Partial], None], alignment: bool) -> Partial:
        """Search for the only text of an order; tell what there is as it goes, return the last.

        It ends early where `tell` raises.
        """
        (asked,) = order.asked
        choices = order.choices(grow(order.searcher, asked, self.tokenizer.decode, tell))
        weights = self._weights(order.pairs(choices), 1) if alignment else None
        (translation,) = order.translations(choices, weights)
        return Partial(translation.text, "", True, translation)

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        target: str | None = None,
        batch_size: int = 64,
    ) -> list[Scored]:
        """Return how probable given translations are, log P of each token and of the end.

        Texts of several lines are scored line by line, as they are translated.
        """
        check_batch_size(batch_size)
        pairs = self.pairs(sources, targets, target=target)
        flat = [pair for one in pairs for pair in one]
        return scored(pairs, self.log_probs(flat, batch_size), self.tokenizer)

    def log_probs(self, pairs: Sequence[Pair], batch_size: int) -> list[list[float]]:
        """Return log P of every token of each target, and last that of its end."""
        return in_batches(
            [pair.length for pair in pairs],
            batch_size,
            lambda numbers: score_pairs(self.members, [pairs[number] for number in numbers]),
        )

    def pairs(
        self, sources: Iterable[str], targets: Iterable[str], *, target: str | None = None
    ) -> list[list[Pair]]:
        """Return the lines that `score` would score, for callers that score by themselves."""
        texts = list(zip(*checked_pairs(sources, targets), strict=True))
        tags, hidden = [], []
        for number, (source, translation) in enumerate(texts):
            with told_of("pair", number):
                tags.append(self.tag(target, [source]))
                hidden.append(self._hidden(target, source, translation))
        return pairs_of(self.members, self._tokenizers, tags, hidden)

    def can_score(self, source: str, translation: str, *, target: str | None = None) -> bool:
        """Tell whether a pair is short enough for `score`, which refuses longer ones."""
        tag = self.tag(target, [source])
        hidden = self._hidden(target, source, translation)
        return fits(self.members, self._tokenizers, tag, *hidden)

    def read_whole(self, target: str | None, line: str) -> tuple[Part, str]:
        """Return a line as the one part that the network reads, and what stands behind it."""
        return self.reader(*self._probable_direction(target, line)).whole(line)

    def _hidden(self, target: str | None, source: str, translation: str) -> tuple[str, str]:
        """Return a text and its translation as the network reads and writes them."""
        if not self.tokenizer.has_placeholders:
            return source, translation
        return self.reader(*self._probable_direction(target, source)).hide_pair(source, translation)

    @property
    def _tokenizers(self) -> Tokenizers:
        return self.tokenizer, self.writer

    def tag(self, target: str | None, texts: Sequence[str] = ()) -> Tokens:
        """Return what a source begins with to be translated into a language."""
        language = self.target_language(target, texts)
        return (self.generation.tags[language],) if self.generation.tags else ()

    def wishes(
        self,
        source: str | None,
        target: str,
        terms: Mapping[str, str] | None = None,
        keep: tuple[str, ...] = (),
    ) -> Wishes:
        """Return how texts are read for a direction, and the terminology; see `translate`."""
        known = {self._spelled(source): written for source, written in (terms or {}).items()}
        terminology = Terminology(known, self.writer.encode)
        reader = replace(self.reader(source, target, keep), terms=terminology)
        return Wishes(reader, self.writer, self.tag(target), terminology)

    def reader(self, source: str | None, target: str, keep: tuple[str, ...] = ()) -> Reader:
        """Return how texts of one language are read to be translated into another."""
        positions = min(member.positions for member in self.members)
        longest = min(MAX_SOURCE_TOKENS, positions - len(self.tag(target)) - 1)
        finder = span_finder(keep, source, target)
        return Reader(
            self.tokenizer.encode, max(1, longest), finder, self.tokenizer.has_placeholders
        )

    def _spelled(self, word: str) -> str:
        """Return a word as it stands in the texts that the network knows."""
        return lowercase(word) if self.generation.lowercase else word

    def target_language(self, target: str | None, texts: Sequence[str] = ()) -> str:
        """Return the language to translate into.

        It may be left out where there is one, or where the language that the texts are in decides.
        """
        targets = list(dict.fromkeys(language for _, language in self.directions))
        if target is None:
            source = self._source_language(texts) if len(targets) > 1 else None
            if source is not None:
                targets = [into for language, into in self.directions if language == source]
            blank = source is not None and not any(text.strip() for text in texts)
            if len(targets) == 1 or blank:
                return targets[0]
            raise InputError(
                f"{self.name} translates into {', '.join(targets)}: say which (target, or --to on "
                "the command line)"
            )
        if target not in targets:
            raise InputError(
                f"{self.name} does not translate into {target!r} but into {', '.join(targets)}"
            )
        return target

    def _source_language(self, texts: Sequence[str]) -> str | None:
        """Return the source language that texts together are in, if the model can tell."""
        return self._language_of(
            texts, list(dict.fromkeys(source for source, _ in self.directions))
        )

    def _language_of(self, texts: Sequence[str], sources: Sequence[str]) -> str | None:
        """Return which of these source languages texts together are in, if the model can tell."""
        if self.source_languages is None or not texts:
            return None
        letters = itertools.chain.from_iterable(f"{text} " for text in texts)
        beginning = nfc("".join(itertools.islice(letters, CHARACTERS_TO_KNOW)))
        prose = remove_spans(beginning, span_finder().find(beginning))
        tokens = self.tokenizer.encode(prose)
        return self.source_languages.language_of(tokens, sources)

    def searcher(self, settings: SearchConfig | None) -> Searcher:
        """Return what searches with these settings, or with the model's own."""
        return Searcher(
            members=self.members,
            settings=settings or self.default_search,
            forbidden=self._never_written,
            placeholders=placeholders_of(self.writer),
            decode=self.tokenizer.decode,
        )

    @cached_property
    def _never_written(self) -> Tokens:
        return never_written(self.writer)

    def _find(self, order: Order, batch_size: int, emit: Emit) -> list[list[Hypothesis]]:
        """Return the hypotheses found for each part."""
        requests = order.requests
        return in_batches(
            [len(request.source) for request in requests],
            batch_size,
            lambda numbers: order.searcher.find([requests[number] for number in numbers], None),
            lambda done: emit(Progress("translate", done, len(requests), "sentences")),
        )

    def _find_and_read_back(
        self,
        order: Order,
        target: str | None,
        reading_back: ReadingBack,
        batch_size: int,
        emit: Emit,
    ) -> list[list[Hypothesis]]:
        """Return all hypotheses of the beam for each part, scored with the help of a reader."""
        settings = all_of_the_beam(order.searcher.settings)
        languages = []
        for number, (text, one) in enumerate(zip(order.texts, order.asked, strict=True)):
            if one.divided.parts:  # a blank text is in no language
                with told_of("text", number):
                    source, into = self._direction(target, text)
                    reading_back.check(source, into, lowercase=self.generation.lowercase)
                languages += [source] * len(one.divided.parts)
        wide = replace(order, searcher=replace(order.searcher, settings=settings))
        found = self._find(wide, batch_size, emit)
        hide = reading_back.reader.tokenizer.has_placeholders
        texts = [part.protected for one in order.asked for part in one.divided.parts]
        parts = [
            Found(
                protected.text if hide else protected.source,
                source,
                tuple(each),
                tuple(
                    text if hide else protected.restore(text)
                    for text in (self.tokenizer.decode(h.tokens) for h in each)
                ),
            )
            for protected, source, each in zip(texts, languages, found, strict=True)
        ]
        return reading_back.rescored(parts, settings, batch_size, emit)

    def _probable_direction(self, target: str | None, text: str) -> tuple[str | None, str]:
        """Return the language that a text is in, None if unknown, and the one to translate into."""
        into = self.target_language(target, [text])
        sources = [source for source, other in self.directions if other == into]
        return sources[0] if len(sources) == 1 else self._language_of([text], sources), into

    def _direction(self, target: str | None, text: str) -> tuple[str, str]:
        """Return the language that a text is in, and the one that it is translated into."""
        source, into = self._probable_direction(target, text)
        if source is None:
            sources = [source for source, other in self.directions if other == into]
            raise InputError(
                f"{self.name} translates into {into} from {', '.join(sources)} and cannot tell "
                "which of them the text is in, so that its translation cannot be read back: leave "
                "reading back out, or take a model of one source language"
            )
        return source, into

    def _weights(
        self, pairs: Sequence[tuple[Tokens, Tokens]], batch_size: int
    ) -> list[torch.Tensor]:
        """Return the soft alignment of each part with its translation."""
        return in_batches(
            [len(source) + len(target) for source, target in pairs],
            batch_size,
            lambda numbers: soft_alignments(
                self.members, [pairs[n][0] for n in numbers], [pairs[n][1] for n in numbers]
            ),
        )
