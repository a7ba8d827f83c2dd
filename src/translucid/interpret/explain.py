"""From a text to its trace: search for the translation, then record how the network came to it.

::

    text ─ tokens ─ search on the served network ─ the translation chosen ─ recording twin ─ Trace
                    (tree, rows of each step)      or one that was given    (every number)

The search is the one that `Translator.translate` makes, so the translation is the same, unless that
searches a second time for a better place of a span (`translator.searching`). It may be forced to
begin with some tokens. What the trace will take is known before anything is recorded, and
too much is refused.

Shapes: S source, T target, N rows under way, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from translucid.config import ModelConfig
from translucid.decoding.job import Tokens
from translucid.decoding.penalties import coverage_penalty, score_of
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import AttendingStepper, Hypothesis, Stepper
from translucid.decoding.tree import Recorder, SearchTree
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.interpret.cache_account import cache_account
from translucid.interpret.forced_prefix import forced_prefix
from translucid.interpret.model_hash import model_hash
from translucid.interpret.network import network_of
from translucid.interpret.recording import Recording, record
from translucid.interpret.tensor_shapes import Level, trace_bytes
from translucid.interpret.trace import VERSION, Step, TopToken, Trace, TraceToken
from translucid.text.normalization import nfc
from translucid.text.tokenizer import BOS, EOS, UNK, Tokenizer
from translucid.translator import Flags, Translator
from translucid.translator.member import Member
from translucid.translator.parts import Part
from translucid.translator.searching import Request
from translucid.translator.translator import MAX_SOURCE_TOKENS

MAX_BYTES = 256_000_000  # of a trace that nobody insists on


class TraceTooLargeError(InputError):
    """A trace of some source tokens that would take too much at this level.

    `bytes` is how much, as a guess or exactly, `limit` what is allowed, `light` about what a light
    one would take.
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
    emit: Emit = silent,
) -> Trace:
    """Translate one sentence and return everything that the network did.

    `target` is the language to translate into, as for `Translator.translate`. With `given`, that
    translation is looked at instead of one that is searched for. With `prefix`, the translation
    begins with these token ids, and the search finds the rest; a prefix that ends in the end symbol
    leaves it nothing to find. `level` is 'full', every number, or 'light': tokens, attention and
    the likeliest tokens of each step. A trace of more than `max_bytes` (256 MB) is refused, and its
    size told, unless `force` is set. `emit` is told of every step of the search.

    White space around the text is left out. The text is read as one sentence even where
    `translate` would divide it, which is from 257 tokens on.
    """
    model = network_of(translator)
    asked = _asked(translator, text, target, search, level)
    forced = forced_prefix(translator, prefix)
    room = _Room(model.config, asked, force, MAX_BYTES if max_bytes is None else max_bytes)
    room.check_source(translator.members[0].positions, max(1, len(forced)))
    found = _found(translator, asked, given, forced, emit)
    room.check(len(found.written))
    recording = record(model, asked.source, found.written, level)
    return _trace(translator, asked, found, recording, len(forced))


@dataclass(frozen=True)
class _Asked:
    """A sentence, what the network reads of it, and how it is to be translated and traced.

    `after` is what stands behind that part, as `part.before` stands before it.
    """

    sentence: str
    tag: Tokens
    part: Part
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
class _Found:
    """A translation, and how it came to be.

    `written` is all that was written, with the end symbol last if it was. `hypothesis` and `tree`
    are the search's, `rows` counts the rows of each of its steps; a given translation, or one that
    was forced to its end, is one row.
    """

    written: Tokens
    hypothesis: Hypothesis | None
    tree: SearchTree | None
    rows: tuple[int, ...]


def _asked(
    translator: Translator,
    text: str,
    target: str | None,
    search: SearchConfig | None,
    level: Level,
) -> _Asked:
    if level not in get_args(Level):
        raise InputError(f"level = {level!r}: must be one of {', '.join(get_args(Level))}")
    sentence = one_line("text", text)
    part, after = translator.read_whole(target, sentence)
    settings = search or translator.default_search
    return _Asked(sentence, translator.tag(target, [sentence]), part, after, settings, level)


def one_line(name: str, text: str) -> str:
    """Return a text normalised and without white space around it; it must be a single line."""
    if not isinstance(text, str):
        raise InputError(f"the {name} is {text!r}, {type(text).__name__}: give a string")
    line = nfc(text).strip()
    if not line:
        raise InputError(f"the {name} is blank, {text!r}: give a sentence")
    if "\n" in line:
        raise InputError(
            f"the {name} has {line.count(chr(10)) + 1} lines, and a trace shows one sentence: "
            "trace each line by itself"
        )
    return line


def _found(
    translator: Translator, asked: _Asked, given: str | None, forced: Tokens, emit: Emit
) -> _Found:
    """Search for the translation, unless it is given or forced to its end."""
    positions = translator.members[0].positions
    if given is None:
        done = bool(forced) and forced[-1] == EOS
        return _whole(forced, positions) if done else _search(translator, asked, forced, emit)
    if forced:
        raise InputError(
            f"given = {given!r} is a whole translation, so its beginning cannot be forced as well "
            f"(prefix = {list(forced)}): leave one of them out"
        )
    line = one_line("given translation", given)
    core = line.removeprefix(asked.part.before.strip()).removesuffix(asked.after.strip())
    hidden = asked.part.protected.hide_beginning(core.strip())
    written = (*translator.writer.encode(hidden), EOS)
    return _whole(written, positions)


def _search(translator: Translator, asked: _Asked, prefix: Tokens, emit: Emit) -> _Found:
    """Search on the served network, with a recorder of the tree and a counter of rows."""
    recorder = Recorder()
    rows: list[int] = []
    searcher = translator.searcher(asked.settings)
    request = Request(source=asked.source, prefix=prefix, terms=())
    searcher.check_room(0, request)
    ((best, *_),) = searcher.find(
        [request], recorder, lambda stepper: _RowCounter(stepper, rows, emit)
    )
    ended = len(best.log_probs) > len(best.tokens)
    (tree,) = recorder.trees()
    return _Found((*best.tokens, EOS) if ended else best.tokens, best, tree, tuple(rows))


def _whole(written: Tokens, positions: int) -> _Found:
    """Take tokens for the whole translation, as if they had been written one after another."""
    if len(written) > positions:
        raise InputError(
            f"the given translation has {len(written)} tokens with its end symbol, and this "
            f"network can write {positions} (max_positions): shorten it"
        )
    return _Found(written, None, None, (1,) * len(written))


class _RowCounter:
    """Stands between search and network, and counts the rows of each step."""

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
        """Where the newest step looked; asked for only where the stepper tells."""
        assert isinstance(self._stepper, AttendingStepper)
        return self._stepper.attention_NS


@dataclass(frozen=True)
class _Room:
    """Whether the trace of what was asked for may be made."""

    config: ModelConfig
    asked: _Asked
    force: bool
    limit: int

    def check_source(self, positions: int, least: int) -> None:
        """Refuse what is too large whatever the translation will be, before any work is done.

        The translation has `least` tokens or more.
        """
        length = len(self.asked.source)
        if length > positions:
            raise InputError(
                f"the text has {length} tokens with its symbols, and this network can read "
                f"{positions} (max_positions): shorten it"
            )
        too_long = self.asked.level == "full" and len(self.asked.tokens) > MAX_SOURCE_TOKENS
        if not self.force and (too_long or self._bytes(least) > self.limit):
            size = self._bytes(max(length, least))
            raise self._refusal(size, f"about {_megabytes(size)}, if the translation is as long")

    def check(self, target: int) -> None:
        """Refuse a trace that is too large, given the tokens of the translation."""
        if not self.force and self._bytes(target) > self.limit:
            size = self._bytes(target)
            said = f"{_megabytes(size)}, with the {target} tokens of the translation"
            raise self._refusal(size, said)

    def _bytes(self, target: int) -> int:
        return trace_bytes(self.config, len(self.asked.source), target, self.asked.level)

    def _refusal(self, size: int, said: str) -> TraceTooLargeError:
        length, level = len(self.asked.source), self.asked.level
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


def _trace(
    translator: Translator, asked: _Asked, found: _Found, recording: Recording, forced: int
) -> Trace:
    """Put together what was asked, found and recorded; so many tokens were forced."""
    (member,) = translator.members
    hypothesis, tokenizer = found.hypothesis, translator.tokenizer
    written, translation = _written(found.written, asked, tokenizer)
    log_prob = math.fsum(reading.log_prob for reading in recording.readings)
    ending = "end" if hypothesis is None else hypothesis.ending
    source, steps = _source_tokens(asked, tokenizer), tuple(_steps(written, recording, tokenizer))
    return Trace(
        version=VERSION,
        level=asked.level,
        model_name=translator.name,
        model_hash=model_hash(translator),
        model=member.model.config,
        search=asked.settings,
        origin="given" if hypothesis is None else "search",
        source=asked.sentence,
        translation=translation,
        source_tokens=source,
        target_tokens=(TraceToken(BOS, tokenizer.piece(BOS), 0, 0), *written[:-1]),
        prefix_length=forced,
        steps=steps,
        tree=found.tree,
        flags=Flags(
            truncated=ending == "limit", unknown=UNK in asked.source, looped=ending == "loop"
        ),
        log_prob=log_prob if hypothesis is None else hypothesis.log_prob,
        score=_score(member, asked, recording) if hypothesis is None else hypothesis.score,
        alignment_heads=member.heads.heads,
        alignment_row=member.heads.row,
        cache=cache_account(
            member.model.config,
            len(asked.source),
            found.rows,
            next(member.model.parameters()).element_size(),
        ),
        pieces=_pieces(source, steps, found.tree, tokenizer),
        tensors=recording.tensors,
    )


def _score(member: Member, asked: _Asked, recording: Recording) -> float:
    """Return what the search would have ranked a given translation by."""
    settings, readings = asked.settings, recording.readings
    log_prob = math.fsum(reading.log_prob for reading in readings)
    score = score_of(log_prob, len(readings), settings)
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
    """Return the piece of every token that a trace mentions, in the order of their ids."""
    ids = {BOS, *(token.id for token in source), *(step.token.id for step in steps)}
    ids.update(token.id for step in steps for token in step.top)
    if tree is not None:
        ids.update(node.token for node in tree.nodes)
    return {token: tokenizer.piece(token) for token in sorted(ids)}


def _source_tokens(asked: _Asked, tokenizer: Tokenizer) -> tuple[TraceToken, ...]:
    """Return what the encoder read, with the characters of the sentence that it stands for."""
    places = [asked.part.start + place for place in asked.part.protected.places]
    offsets = tokenizer.encode_with_offsets(asked.part.text).offsets
    within = ((places[start], places[end]) for start, end in offsets)
    spans = [*((0, 0) for _ in asked.tag), *within, (places[-1], places[-1])]
    return tuple(
        TraceToken(token, tokenizer.piece(token), *span)
        for token, span in zip(asked.source, spans, strict=True)
    )


def _written(
    written: Tokens, asked: _Asked, tokenizer: Tokenizer
) -> tuple[tuple[TraceToken, ...], str]:
    """Return what was written, with the characters that each token added; and the whole text.

    They are found by decoding one token more each time. The later bytes of a character add
    nothing, and share its span.
    """
    tokens: list[TraceToken] = []
    protected, first = asked.part.protected, len(asked.part.before)
    end = first
    for count, token in enumerate(written, start=1):
        before = end
        text = protected.restore_beginning(tokenizer.decode(written[:count]))
        end = max(before, first + len(text))
        start = end if token == EOS else min(before, max(first, end - 1))
        tokens.append(TraceToken(token, tokenizer.piece(token), start, end))
    text = protected.restore(tokenizer.decode(written))
    return tuple(tokens), asked.part.before + text + asked.after


def _steps(
    written: tuple[TraceToken, ...], recording: Recording, tokenizer: Tokenizer
) -> Iterator[Step]:
    for token, reading in zip(written, recording.readings, strict=True):
        top = tuple(TopToken(one, tokenizer.piece(one), value) for one, value in reading.top)
        yield Step(token, reading.log_prob, reading.rank, reading.entropy, top)
