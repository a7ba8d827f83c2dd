"""What to search for: one request per batch of sources.

Shapes: B sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.decoding.hypothesis import Hypothesis, Tokens
from translucid.errors import InputError


@dataclass(frozen=True)
class OnceOnly:
    """Tokens that a translation must have exactly once if its source has them, and else never.

    `wanted` lists those of each source. `pairs` are opening and closing tokens, which must nest:
    the one opened last is closed first.
    """

    tokens: Tokens
    pairs: tuple[tuple[int, int], ...]
    wanted: tuple[Tokens, ...]


@dataclass(frozen=True)
class SearchRequest:
    """The longest each translation may be, its start and end symbols, and what it must contain.

    `limits_B` counts tokens including the end symbol. `prefixes` has, for each source, the tokens
    that its translation must begin with (even forbidden ones), and `terms` the token sequences that
    must occur in it; both may be empty. `forbidden` tokens are never written.

    `keys` are for sampling: one number per source that, with the seed, decides its random numbers.
    It should not depend on the batch; without keys it is the number of the source in the batch.
    `decode` returns the text of tokens, for searches that compare texts. `on_finished` is called
    with the number of a source and its hypotheses as soon as these are certain, which may be long
    before the batch ends; greedy and beam searches do so.
    """

    limits_B: Tensor
    begin: int
    end: int
    prefixes: tuple[Tokens, ...]
    terms: tuple[tuple[Tokens, ...], ...]
    forbidden: Tokens
    keys: tuple[int, ...] = ()
    decode: Callable[[Tokens], str] | None = None
    on_finished: Callable[[int, list[Hypothesis]], None] | None = None
    once: OnceOnly | None = None

    def __post_init__(self) -> None:
        faults = list(_find_faults(self))
        if faults:
            raise InputError(
                "\n".join(["this search cannot be done:", *(f"  - {f}" for f in faults)])
            )

    @classmethod
    def plain(cls, limits_B: Tensor, *, begin: int, end: int) -> SearchRequest:
        """Return a request with limits of length and nothing else."""
        nothing = ((),) * limits_B.numel()
        return cls(limits_B, begin, end, prefixes=nothing, terms=nothing, forbidden=())

    @property
    def sources(self) -> int:
        """Number of sources B."""
        return self.limits_B.numel()


def _find_faults(request: SearchRequest) -> Iterator[str]:
    """Yield one sentence for each thing that makes a request impossible."""
    limits_B = request.limits_B
    if limits_B.dim() != 1 or limits_B.dtype != torch.int64:
        yield (
            f"limits of length have the shape {tuple(limits_B.shape)} and the type "
            f"{limits_B.dtype}: they must be a vector of int64"
        )
        return
    if request.sources == 0 or int(limits_B.min()) < 1:
        yield (
            f"limits of length {limits_B.tolist()}: at least one source is needed, and a limit of "
            "at least 1 for each"
        )
    for name, values in (
        ("prefixes", request.prefixes),
        ("terms", request.terms),
        *([("tokens wanted once", request.once.wanted)] if request.once else []),
    ):
        if len(values) != request.sources:
            given = f"{len(values)} {name} for {request.sources} sources"
            yield f"{given}: give one per source, even if empty"
    if request.keys and len(request.keys) != request.sources:
        given = f"{len(request.keys)} keys for {request.sources} sources"
        yield f"{given}: give one per source, or none at all"
    if request.end in request.forbidden:
        yield f"the end symbol {request.end} is among the forbidden tokens {request.forbidden}"
    limits = limits_B.tolist()
    for source, (prefix, limit) in enumerate(zip(request.prefixes, limits, strict=False)):
        if len(prefix) >= limit:
            yield (
                f"the prefix of source {source} has {len(prefix)} tokens, and with the end symbol "
                f"at most {limit} fit: shorten it, or raise the limit"
            )
        if request.end in prefix:
            yield f"the prefix of source {source} has the end symbol {request.end} in it"
    never = {request.begin, request.end, *request.forbidden}
    for source, terms in enumerate(request.terms):
        for term in terms:
            if not term:
                yield f"a term of source {source} is empty: leave it out"
            if wrong := sorted(never.intersection(term)):
                yield (
                    f"the term {term} of source {source} has tokens that no translation may have: "
                    f"{wrong}"
                )
