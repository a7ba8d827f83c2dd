"""The translator: texts in, translations out, in their order and none lost."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from translucid.config import GenerationConfig
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.engines import Engines
from translucid.engines.base import Array, Pair, SearchOptions
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.text.capitals import is_in_capitals
from translucid.text.normalization import lowercase, nfc
from translucid.text.placeholders import remove_spans
from translucid.text.spans import span_finder
from translucid.text.tokenizer import Tokenizer, Tokenizers
from translucid.translator.assembly import TranslationBatch
from translucid.translator.confidence import Calibration
from translucid.translator.request import (
    RequestEncoder,
    Terminology,
    TranslationRequest,
    check_batch_size,
    check_pairs,
    check_texts,
    error_context,
    find_forbidden_tokens,
)
from translucid.translator.rerank import RankedSegment, Reranker, return_whole_beam
from translucid.translator.scoring import build_pairs, build_scores, can_score
from translucid.translator.search import (
    Searcher,
    find_unwritable_tokens,
    map_in_batches,
    placeholder_tokens,
)
from translucid.translator.segmentation import MAX_SOURCE_TOKENS, Segment, Segmenter
from translucid.translator.source_language import SourceLanguages
from translucid.translator.streaming import run_in_background, stream_segments
from translucid.translator.translation import PartialTranslation, ScoredTranslation, Translation

if TYPE_CHECKING:
    from translucid.engines.pytorch import Member

DETECTION_CHARACTERS = 4000  # of texts, from which their language is detected


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
        engines: Engines,
        generation: GenerationConfig,
        source_languages: SourceLanguages | None = None,
        calibration: Calibration | None = None,
        folders: tuple[Path, ...] = (),
        directory_hash: str | None = None,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.engines = engines
        self.generation = generation
        self.source_languages = source_languages
        self.calibration = calibration
        self.folders = folders  # model directories it was loaded from
        self.directory_hash = directory_hash  # of one with checksums: that of their list

    @cached_property
    def target_tokenizer(self) -> Tokenizer:
        """The tokenizer of translations: only the pieces that the network can write.

        Those are all, unless its data was prepared with --target-pieces-only.
        """
        return self.tokenizer.within(self.engines.configs[0].target_vocab_size)

    @property
    def members(self) -> tuple[Member, ...]:
        """The networks, in PyTorch, which is loaded for them."""
        return self.engines.pytorch.members

    @property
    def hash(self) -> str:
        """The SHA-256 of networks and vocabulary, whatever the engine, the device and the name."""
        digest = hashlib.sha256(self.tokenizer.fingerprint.encode())
        for each in self.engines.network_hashes():
            digest.update(each.encode())
        return digest.hexdigest()

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """Pairs of source and target language that it was trained on."""
        return self.generation.directions

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages of its directions, in alphabetical order."""
        return tuple(sorted({language for pair in self.directions for language in pair}))

    @property
    def default_search(self) -> SearchConfig:
        """The settings of the search in the model directory."""
        return SearchConfig(
            method="beam",
            beam=self.generation.beam,
            length_penalty=self.generation.length_penalty,
            length_form=self.generation.length_form,
            extra_length=self.generation.extra_length,
        )

    @overload
    def translate(
        self,
        texts: str,
        request: TranslationRequest | None = None,
        *,
        rerank: Reranker | None = None,
        batch_size: int = 64,
        on_event: Emit = silent,
        **options: Any,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Iterable[str],
        request: TranslationRequest | None = None,
        *,
        rerank: Reranker | None = None,
        batch_size: int = 64,
        on_event: Emit = silent,
        **options: Any,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        request: TranslationRequest | None = None,
        *,
        rerank: Reranker | None = None,
        batch_size: int = 64,
        on_event: Emit = silent,
        **options: Any,
    ) -> Translation | list[Translation]:
        """Translate a text, or a list of texts, whose translations come in the same order.

        Options are the fields of :class:`TranslationRequest` (`target`, `terms`, `keep`,
        `alignment`, …) and the settings of the search (`method`, `beam`, `n_best`, …; see
        :class:`SearchConfig`); they take the place of those of `request`. `rerank` lets a model of
        the other direction help to choose among the hypotheses. `batch_size`, the number of
        sentences translated at once, changes only speed and memory.

        >>> translator.translate("Je suis étudiant.").text  # doctest: +SKIP
        'I am a student.'
        >>> translator.translate(["…", "…"], beam=5, n_best=3, alignment=True)  # doctest: +SKIP
        """
        check_batch_size(batch_size)
        request = self.build_request(request, **options)
        if isinstance(texts, str):
            return self.translate([texts], request, rerank=rerank, batch_size=batch_size)[0]
        batch = self.encode(texts, request)
        if rerank is None:
            found = self._search(batch, batch_size, on_event)
        else:
            found = self._search_and_rerank(batch, request.target, rerank, batch_size, on_event)
        choices = batch.choose(found)
        weights = (
            self._soft_alignments(batch.best_pairs(choices), batch_size)
            if request.alignment
            else None
        )
        return batch.assemble(choices, weights)

    def build_request(
        self, request: TranslationRequest | None = None, **options: Any
    ) -> TranslationRequest:
        """Return a request with the options of `translate`, on top of the model's settings."""
        return TranslationRequest.build(request, options, self.default_search)

    def encode(self, texts: Iterable[str], request: TranslationRequest) -> TranslationBatch:
        """Return what `translate` would search for, for callers that run the search themselves.

        Refuse a prefix or terms that do not fit into a translation.
        """
        given = check_texts("texts", texts)
        prefixes = request.expand_prefixes(given)
        words = [self._normalize_case(word) for word in request.forbidden]
        forbidden = find_forbidden_tokens(words, self.target_tokenizer)
        directions = []
        for number, text in enumerate(given):
            with error_context("text", number):
                directions.append(self._probable_direction(request.target, text))
        if request.target is not None:  # so that a bad request is refused without texts too
            self._build_encoder(None, request.target, request)
        encoders = {way: self._build_encoder(*way, request) for way in set(directions)}
        encoded = []
        for number, (text, prefix) in enumerate(zip(given, prefixes, strict=True)):
            with error_context("text", number):
                encoded.append(encoders[directions[number]].encode(text, prefix))
        self._refuse_forbidden_terms(request.terms, set(forbidden))
        searcher = self.searcher(request.search, token_scores=request.token_scores)
        searcher = searcher.forbid(forbidden)
        for number, one in enumerate(encoded):
            for item in one.inputs:
                searcher.check_room(number, item)
        return TranslationBatch(
            tuple(given), tuple(encoded), searcher, self.tokenizer, self.calibration
        )

    def _refuse_forbidden_terms(self, terms: dict[str, str], forbidden: set[int]) -> None:
        for source, written in terms.items():
            if forbidden.intersection(self.target_tokenizer.encode(nfc(written).strip())):
                raise InputError(
                    f"the term {source!r} must become {written!r}, and a word of that is "
                    "forbidden: leave one of the two out"
                )

    def stream(
        self, text: str, request: TranslationRequest | None = None, **options: Any
    ) -> Iterator[PartialTranslation]:
        """Translate a text and yield it while it grows; the last one is complete.

        What is `stable` in one is never taken back. The options and the last translation are those
        of `translate`.
        """
        request = self.build_request(request, **options)
        batch = self.encode([text], request)
        return run_in_background(
            lambda report: report(self.stream_batch(batch, report, request.alignment))
        )

    def stream_batch(
        self, batch: TranslationBatch, report: Callable[[PartialTranslation], None], alignment: bool
    ) -> PartialTranslation:
        """Translate the only text of a batch; report it while it grows, return the last one.

        It ends early if `report` raises.
        """
        (encoded,) = batch.encoded
        choices = batch.choose(
            stream_segments(batch.searcher, encoded, self.tokenizer.decode, report)
        )
        weights = self._soft_alignments(batch.best_pairs(choices), 1) if alignment else None
        (translation,) = batch.assemble(choices, weights)
        return PartialTranslation(translation.text, "", True, translation)

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        target: str | None = None,
        batch_size: int = 64,
    ) -> list[ScoredTranslation]:
        """Return the probability of given translations: log P of each token and of the end.

        Texts of several lines are scored line by line, as they are translated.
        """
        check_batch_size(batch_size)
        pairs = self.build_pairs(sources, targets, target=target)
        flat = [pair for one in pairs for pair in one]
        return build_scores(pairs, self.log_probs(flat, batch_size), self.tokenizer)

    def log_probs(self, pairs: Sequence[Pair], batch_size: int) -> list[list[float]]:
        """Return log P of every token of each target, and last that of its end."""
        return map_in_batches(
            [pair.length for pair in pairs],
            batch_size,
            lambda numbers: self.engines.score([pairs[number] for number in numbers]),
        )

    def build_pairs(
        self, sources: Iterable[str], targets: Iterable[str], *, target: str | None = None
    ) -> list[list[Pair]]:
        """Return the lines that `score` would score, for callers that score them themselves."""
        texts = list(zip(*check_pairs(sources, targets), strict=True))
        tags, hidden = [], []
        for number, (source, translation) in enumerate(texts):
            with error_context("pair", number):
                tags.append(self.tag(target, [source]))
                hidden.append(self._hide_spans(target, source, translation))
        return build_pairs(self.engines.positions, self._tokenizers, tags, hidden)

    def can_score(self, source: str, translation: str, *, target: str | None = None) -> bool:
        """Tell whether a pair is short enough for `score`, which refuses longer ones."""
        tag = self.tag(target, [source])
        hidden = self._hide_spans(target, source, translation)
        return can_score(self.engines.positions, self._tokenizers, tag, *hidden)

    def read_whole(self, target: str | None, line: str) -> tuple[Segment, str]:
        """Return a line as a single segment, and what is copied behind it."""
        return self.segmenter(*self._probable_direction(target, line)).read_whole(line)

    def _hide_spans(self, target: str | None, source: str, translation: str) -> tuple[str, str]:
        """Return a text and its translation as the network reads and writes them."""
        direction = self._probable_direction(target, source)
        return self.segmenter(*direction).hide_pair(source, translation)

    @property
    def _tokenizers(self) -> Tokenizers:
        return self.tokenizer, self.target_tokenizer

    def tag(self, target: str | None, texts: Sequence[str] = ()) -> Tokens:
        """Return the tag that a source begins with, () for a model without tags."""
        language = self.target_language(target, texts)
        return (self.generation.tags[language],) if self.generation.tags else ()

    def _build_encoder(
        self, source: str | None, target: str, request: TranslationRequest
    ) -> RequestEncoder:
        """Return the encoder of one direction."""
        terms = {self._normalize_case(word): written for word, written in request.terms.items()}
        terminology = Terminology(terms, self.target_tokenizer.encode)
        keep = tuple(nfc(phrase).strip() for phrase in request.keep)
        segmenter = replace(self.segmenter(source, target, keep), terms=terminology)
        return RequestEncoder(segmenter, self.target_tokenizer, self.tag(target), terminology)

    def segmenter(self, source: str | None, target: str, keep: tuple[str, ...] = ()) -> Segmenter:
        """Return the segmenter of one direction."""
        positions = self.engines.positions
        longest = min(MAX_SOURCE_TOKENS, positions - len(self.tag(target)) - 1)
        finder = span_finder(keep, source, target)
        return Segmenter(
            self.tokenizer.encode, max(1, longest), finder, self.tokenizer.has_placeholders
        )

    def _normalize_case(self, word: str) -> str:
        """Return a word in lower case if the network knows nothing else."""
        return lowercase(word) if self.generation.lowercase else word

    def target_language(self, target: str | None, texts: Sequence[str] = ()) -> str:
        """Return the language to translate into.

        `target` may be None if there is one, or if the language of the texts decides.
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
        """Return the common source language of texts, if the model can tell."""
        return self._detect_language(
            texts, list(dict.fromkeys(source for source, _ in self.directions))
        )

    def _detect_language(self, texts: Sequence[str], sources: Sequence[str]) -> str | None:
        """Return which of these source languages texts are in, if the model can tell."""
        if self.source_languages is None or not texts:
            return None
        letters = itertools.chain.from_iterable(f"{text} " for text in texts)
        beginning = nfc("".join(itertools.islice(letters, DETECTION_CHARACTERS)))
        prose = remove_spans(beginning, span_finder().find(beginning))
        if is_in_capitals(prose):  # they are rare in what was counted
            prose = lowercase(prose)
        tokens = self.tokenizer.encode(prose)
        return self.source_languages.detect(tokens, sources)

    def searcher(
        self, settings: SearchConfig | None = None, *, token_scores: bool = True
    ) -> Searcher:
        """Return a searcher with these settings, or with the model's own."""
        options = SearchOptions(
            settings=settings or self.default_search,
            unwritable=self._unwritable_tokens,
            forbidden=(),
            placeholders=placeholder_tokens(self.target_tokenizer),
            decode=self.tokenizer.decode,
            token_scores=token_scores,
        )
        return Searcher(self.engines, options)

    @cached_property
    def _unwritable_tokens(self) -> Tokens:
        return find_unwritable_tokens(self.target_tokenizer)

    def _search(
        self, batch: TranslationBatch, batch_size: int, emit: Emit
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each segment."""
        inputs = batch.inputs
        return map_in_batches(
            [len(item.source) for item in inputs],
            batch_size,
            lambda numbers: batch.searcher.search([inputs[number] for number in numbers]),
            lambda done: emit(Progress("translate", done, len(inputs), "sentences")),
        )

    def _search_and_rerank(
        self,
        batch: TranslationBatch,
        target: str | None,
        reranker: Reranker,
        batch_size: int,
        emit: Emit,
    ) -> list[list[Hypothesis]]:
        """Return all hypotheses of the beam for each segment, with their new scores."""
        settings = return_whole_beam(batch.searcher.settings)
        languages = []
        for number, (text, one) in enumerate(zip(batch.texts, batch.encoded, strict=True)):
            if one.inputs:  # a blank text is in no language
                with error_context("text", number):
                    source, into = self._direction(target, text)
                    reranker.check(source, into, lowercase=self.generation.lowercase)
                languages += [source] * len(one.inputs)
        wide = replace(batch, searcher=batch.searcher.with_settings(settings))
        found = self._search(wide, batch_size, emit)
        hide = reranker.model.tokenizer.has_placeholders
        texts = [
            replace(segment.protected, capitals=None)  # compared as the networks read and write
            for one in batch.encoded
            for segment in one.segmented.segments
        ]
        segments = [
            RankedSegment(
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
        return reranker.rescore(segments, settings, batch_size, emit)

    def _probable_direction(self, target: str | None, text: str) -> tuple[str | None, str]:
        """Return the language of a text, None if unknown, and the one to translate into."""
        into = self.target_language(target, [text])
        sources = [source for source, other in self.directions if other == into]
        return sources[0] if len(sources) == 1 else self._detect_language([text], sources), into

    def _direction(self, target: str | None, text: str) -> tuple[str, str]:
        """Return the language of a text, and the one to translate into."""
        source, into = self._probable_direction(target, text)
        if source is None:
            sources = [source for source, other in self.directions if other == into]
            raise InputError(
                f"{self.name} translates into {into} from {', '.join(sources)} and cannot tell "
                "which of them the text is in, so that its translations cannot be reranked: leave "
                "reranking out, or take a model of one source language"
            )
        return source, into

    def _soft_alignments(
        self, pairs: Sequence[tuple[Tokens, Tokens]], batch_size: int
    ) -> list[Array]:
        """Return the soft alignment of each segment with its translation."""
        return map_in_batches(
            [len(source) + len(target) for source, target in pairs],
            batch_size,
            lambda numbers: self.engines.align([pairs[number] for number in numbers]),
        )
