"""Data augmentation: a sentence is read differently each time.

Subword sampling gives it another segmentation. A share of the source sentences is read as people
type them (lower case, no final mark, curly apostrophes) or without accents, with the same target; a
share of the pairs is read in capitals, or with a capital for every word, on both sides. Corpora are
written with care, and a network that has read nothing else fails on such text.

A sampled row may be longer than the stored one that its micro-batch was planned for. If the token
budget would be exceeded, the micro-batch is computed in several parts, each within the budget, its
rows grouped by their sampled lengths. A loss is a sum over tokens, so the gradient is that of the
whole, and the sequence of micro-batches, hence the cursor, stays the same. A row that exceeds the
budget by itself, or that is too long for the network, keeps its stored tokens, which always fit.

The price of subword sampling is speed: on everyday sentences at strength 0.1, most micro-batches
are computed in two parts and about a fifth of their tokens is padding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from translucid.data.batches import Batches, MicroBatch
from translucid.data.shards import Rows
from translucid.data.shuffle import LengthGroups, cut_into_batches, derive_seed
from translucid.text.normalization import plain_typography, strip_accents
from translucid.text.tokenizer import Tokenizer

# What a random number is for; `batches` uses 0 to 2.
_SAMPLING, _TYPING, _CASING, _ACCENTS = 3, 4, 5, 6
_SEEDS = 2**63  # the number of values of `derive_seed`


@dataclass(frozen=True)
class Sampling:
    """The tokenizers, the strength of subword sampling, and the shares of noise.

    `typed` sources are read as people type them and `accents` sources without accents; `casing`
    pairs in other case, two in three of them in capitals. With `plain_typography` no text has
    curly apostrophes, as the translator would replace them too.

    `tokenizer` is that of sources and `writer` that of targets, which may have fewer pieces.
    `longest` is the maximum length of a row for the network, special tokens included.
    """

    tokenizer: Tokenizer
    writer: Tokenizer
    strength: float
    longest: int
    typed: float = 0.0
    casing: float = 0.0
    accents: float = 0.0
    plain_typography: bool = False


def sample_rows(
    batch: MicroBatch, batches: Batches, sampling: Sampling
) -> Iterator[tuple[MicroBatch, Rows, Rows]]:
    """Yield a micro-batch with sampled tokens: in one part, or in several within the budget.

    A pure function of the arguments: a row's segmentation depends on (seed, epoch, batch, row).
    """
    sources = _sample_side(batch, batches, sampling, side=0)
    targets = _sample_side(batch, batches, sampling, side=1)
    tagged = batches.examples.tags[0] is not None
    source = np.array([len(row) for row in sources]) + 1 + tagged
    target = np.array([len(row) for row in targets]) + 1
    order = np.argsort(np.maximum(source, target), kind="stable")
    groups = LengthGroups(source[order], target[order], np.ones_like(order))
    ends = np.cumsum(cut_into_batches(groups, batches.max_tokens).rows)
    for piece in np.split(order, ends[:-1]):
        piece = np.sort(piece)
        part = replace(batch, pairs=batch.pairs[piece], directions=batch.directions[piece])
        yield (
            part,
            Rows.from_lists([sources[r] for r in piece]),
            Rows.from_lists([targets[r] for r in piece]),
        )


def _sample_side(
    batch: MicroBatch, batches: Batches, sampling: Sampling, *, side: int
) -> list[list[int]]:
    """Return the sampled tokens of every row on one side."""
    examples, tokenizer = batches.examples, sampling.writer if side else sampling.tokenizer
    longest = min(batches.max_tokens, sampling.longest)
    rows = []
    for row, (pair, direction) in enumerate(
        zip(batch.pairs.tolist(), batch.directions.tolist(), strict=True)
    ):
        lang = examples.directions[direction][side]
        place = (batch.index, row)
        split = examples.portion(direction).split
        written = split.text(lang, pair)
        text = _add_noise(written, side, sampling, (batches.seed, batch.epoch), place)
        tokens = stored = split.tokens(lang, pair).tolist()
        if sampling.strength:
            seed = derive_seed(batches.seed, batch.epoch, _SAMPLING, *place, side)
            tokens = tokenizer.sample(text, seed=seed, strength=sampling.strength)
        elif text != written:
            tokens = tokenizer.encode(text)
        specials = 2 if side == 0 and examples.tags[direction] is not None else 1
        rows.append(tokens if len(tokens) + specials <= longest else stored)
    return rows


def _add_noise(
    text: str, side: int, sampling: Sampling, epoch: tuple[int, int], place: tuple[int, int]
) -> str:
    """Return one side of a pair with noise; `place` is its batch and row."""

    def draw(purpose: int, share: float) -> int | None:
        """Return a random number if this row is chosen, None if not."""
        if not share:
            return None
        drawn = derive_seed(*epoch, purpose, *place)
        return drawn if drawn < share * _SEEDS else None

    if side == 0:
        if draw(_ACCENTS, sampling.accents) is not None:
            text = strip_accents(text)
        form = draw(_TYPING, sampling.typed)
        if form is not None:
            text = add_typing_noise(text, form % FORMS)
            text = plain_typography(text) if sampling.plain_typography else text
    case = draw(_CASING, sampling.casing)
    if case is None:
        return text
    return title_case(text) if case % 3 == 0 else upper_case(text)


FORMS = 7  # all combinations of three changes but none

_MARKS = ".!?…。！？"


def add_typing_noise(text: str, form: int) -> str:
    """Return a sentence as people type it, in one of seven forms.

    The bits of 1 + `form` choose: 1 lower case, 2 no mark at the end, 4 curly apostrophes.

    >>> [add_typing_noise("Où est l'eau ?", form) for form in (0, 1, 2, 6)]
    ["où est l'eau ?", "Où est l'eau", "où est l'eau", 'où est l’eau']

    A sentence of nothing but marks keeps them.
    """
    changes = 1 + form
    if changes & 1:
        text = text.lower()
    if changes & 2:
        text = _strip_final_marks(text) or text
    return text.replace("'", "’") if changes & 4 else text


_WORD_START = re.compile(r"(?<![\w'’-])[^\W\d_]")


def upper_case(text: str) -> str:
    """Return the text in capitals; placeholders are not letters."""
    return text.upper()


def title_case(text: str) -> str:
    """Return the text with a capital at the beginning of every word.

    >>> title_case("l'animal n'est pas là, Tom")
    "L'animal N'est Pas Là, Tom"
    """
    return _WORD_START.sub(lambda match: match[0].upper(), text)


def _strip_final_marks(text: str) -> str:
    """Return a text without its final marks and the white space around them."""
    if not text.endswith(tuple(_MARKS)):
        return text
    end = len(text)
    while end and (text[end - 1] in _MARKS or text[end - 1].isspace()):
        end -= 1
    return text[:end]
