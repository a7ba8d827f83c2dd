"""From a text to its trace: search for the translation, then record how the network came to it.

::

    text ─ tokens ─ search on the served network ─ best or given translation ─ recording ─ Trace
                    (tree, rows of each step)                                  (every number)

The search is that of `Translator.translate`, so the translation is the same, unless that searches a
second time for a better position of a protected span (`translator.search`). The size of a trace
is known before anything is recorded, and too large a trace is refused.

Shapes: S source, T target, N rows under way, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import torch
from torch import Tensor

from translucid.config import ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis, Tokens, normalize_score
from translucid.decoding.penalties import coverage_penalty
from translucid.decoding.stepper import AttendingStepper, Stepper
from translucid.decoding.tree import Recorder, SearchTree
from translucid.engines.base import DecoderInput
from translucid.engines.pytorch import Member
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.interpret.cache_usage import compute_cache_usage
from translucid.interpret.network import model_hash, single_network
from translucid.interpret.recording import Recording, record
from translucid.interpret.trace import (
    VERSION,
    Level,
    Step,
    TopToken,
    Trace,
    TraceToken,
    trace_bytes,
)
from translucid.text.capitals import is_in_capitals
from translucid.text.normalization import nfc
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, UNK, Tokenizer
from translucid.translator import Flags, Translator
from translucid.translator.segmentation import MAX_SOURCE_TOKENS, Segment

MAX_BYTES = 256_000_000  # of a trace, without `force`


class TraceTooLargeError(InputError):
    """A trace that would be too large at this level.

    `bytes` is its size, estimated or exact, `limit` the largest size allowed, `light` the
    approximate size of a light trace.
    """

    def __init__(
        self, message: str, *, level: Level, tokens: int, size: int, limit: int, light: int
    ) -> None:
        super().__init__(message)
        self.level, self.source_tokens = level, tokens
        self.bytes, self.limit, self.light = size, limit, light


def explain(
    translator: Translator,
    text: str,
    *,
    target: str | None = None,
    search: SearchConfig | None = None,
    level: Level = "full",
    given: str | None = None,
    prefix: Sequence[int] = (),
    force: bool = False,
    max_bytes: int | None = None,
    against: str | None = None,
    against_model: Translator | None = None,
    on_event: Emit = silent,
) -> Trace:
    """Translate one sentence and return everything that the network did.

    `target` is the language to translate into, as for `Translator.translate`. With `given`, that
    translation is explained and nothing is searched for. With `prefix`, the translation begins with
    these token ids, and the search finds the rest; a prefix may end in the end symbol. `level` is
    'full', every number, or 'light': tokens, attention and the most probable tokens of each step. A
    trace of more than `max_bytes` (256 MB) is refused unless `force` is set. `on_event` receives
    every step of the search.

    With `against`, another sentence, the trace also says where the decision between the two
    translations is made (see `patching`); with `against_model`, a model of the same shape and
    vocabulary reads that sentence, or the same one.

    White space around the text is dropped. The text is read as one sentence, even where `translate`
    would divide it (from 257 tokens on).
    """
    model = single_network(translator)
    sentence = _prepare(translator, text, target, search, level, given)
    forced = check_prefix(translator, prefix)
    limit = _SizeLimit(model.config, sentence, force, MAX_BYTES if max_bytes is None else max_bytes)
    limit.check_source(translator.members[0].positions, max(1, len(forced)))
    output = _translate(translator, sentence, given, forced, on_event)
    limit.check(len(output.written))
    recording = record(model, sentence.source, output.written, level)
    trace = _build_trace(translator, sentence, output, recording, len(forced))
    if against is None and against_model is None:
        return trace
    from translucid.interpret.minimal_pairs import explain_against, measure_against

    second = explain_against(
        translator, trace, against, target=target, other=against_model, on_event=on_event
    )
    patching = measure_against(
        translator, trace, second, target=target, other=against_model, on_event=on_event
    )
    return replace(trace, patching=patching)


@dataclass(frozen=True)
class _Input:
    """A sentence, the part of it that the network reads, and how to translate and trace it.

    `after` is the text after that part, as `part.before` is the text before it.
    """

    text: str
    tag: Tokens
    part: Segment
    after: str
    settings: SearchConfig
    level: Level

    @property
    def tokens(self) -> Tokens:
        """The tokens of the sentence."""
        return self.part.tokens

    @property
    def source(self) -> Tokens:
        """What the encoder reads."""
        return (*self.tag, *self.tokens, EOS)


@dataclass(frozen=True)
class _Output:
    """A translation, and the search that found it.

    `written` is everything that was written, including the end symbol. `hypothesis` and `tree` are
    the search's, `rows` counts the rows of each of its steps; a given translation, or one that was
    forced to its end, is one row.
    """

    written: Tokens
    hypothesis: Hypothesis | None
    tree: SearchTree | None
    rows: tuple[int, ...]


def _prepare(
    translator: Translator,
    text: str,
    target: str | None,
    search: SearchConfig | None,
    level: Level,
    given: str | None,
) -> _Input:
    if level not in get_args(Level):
        raise InputError(f"level = {level!r}: must be one of {', '.join(get_args(Level))}")
    sentence = check_sentence("text", text)
    part, after = translator.read_whole(target, sentence)
    if isinstance(given, str) and not is_in_capitals(given):  # it is shown as it is given
        part = replace(part, protected=replace(part.protected, capitals=None))
    settings = search or translator.default_search
    return _Input(sentence, translator.tag(target, [sentence]), part, after, settings, level)


def check_sentence(name: str, text: str) -> str:
    """Return a text normalised and stripped; refuse a blank one or several lines."""
    if not isinstance(text, str):
        raise InputError(f"the {name} is {text!r}, {type(text).__name__}: give a string")
    line = nfc(text).strip()
    if not line:
        raise InputError(f"the {name} is blank, {text!r}: give a sentence")
    if "\n" in line:
        raise InputError(
            f"the {name} has {line.count(chr(10)) + 1} lines, and a trace shows one sentence: "
            "trace each line separately"
        )
    return line


def _translate(
    translator: Translator, sentence: _Input, given: str | None, forced: Tokens, emit: Emit
) -> _Output:
    """Search for the translation, unless it is given or forced to its end."""
    positions = translator.members[0].positions
    if given is None:
        done = bool(forced) and forced[-1] == EOS
        return (
            _take_whole(forced, positions) if done else _search(translator, sentence, forced, emit)
        )
    if forced:
        raise InputError(
            f"given = {given!r} is a whole translation, so its beginning cannot be forced as well "
            f"(prefix = {list(forced)}): leave one of them out"
        )
    line = check_sentence("given translation", given)
    core = line.removeprefix(sentence.part.before.strip()).removesuffix(sentence.after.strip())
    hidden = sentence.part.protected.hide_beginning(
        core.strip(), translator.target_tokenizer.encode
    )
    written = (*translator.target_tokenizer.encode(hidden), EOS)
    return _take_whole(written, positions)


def _search(translator: Translator, sentence: _Input, prefix: Tokens, emit: Emit) -> _Output:
    """Search on the served network, recording the tree and counting the rows."""
    recorder = Recorder()
    rows: list[int] = []
    searcher = translator.searcher(sentence.settings)
    request = DecoderInput(source=sentence.source, prefix=prefix, terms=())
    searcher.check_room(0, request)
    ((best, *_),) = translator.engines.pytorch.search(
        [request],
        searcher.options,
        recorder=recorder,
        wrap=lambda stepper: _RowCounter(stepper, rows, emit),
    )
    (tree,) = recorder.trees()
    return _Output((*best.tokens, EOS) if best.finished else best.tokens, best, tree, tuple(rows))


def _take_whole(written: Tokens, positions: int) -> _Output:
    """Take tokens as the whole translation, as if they had been written one after another."""
    if len(written) > positions:
        raise InputError(
            f"the given translation has {len(written)} tokens with its end symbol, and this "
            f"network can write at most {positions} (max_positions): shorten it"
        )
    return _Output(written, None, None, (1,) * len(written))


class _RowCounter:
    """Counts the rows of each step between search and network."""

    def __init__(self, stepper: Stepper, rows: list[int], emit: Emit) -> None:
        self._stepper, self._rows, self._emit = stepper, rows, emit

    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V)."""
        self._emit(Progress("search", len(self._rows), None, "steps"))
        self._rows.append(last_ids_N.numel())
        return self._stepper.step(last_ids_N)

    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order."""
        self._stepper.reorder(rows_N)

    @property
    def attention_NS(self) -> Tensor:  # noqa: N802
        """The attention of the newest step; only for steppers that have it."""
        assert isinstance(self._stepper, AttendingStepper)
        return self._stepper.attention_NS


@dataclass(frozen=True)
class _SizeLimit:
    """The limit of a trace's size."""

    config: ModelConfig
    sentence: _Input
    force: bool
    limit: int

    def check_source(self, positions: int, least: int) -> None:
        """Refuse a trace that is too large for any translation of at least `least` tokens."""
        length = len(self.sentence.source)
        if length > positions:
            raise InputError(
                f"the text has {length} tokens with its symbols, and this network can read "
                f"{positions} (max_positions): shorten it"
            )
        too_long = self.sentence.level == "full" and len(self.sentence.tokens) > MAX_SOURCE_TOKENS
        if not self.force and (too_long or self._bytes(least) > self.limit):
            size = self._bytes(max(length, least))
            raise self._refuse(size, f"about {_megabytes(size)}, if the translation is as long")

    def check(self, target: int) -> None:
        """Refuse a trace that is too large, given the length of the translation."""
        if not self.force and self._bytes(target) > self.limit:
            size = self._bytes(target)
            said = f"{_megabytes(size)}, with the {target} tokens of the translation"
            raise self._refuse(size, said)

    def _bytes(self, target: int) -> int:
        return trace_bytes(self.config, len(self.sentence.source), target, self.sentence.level)

    def _refuse(self, size: int, said: str) -> TraceTooLargeError:
        length, level = len(self.sentence.source), self.sentence.level
        light = trace_bytes(self.config, length, length, "light")
        instead = f"take the level 'light' (about {_megabytes(light)}), " if level == "full" else ""
        message = (
            f"a {level!r} trace of {length} source tokens would take {said}. Without force, a "
            f"trace may take {_megabytes(self.limit)}, and a full one may have "
            f"{MAX_SOURCE_TOKENS} source tokens: {instead}shorten the text, or insist (force=True; "
            "--force on the command line)"
        )
        return TraceTooLargeError(
            message, level=level, tokens=length, size=size, limit=self.limit, light=light
        )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


def _build_trace(
    translator: Translator, sentence: _Input, output: _Output, recording: Recording, forced: int
) -> Trace:
    """Build the trace; the first `forced` tokens are the prefix."""
    (member,) = translator.members
    hypothesis, tokenizer = output.hypothesis, translator.tokenizer
    written, translation = _written(output.written, sentence, tokenizer)
    log_prob = math.fsum(one.log_prob for one in recording.predictions)
    ending = "end" if hypothesis is None else hypothesis.ending
    source, steps = (
        _source_tokens(sentence, translator),
        tuple(_steps(written, recording, tokenizer)),
    )
    return Trace(
        version=VERSION,
        level=sentence.level,
        model_name=translator.name,
        model_hash=model_hash(translator),
        model=member.model.config,
        search=sentence.settings,
        origin="given" if hypothesis is None else "search",
        source=sentence.text,
        translation=translation,
        source_tokens=source,
        target_tokens=(TraceToken(BOS, tokenizer.piece(BOS), 0, 0), *written[:-1]),
        prefix_length=forced,
        steps=steps,
        tree=output.tree,
        flags=Flags(
            truncated=ending == "limit", unknown=UNK in sentence.source, looped=ending == "loop"
        ),
        log_prob=log_prob if hypothesis is None else hypothesis.log_prob,
        score=_score(member, sentence, recording) if hypothesis is None else hypothesis.score,
        alignment_heads=member.heads.heads,
        alignment_row=member.heads.row,
        cache=compute_cache_usage(
            member.model.config,
            len(sentence.source),
            output.rows,
            next(member.model.parameters()).element_size(),
        ),
        pieces=_pieces(source, steps, output.tree, tokenizer),
        patching=None,
        tensors=recording.tensors,
    )


def _score(member: Member, sentence: _Input, recording: Recording) -> float:
    """Return the score that the search would give to a given translation."""
    settings, predictions = sentence.settings, recording.predictions
    log_prob = math.fsum(one.log_prob for one in predictions)
    score = normalize_score(log_prob, len(predictions), settings)
    if settings.method not in ("beam", "diverse") or not settings.coverage_penalty:
        return score
    cross = [
        recording.tensors[f"decoder.{layer}.cross_attention.weights"][head]
        for layer, head in member.heads.heads
    ]
    looked_S = torch.stack(cross).mean(dim=0).sum(dim=0)
    return score + float(coverage_penalty(looked_S[None], settings))


def _pieces(
    source: Sequence[TraceToken],
    steps: Sequence[Step],
    tree: SearchTree | None,
    tokenizer: Tokenizer,
) -> dict[int, str]:
    """Return the piece of every token id in a trace, in the order of the ids."""
    ids = {BOS, *(token.id for token in source), *(step.token.id for step in steps)}
    ids.update(token.id for step in steps for token in step.top)
    if tree is not None:
        ids.update(node.token for node in tree.nodes)
    read = {token.id: token.piece for token in source}
    return {token: read.get(token) or tokenizer.piece(token) for token in sorted(ids)}


def _source_tokens(sentence: _Input, translator: Translator) -> tuple[TraceToken, ...]:
    """Return the tokens that the encoder read, with their characters in the sentence.

    A tag is spelled by the language that it stands for: "→ en", not "<tag0>".
    """
    tokenizer = translator.tokenizer
    languages = {tag: f"→ {language}" for language, tag in translator.generation.tags.items()}
    places = [sentence.part.start + place for place in sentence.part.protected.places]
    offsets = tokenizer.encode_with_offsets(sentence.part.text).offsets
    within = ((places[start], places[end]) for start, end in offsets)
    spans = [*((0, 0) for _ in sentence.tag), *within, (places[-1], places[-1])]
    return tuple(
        TraceToken(token, languages.get(token) or tokenizer.piece(token), *span)
        for token, span in zip(sentence.source, spans, strict=True)
    )


def _written(
    written: Tokens, sentence: _Input, tokenizer: Tokenizer
) -> tuple[tuple[TraceToken, ...], str]:
    """Return the written tokens, with the characters that each added, and the whole text.

    The characters are found by decoding one more token each time. The later bytes of a character
    add nothing, and share its span.
    """
    tokens: list[TraceToken] = []
    protected, first = sentence.part.protected, len(sentence.part.before)
    end = first
    for count, token in enumerate(written, start=1):
        before = end
        text = protected.restore_beginning(tokenizer.decode(written[:count]))
        end = max(before, first + len(text))
        start = end if token == EOS else min(before, max(first, end - 1))
        tokens.append(TraceToken(token, tokenizer.piece(token), start, end))
    text = protected.restore(tokenizer.decode(written))
    return tuple(tokens), sentence.part.before + text + sentence.after


def _steps(
    written: tuple[TraceToken, ...], recording: Recording, tokenizer: Tokenizer
) -> Iterator[Step]:
    for token, one in zip(written, recording.predictions, strict=True):
        top = tuple(TopToken(id_, tokenizer.piece(id_), value) for id_, value in one.top)
        yield Step(token, one.log_prob, one.rank, one.entropy, top)


def check_prefix(translator: Translator, prefix: Sequence[int]) -> Tokens:
    """Return the tokens of a prefix; refuse those that no translation can have.

    Tokens of text without line breaks are allowed, and the end symbol at the end.
    """
    tokenizer, size = translator.target_tokenizer, translator.target_tokenizer.vocab_size
    never = frozenset(translator.searcher().options.unwritable)
    for index, token in enumerate(prefix):
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < size:
            raise InputError(
                f"prefix[{index}] = {token!r} is no token: ids are whole numbers from 0 to "
                f"{size - 1}"
            )
        last = index == len(prefix) - 1
        if token in never or (token == EOS and not last):
            raise InputError(
                f"prefix[{index}] = {token} is {tokenizer.piece(token)!r}, which no translation "
                f"can have there: take tokens of text, ids {FIRST_PIECE} to {size - 1} without "
                f"line breaks; the end symbol, {EOS}, may come last"
            )
    return tuple(prefix)


def encode_prefix(translator: Translator, text: str) -> Tokens:
    """Return the tokens of a text that a translation should begin with."""
    line = nfc(text).strip()
    tokens = tuple(translator.target_tokenizer.encode(line))
    if "\n" in line or UNK in tokens:
        raise InputError(
            f"the prefix {line!r} cannot begin a translation: it has several lines, or characters "
            "that the model's vocabulary cannot spell"
        )
    return check_prefix(translator, tokens)
