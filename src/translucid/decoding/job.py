"""What is asked of a search: one job for a batch of sources.

Shapes: B sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.decoding.stepper import Hypothesis
from translucid.errors import InputError

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class OnceOnly:
    """Tokens that a translation has exactly once where its source has them, else never.

    `wanted` holds for each source those that it has. `pairs` are tokens that open and close: what
    is opened last is closed first.
    """

    tokens: Tokens
    pairs: tuple[tuple[int, int], ...]
    wanted: tuple[Tokens, ...]


@dataclass(frozen=True)
class Job:
    """How long each translation may get, the symbols around it, and what must or may not be in it.

    `limits_B` counts tokens, the end symbol among them. `prefixes` holds for each source the tokens
    that its translation must begin with (even forbidden ones), `terms` for each source the token
    sequences that must occur in it; both may be empty for any source. `forbidden` are tokens that
    no translation may have, `once` those of which each source demands its own.

    `keys` are for searches that draw lots: a number for each source, the same whatever batch it is
    in (such as its number in the whole file), that decides with the seed what is drawn for it;
    without keys, its number in this batch. `decode` is for searches that compare texts: it returns
    the text of tokens. `tell` is called with the number of a source and its hypotheses as soon as
    these are certain, which may be long before the batch ends; greedy and beam searches do so.
    """

    limits_B: Tensor
    begin: int
    end: int
    prefixes: tuple[Tokens, ...]
    terms: tuple[tuple[Tokens, ...], ...]
    forbidden: Tokens
    keys: tuple[int, ...] = ()
    decode: Callable[[Tokens], str] | None = None
    tell: Callable[[int, list[Hypothesis]], None] | None = None
    once: OnceOnly | None = None

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise InputError(
                "\n".join(["this search cannot be done:", *(f"  - {f}" for f in faults)])
            )

    @classmethod
    def plain(cls, limits_B: Tensor, *, begin: int, end: int) -> Job:
        """Return a job that has limits of length only."""
        nothing = ((),) * limits_B.numel()
        return cls(limits_B, begin, end, prefixes=nothing, terms=nothing, forbidden=())

    @property
    def sources(self) -> int:
        """Number of sources B."""
        return self.limits_B.numel()


def _faults(job: Job) -> Iterator[str]:
    """Say in a sentence each what makes a job impossible."""
    limits_B = job.limits_B
    if limits_B.dim() != 1 or limits_B.dtype != torch.int64:
        yield (
            f"limits of length have the shape {tuple(limits_B.shape)} and the type "
            f"{limits_B.dtype}: they must be a vector of int64"
        )
        return
    if job.sources == 0 or int(limits_B.min()) < 1:
        yield f"limits of length {limits_B.tolist()}: there must be a row, and a token for each"
    for name, values in (
        ("prefixes", job.prefixes),
        ("terms", job.terms),
        *([("tokens wanted once", job.once.wanted)] if job.once else []),
    ):
        if len(values) != job.sources:
            given = f"{len(values)} {name} for {job.sources} sources"
            yield f"{given}: give one per source, even if empty"
    if job.keys and len(job.keys) != job.sources:
        yield f"{len(job.keys)} keys for {job.sources} sources: give one per source, or none at all"
    if job.end in job.forbidden:
        yield f"the end symbol {job.end} is among the forbidden tokens {job.forbidden}"
    limits = limits_B.tolist()
    for source, (prefix, limit) in enumerate(zip(job.prefixes, limits, strict=False)):
        if len(prefix) >= limit:
            yield (
                f"the prefix of source {source} has {len(prefix)} tokens, and with the end symbol "
                f"at most {limit} fit: shorten it, or raise the limit"
            )
        if job.end in prefix:
            yield f"the prefix of source {source} has the end symbol {job.end} in it"
    never = {job.begin, job.end, *job.forbidden}
    for source, terms in enumerate(job.terms):
        for term in terms:
            if not term:
                yield f"a term of source {source} is empty: leave it out"
            if wrong := sorted(never.intersection(term)):
                yield (
                    f"the term {term} of source {source} has tokens that no translation may have: "
                    f"{wrong}"
                )
