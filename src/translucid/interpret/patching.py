"""Activation patching: where in the network one decision is made.

Two runs read different sentences, and up to some step they write the same. There one writes `il`
and the other `elle`: the decision. Its margin is the difference of the two tokens' logits. Put an
activation of the second run into the first and see how far the margin moves towards the second::

                                     margin of the first run − margin of the patched run
    share of the flip  =  ─────────────────────────────────────────────────────────────────
                                  margin of the first run − margin of the second run

0: the decision does not depend on this activation. 1: this activation alone turns it round. Shares
need not add up to 1, because later layers see what earlier ones did. What can be patched is a
`Cell` (see `patched_runs`).

Each cell is patched in both directions. A share in one direction only is weak evidence: the
activation may merely be damaged by what does not belong there. The control, an activation from an
unrelated sentence, shows how much mere damage does.

All patched runs of a map are rows of one batch, each a sentence of its own.

Shapes: B patched runs, T target positions, H heads, L queries, M keys, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

import torch
from torch import Tensor

from translucid.config import ModelConfig
from translucid.decoding.candidates import argmax_tokens
from translucid.decoding.hypothesis import Tokens
from translucid.errors import InputError
from translucid.events import Emit, Progress, silent
from translucid.interpret.decision import Contrast, Decision, check_contrast, find_decision
from translucid.interpret.network import (
    all_heads,
    decode_part,
    single_network,
)
from translucid.interpret.patched_runs import (
    HEADS,
    Cell,
    Column,
    HeadRows,
    Part,
    Patch,
    PatchedBatch,
    Run,
    Span,
    align_tokens,
    compare_rows,
)
from translucid.interpret.trace import Trace, TraceToken
from translucid.text.tokenizer import EOS
from translucid.translator import Translator

DISAGREEMENT = 0.2  # of the flip, between the two directions
REWRITTEN = 0.05  # of the flip; of cells with less in a direction, nothing is written anew
LEAST_DIFFERENCE = 0.01  # of the two margins; with less there is nothing to share out
_MAX_VALUES = 1 << 24  # of one layer of one batch of patched runs

T = TypeVar("T")


@dataclass(frozen=True)
class CellShare:
    """The share of the flip that patching one cell makes.

    `forward`: an activation of the second run in the first; `backward`: the other way round.
    `controls` are the same with an activation of an unrelated sentence, None without one.
    `translations` are what the two patched runs write, each greedily from the decision on; None
    where the cell moves less than a twentieth of the flip.
    """

    cell: Cell
    forward: float
    backward: float
    controls: tuple[float, float] | None
    agrees: bool
    translations: tuple[str | None, str | None]

    @property
    def share(self) -> float:
        """The mean of both directions."""
        return (self.forward + self.backward) / 2


@dataclass(frozen=True)
class Everything:
    """The share of the flip with all cells of some parts patched: 1, up to rounding.

    With two models, `source` need not be 1: what reads these states still belongs to one of them.
    """

    source: tuple[float, float]
    heads: tuple[float, float]
    target: tuple[float, float]


@dataclass(frozen=True)
class Patching:
    """Where the decision between two runs is made: the share of every cell.

    The first run is that of the trace that holds this. `second`, `second_translation` and
    `second_tokens` are the other's. `models` are the names of the two models.
    """

    first: str
    second: str
    first_translation: str
    second_translation: str
    first_tokens: tuple[TraceToken, ...]
    second_tokens: tuple[TraceToken, ...]
    target_tokens: tuple[TraceToken, ...]
    models: tuple[str, str]
    columns: tuple[Column, ...]
    decision: Decision
    control: str | None
    cells: tuple[CellShare, ...]
    rows: tuple[HeadRows, ...]
    everything: Everything

    def part(self, *parts: Part) -> tuple[CellShare, ...]:
        """Return the cells of some parts, the largest share of the flip first."""
        chosen = [one for one in self.cells if one.cell.part in parts]
        return tuple(sorted(chosen, key=lambda one: -one.share))


@dataclass(frozen=True)
class PatchedRun:
    """What one run does with some cells patched: its margin, its share and what it writes."""

    margin: float
    share: float
    translation: str


# ---- measuring ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Direction:
    """Patches from one run into another, and what they do to a decision."""

    translator: Translator
    trace: Trace
    base: Run
    other: Run
    pairs: tuple[tuple[Span, Span], ...]
    contrast: Contrast

    @torch.inference_mode()
    def margins(self, patches: Sequence[Patch]) -> Tensor:
        """Return the margin of each patched run, (B,) in float64."""
        return torch.cat(
            [self._margin(batch.next_logits(batch.read())) for batch in self._batches(patches)]
        )

    def _margin(self, logits_BV: Tensor) -> Tensor:
        logits_BV = logits_BV.double().cpu()
        return logits_BV[:, self.contrast.first] - logits_BV[:, self.contrast.second]

    @torch.inference_mode()
    def write(self, patches: Sequence[Patch]) -> tuple[str, ...]:
        """Return what each patched run writes, greedily from the decision on."""
        return tuple(text for batch in self._batches(patches) for text in self._write(batch))

    def _write(self, batch: PatchedBatch) -> list[str]:
        read_BT = batch.read()
        limit = min(
            self.translator.members[0].positions, read_BT.size(1) + len(self.base.source) + 50
        )
        forbidden = torch.tensor(
            self.translator.searcher().options.unwritable, dtype=torch.int64, device=read_BT.device
        )
        ended_B = torch.zeros(read_BT.size(0), dtype=torch.bool, device=read_BT.device)
        while not ended_B.all() and read_BT.size(1) < limit:
            logits_BV = batch.next_logits(read_BT).index_fill(1, forbidden, -math.inf)
            next_B = argmax_tokens(logits_BV).where(~ended_B, EOS)
            ended_B = ended_B | (next_B == EOS)
            read_BT = torch.cat([read_BT, next_B[:, None]], dim=1)
        rows = [row[1:] for row in read_BT.tolist()]
        return [
            decode_part(
                self.translator, self.trace, tuple(row[: row.index(EOS)] if EOS in row else row)
            )
            for row in rows
        ]

    def _batches(self, patches: Sequence[Patch]) -> Iterator[PatchedBatch]:
        config = self.base.model.config
        length = max(len(self.base.source), len(self.other.source), len(self.base.read))
        size = max(1, _MAX_VALUES // (length * max(config.d_model, config.d_ff)))
        for begin in range(0, len(patches), size):
            yield PatchedBatch(self.base, self.other, self.pairs, patches[begin : begin + size])


@dataclass(frozen=True)
class PatchablePair:
    """Two runs that part at a decision, and how each is patched from the other.

    `translators` and `traces` are those of the two runs; `forward` patches the second run into the
    first.
    """

    translators: tuple[Translator, Translator]
    traces: tuple[Trace, Trace]
    columns: tuple[Column, ...]
    contrast: Contrast
    forward: Direction
    backward: Direction

    @classmethod
    def of(
        cls,
        translator: Translator,
        first: Trace,
        second: Trace,
        *,
        other: Translator | None = None,
        contrast: Contrast | None = None,
    ) -> PatchablePair:
        """Record two runs up to their decision; `other` is the model of the second, if another."""
        translators = translator, other or translator
        check_models(*translators)
        chosen = (
            find_decision(first, second)
            if contrast is None
            else check_contrast(translator, contrast, first, second)
        )
        prefix = tuple(step.token.id for step in first.steps[: chosen.step])
        sources = [tuple(token.id for token in one.source_tokens) for one in (first, second)]
        runs = [
            Run.record(single_network(one), source, prefix)
            for one, source in zip(translators, sources, strict=True)
        ]
        columns = align_tokens(*sources)
        there = tuple((column.first, column.second) for column in columns)
        back = tuple((column.second, column.first) for column in columns)
        return cls(
            translators,
            (first, second),
            columns,
            chosen,
            Direction(translators[0], first, runs[0], runs[1], there, chosen),
            Direction(translators[1], second, runs[1], runs[0], back, chosen),
        )

    @cached_property
    def margins(self) -> tuple[float, float]:
        """The margin of each run; refused where they are the same."""
        first, second = (
            float(one.margins([frozenset()])[0]) for one in (self.forward, self.backward)
        )
        if abs(first - second) < LEAST_DIFFERENCE:
            one, other = (self.translators[0].target_tokenizer.piece(t) for t in self.contrast[1:])
            raise InputError(
                f"the margin of {one!r} over {other!r} is {first:.3f} in both runs, so there is no "
                "flip to share out: choose other tokens, another step or another sentence"
            )
        return first, second

    def decision(self) -> Decision:
        """Return what is decided between the two runs."""
        piece = self.translators[0].target_tokenizer.piece
        pieces = piece(self.contrast.first), piece(self.contrast.second)
        return Decision(*self.contrast, pieces=pieces, margins=self.margins)

    def shares(self, patches: Sequence[Patch]) -> tuple[Tensor, Tensor]:
        """Return the share of the flip that each patch makes, in both directions."""
        first, second = self.margins
        return (
            (first - self.forward.margins(patches)) / (first - second),
            (second - self.backward.margins(patches)) / (second - first),
        )

    def control_shares(
        self, control: Tokens, patches: Sequence[Patch]
    ) -> Sequence[tuple[float, float]]:
        """Return the share that each patch makes from an unrelated sentence, in both directions.

        `control` is what the encoder reads of it; the decoder reads what it does in the two runs.
        """
        first, second = self.margins
        shares = []
        for direction, (own, theirs) in (
            (self.forward, (first, second)),
            (self.backward, (second, first)),
        ):
            base = direction.base
            run = Run.record(base.model, control, base.read[1:]).stretch_to(len(base.source))
            pairs = tuple((span, span) for span, _ in direction.pairs)
            margins = replace(direction, other=run, pairs=pairs).margins(patches)
            shares.append((own - margins) / (own - theirs))
        return list(zip(*(share.tolist() for share in shares), strict=True))


def check_models(first: Translator, second: Translator) -> None:
    """Refuse two models whose activations cannot stand for each other."""
    configs = [single_network(one).config for one in (first, second)]
    names = ("encoder_layers", "decoder_layers", "d_model", "heads", "d_v")
    wrong = [
        f"{name} {getattr(configs[0], name)} and {getattr(configs[1], name)}"
        for name in names
        if getattr(configs[0], name) != getattr(configs[1], name)
    ]
    if first.tokenizer.fingerprint != second.tokenizer.fingerprint:
        wrong.append("other vocabularies")
    if wrong:
        raise InputError(
            f"{first.name} and {second.name} cannot be patched into each other, they have "
            f"{', '.join(wrong)}: take two models of one shape and one vocabulary, such as two "
            "checkpoints of a run"
        )


def measure_patching(
    translator: Translator,
    first: Trace,
    second: Trace,
    *,
    other: Translator | None = None,
    contrast: Contrast | None = None,
    control: Trace | None = None,
    on_event: Emit = silent,
) -> Patching:
    """Patch every cell of two runs in both directions, and say how much of the flip it makes.

    The decision is where the two translations part, unless another `contrast` is given. `other` is
    the model of the second trace where that is not the first's; `control` is a trace of any
    unrelated sentence.
    """
    pair = PatchablePair.of(translator, first, second, other=other, contrast=contrast)
    cells = all_cells(single_network(translator).config, pair.columns, len(pair.forward.base.read))
    patches = [frozenset([cell]) for cell in cells]
    jobs = _Jobs(on_event, 5 if control is not None else 4)
    forward, backward = (one.tolist() for one in jobs.did(lambda: pair.shares(patches)))
    there = jobs.did(lambda: _rewrite(pair.forward, patches, forward))
    back = jobs.did(lambda: _rewrite(pair.backward, patches, backward))
    everything = jobs.did(lambda: _everything(pair, cells))
    controls: Sequence[tuple[float, float] | None] = [None] * len(cells)
    if control is not None:
        ids = tuple(token.id for token in control.source_tokens)
        controls = jobs.did(lambda: pair.control_shares(ids, patches))
    return Patching(
        first=first.source,
        second=second.source,
        first_translation=first.translation,
        second_translation=second.translation,
        first_tokens=first.source_tokens,
        second_tokens=second.source_tokens,
        target_tokens=first.target_tokens[: pair.contrast.step + 1],
        models=(pair.translators[0].name, pair.translators[1].name),
        columns=pair.columns,
        decision=pair.decision(),
        control=None if control is None else control.source,
        cells=tuple(
            CellShare(cell, one, two, alone, abs(one - two) <= DISAGREEMENT, written)
            for cell, one, two, alone, written in zip(
                cells, forward, backward, controls, zip(there, back, strict=True), strict=True
            )
        ),
        rows=tuple(compare_rows((pair.forward.base, pair.backward.base), pair.columns)),
        everything=everything,
    )


def _rewrite(
    direction: Direction, patches: Sequence[Patch], shares: Sequence[float]
) -> list[str | None]:
    """Return what the patched runs write whose decision moves."""
    moved = [at for at, share in enumerate(shares) if abs(share) >= REWRITTEN]
    written = dict(zip(moved, direction.write([patches[at] for at in moved]), strict=True))
    return [written.get(at) for at in range(len(patches))]


def apply_patch(pair: PatchablePair, cells: Iterable[Cell]) -> tuple[PatchedRun, PatchedRun]:
    """Patch some cells together, in each direction; return the margins and what is written then."""
    patch = check_cells(cells, pair)
    shares = pair.shares([patch])
    return cast(
        "tuple[PatchedRun, PatchedRun]",
        tuple(
            PatchedRun(float(one.margins([patch])[0]), float(share), one.write([patch])[0])
            for one, share in zip((pair.forward, pair.backward), shares, strict=True)
        ),
    )


def all_cells(config: ModelConfig, columns: Sequence[Column], positions: int) -> tuple[Cell, ...]:
    """Return everything that can be patched, part by part."""
    return (
        *(
            Cell("source", layer, column)
            for layer in range(config.encoder_layers + 1)
            for column in range(len(columns))
        ),
        *(Cell(*head) for head in all_heads(config)),
        *(
            Cell("target", layer, position)
            for layer in range(1, config.decoder_layers + 1)
            for position in range(positions)
        ),
    )


def check_cells(cells: Iterable[Cell], pair: PatchablePair) -> Patch:
    """Return the cells without repetitions; refuse those that the two runs do not have."""
    config, read = single_network(pair.translators[0]).config, len(pair.forward.base.read)
    chosen, known = frozenset(cells), all_cells(config, pair.columns, read)
    if unknown := sorted(chosen.difference(known)):
        raise InputError(
            f"no such cell: {', '.join(f'{c.part} {c.layer}.{c.index}' for c in unknown)} (part, "
            f"layer and index, from 0). source has layers 0 to {config.encoder_layers} of "
            f"{len(pair.columns)} columns, target layers 1 to {config.decoder_layers} of {read} "
            f"positions; encoder, decoder and cross have {config.encoder_layers}, "
            f"{config.decoder_layers} and {config.decoder_layers} layers of {config.heads} heads"
        )
    return chosen


def _everything(pair: PatchablePair, cells: Sequence[Cell]) -> Everything:
    groups: tuple[tuple[Part, ...], ...] = (("source",), HEADS, ("target",))
    patches = [frozenset(cell for cell in cells if cell.part in parts) for parts in groups]
    forward, backward = pair.shares(patches)
    source, heads, target = zip(forward.tolist(), backward.tolist(), strict=True)
    return Everything(source, heads, target)


class _Jobs:
    """Reports how many of the parts of a measurement are done."""

    def __init__(self, emit: Emit, count: int) -> None:
        self._emit, self._count, self._done = emit, count, 0

    def did(self, job: Callable[[], T]) -> T:
        """Do one part, then report it."""
        result = job()
        self._done += 1
        self._emit(Progress("patching", self._done, self._count, "parts"))
        return result
