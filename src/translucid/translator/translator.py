"""The translator: texts in, translations out, in their order and none lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import torch

from translucid.checkpoint.format import GenerationConfig
from translucid.decoding.job import Tokens
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.text.interface import Tokenizer
from translucid.translator.alignment import alignment_of, soft_alignments
from translucid.translator.asking import Asked, Wishes, check_pairs, check_texts, terminology
from translucid.translator.assembly import best_combinations, candidate, flags
from translucid.translator.batches import in_batches
from translucid.translator.forbidding import forbidden_tokens
from translucid.translator.member import Member
from translucid.translator.scoring import fits, score_texts
from translucid.translator.searching import Searcher, never_written
from translucid.translator.streaming import grow
from translucid.translator.translation import Partial, Scored, Translation

MAX_SOURCE_TOKENS = 256  # a longer line is divided; trained networks have hardly seen longer ones

Choice = tuple[Hypothesis, ...]  # one hypothesis for each part of a text


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
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.members = members
        self.generation = generation

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
        texts: Sequence[str],
        *,
        target: str | None = None,
        search: SearchConfig | None = None,
        terms: Mapping[str, str] | None = None,
        prefixes: Sequence[str] | None = None,
        forbidden: Sequence[str] = (),
        alignment: bool = False,
        batch_size: int = 64,
        emit: Emit | None = None,
    ) -> list[Translation]:
        """Translate texts; the result has one translation a text, in their order.

        `target` is the language to translate into, needed where the model has several. `terms` are
        words of the source and what they must become (see `translator.terms`). `prefixes` has for
        each text what its translation must begin with, or ''; a blank text stays blank all the
        same. `forbidden` are words that no translation may have (see `translator.forbidding`).
        `alignment` asks for what each word looked at. `batch_size` is how many sentences are
        translated at once; it changes nothing but speed and memory.
        """
        check_texts(texts, prefixes, batch_size)
        wishes = self.wishes(target, terms)
        asked = [
            wishes.ask(number, text, prefixes[number] if prefixes else "")
            for number, text in enumerate(texts)
        ]
        searcher = self.searcher(search).without(forbidden_tokens(forbidden, self.tokenizer))
        found = self._find(searcher, asked, batch_size, emit or silent)
        choices = [best_combinations(parts, searcher.settings.n_best) for parts in found]
        return self._translations(texts, asked, choices, batch_size if alignment else None)

    def stream(
        self,
        text: str,
        *,
        target: str | None = None,
        search: SearchConfig | None = None,
        terms: Mapping[str, str] | None = None,
        prefix: str = "",
        forbidden: Sequence[str] = (),
        alignment: bool = False,
    ) -> Iterator[Partial]:
        """Translate a text and yield what there is as it goes; the last one has everything.

        What is `stable` in one is never taken back. The last translation is that of `translate`.
        """
        check_texts([text], [prefix], batch_size=1)
        asked = self.wishes(target, terms).ask(0, text, prefix)
        searcher = self.searcher(search).without(forbidden_tokens(forbidden, self.tokenizer))
        for request in asked.requests:
            searcher.check_room(0, request)
        return self._stream(text, asked, searcher, alignment)

    def _stream(
        self, text: str, asked: Asked, searcher: Searcher, alignment: bool
    ) -> Iterator[Partial]:
        found = yield from grow(searcher, asked, self.tokenizer.decode)
        choices = best_combinations(found, searcher.settings.n_best)
        (translation,) = self._translations([text], [asked], [choices], 1 if alignment else None)
        yield Partial(translation.text, "", True, translation)

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        target: str | None = None,
        batch_size: int = 64,
    ) -> list[Scored]:
        """Return how probable given translations are, log P of each token and of the end.

        Texts of several lines are scored line by line, as they are translated.
        """
        check_pairs(sources, targets, batch_size)
        texts = list(zip(sources, targets, strict=True))
        return score_texts(self.members, self.tokenizer, self.tag(target), texts, batch_size)

    def can_score(self, source: str, translation: str, *, target: str | None = None) -> bool:
        """Tell whether a pair is short enough for `score`, which refuses longer ones."""
        return fits(self.members, self.tokenizer, self.tag(target), source, translation)

    def tag(self, target: str | None) -> Tokens:
        """Return what a source begins with to be translated into a language."""
        language = self.target_language(target)
        return (self.generation.tags[language],) if self.generation.tags else ()

    def wishes(self, target: str | None, terms: Mapping[str, str] | None) -> Wishes:
        """Return how sources are read for a target language, and the terminology."""
        tag = self.tag(target)
        positions = min(member.positions for member in self.members)
        longest = min(MAX_SOURCE_TOKENS, positions - len(tag) - 1)
        return Wishes(self.tokenizer, tag, max(1, longest), terminology(terms, self.tokenizer))

    def target_language(self, target: str | None) -> str:
        """Return the language to translate into; it may be left out where there is one."""
        targets = list(dict.fromkeys(language for _, language in self.directions))
        if target is None and len(targets) == 1:
            return targets[0]
        if target is None:
            raise InputError(
                f"{self.name} translates into {', '.join(targets)}: say which (target, or --to on "
                "the command line)"
            )
        if target not in targets:
            raise InputError(
                f"{self.name} does not translate into {target!r} but into {', '.join(targets)}"
            )
        return target

    def searcher(self, settings: SearchConfig | None) -> Searcher:
        """Return what searches with these settings, or with the model's own."""
        return Searcher(
            members=self.members,
            settings=settings or self.default_search,
            forbidden=self._never_written,
            decode=self.tokenizer.decode,
        )

    @cached_property
    def _never_written(self) -> Tokens:
        return never_written(self.tokenizer)

    def _find(
        self, searcher: Searcher, asked: Sequence[Asked], batch_size: int, emit: Emit
    ) -> list[list[list[Hypothesis]]]:
        """Return for each text, for each of its parts, the hypotheses found."""
        for number, one in enumerate(asked):
            for request in one.requests:
                searcher.check_room(number, request)
        requests = [request for one in asked for request in one.requests]
        each = in_batches(
            [len(request.source) for request in requests],
            batch_size,
            lambda numbers: searcher.find([requests[number] for number in numbers], None),
            lambda done: emit(Progress("translate", done, len(requests), "sentences")),
        )
        found = iter(each)
        return [[next(found) for _ in one.requests] for one in asked]

    def _translations(
        self,
        texts: Sequence[str],
        asked: Sequence[Asked],
        choices: Sequence[Sequence[Choice]],
        align: int | None,
    ) -> list[Translation]:
        """Return the translations, with alignments in batches of `align` if they are asked for."""
        best = [one[0] for one in choices]
        weights = None if align is None else self._weights(asked, best, align)
        translations = []
        for number, (text, one, ways) in enumerate(zip(texts, asked, choices, strict=True)):
            aligned = None
            if weights is not None:
                aligned = alignment_of(one, best[number], next(weights), self.tokenizer)
            translations.append(
                Translation(
                    source=text,
                    n_best=tuple(candidate(one.divided, way, self.tokenizer) for way in ways),
                    flags=flags(one.divided, best[number]),
                    alignment=aligned,
                )
            )
        return translations

    def _weights(
        self, asked: Sequence[Asked], best: Sequence[Choice], batch_size: int
    ) -> Iterator[list[torch.Tensor]]:
        """Yield for each text the soft alignments of its parts."""
        sources = [request.source for one in asked for request in one.requests]
        targets = [hypothesis.tokens for choice in best for hypothesis in choice]
        lengths = [len(s) + len(t) for s, t in zip(sources, targets, strict=True)]
        each = iter(
            in_batches(
                lengths,
                batch_size,
                lambda numbers: soft_alignments(
                    self.members, [sources[n] for n in numbers], [targets[n] for n in numbers]
                ),
            )
        )
        for choice in best:
            yield [next(each) for _ in choice]
