"""Asking a search for the translations of a batch of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch

from translucid.decoding.ensemble import Ensemble
from translucid.decoding.job import Job, Tokens
from translucid.decoding.search import search
from translucid.decoding.settings import SearchConfig
from translucid.decoding.stepper import Hypothesis, Stepper
from translucid.decoding.terminology import tokens_missing
from translucid.decoding.tree import Recorder
from translucid.errors import InputError
from translucid.text.interface import BOS, EOS, FIRST_PIECE, Tokenizer
from translucid.translator.member import Member

Wrap: TypeAlias = Callable[[Stepper], Stepper]
Tell: TypeAlias = Callable[[int, list[Hypothesis]], None]


@dataclass(frozen=True)
class Request:
    """A part to be translated, and what the translation must begin with and have.

    `source` is what the network reads: the tag of a language, if it has tags, tokens, the end.
    """

    source: Tokens
    prefix: Tokens
    terms: tuple[Tokens, ...]


@dataclass(frozen=True)
class Searcher:
    """Searches for translations, by one network or by several together."""

    members: tuple[Member, ...]
    settings: SearchConfig
    forbidden: Tokens
    decode: Callable[[Tokens], str]

    @torch.inference_mode()
    def find(
        self,
        requests: Sequence[Request],
        recorder: Recorder | None,
        wrap: Wrap | None = None,
        tell: Tell | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first.

        A recorder takes down the search trees; `wrap` puts something between search and network;
        `tell` is told of a request's hypotheses as soon as they are certain (see `Job.tell`).
        """

        def start(copies: int) -> Stepper:
            stepper = self._start(requests, copies)
            return stepper if wrap is None else wrap(stepper)

        job = replace(self.job(requests), tell=tell)
        return search(start, job, self.settings, recorder)

    def without(self, tokens: Tokens) -> Searcher:
        """Return a searcher that writes none of these tokens either."""
        return replace(self, forbidden=(*self.forbidden, *tokens))

    def _start(self, requests: Sequence[Request], copies: int) -> Stepper:
        """Return the stepper of some requests, with so many rows each."""
        sources = [request.source for request in requests]
        attending = self.settings.coverage_penalty > 0
        steppers = [
            member.start(sources, copies=copies, attending=attending) for member in self.members
        ]
        return steppers[0] if len(steppers) == 1 else Ensemble(steppers)

    def job(self, requests: Sequence[Request]) -> Job:
        """Return what is asked of the search."""
        limits = [self._limit(request) for request in requests]
        return Job(
            limits_B=torch.tensor(limits, device=self.members[0].device),
            begin=BOS,
            end=EOS,
            prefixes=tuple(request.prefix for request in requests),
            terms=tuple(request.terms for request in requests),
            forbidden=self.forbidden,
            keys=tuple(map(key, requests)),
            decode=self.decode,
        )

    def check_room(self, text: int, request: Request) -> None:
        """Refuse a prefix or terms that do not fit; `text` is the number of the text, from 0."""
        room, terms = self._limit(request) - 1, tokens_missing(request.terms, request.prefix)
        if len(request.prefix) + terms > room:
            raise InputError(
                f"text {text + 1}: its prefix of {len(request.prefix)} tokens and its terms of "
                f"{terms} do not fit into a translation of at most {room}: shorten them, or raise "
                "max_length"
            )

    def _limit(self, request: Request) -> int:
        """Return the most tokens that the search may write, the end symbol counted."""
        longest = self.settings.max_length
        if longest is None:
            demanded = len(request.prefix) + sum(map(len, request.terms))
            longest = max(len(request.source) - 1, demanded) + self.settings.extra_length
        return min(longest + 1, *(member.positions for member in self.members))


def key(request: Request) -> int:
    """Return a number that depends on the request alone: what lots draw is the same in any batch.

    The same sentence, asked for twice with one seed, has the same samples.
    """
    content = repr((request.source, request.prefix, request.terms)).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def never_written(tokenizer: Tokenizer) -> Tokens:
    """Return the tokens that no translation has: symbols, and what would end a line of text.

    A network can write any byte; a line break among them would shift every later line of a file.
    """
    breaks = (
        token
        for token in range(FIRST_PIECE, tokenizer.vocab_size)
        if not {"\n", "\r"}.isdisjoint(tokenizer.decode([token]))
    )
    return (*(token for token in range(FIRST_PIECE) if token != EOS), *breaks)
