"""One decision by several methods, beside each other: do they name the same tokens and heads?

Every value says how much the margin of the decision (see `patching`) drops in the first run:

* occlusion: with the embedding of a source token set to zero
* integrated gradients: along the path from a source of zeros
* ablation: with the encoder's final state of a token, or the output of a head, set to zero
* patching: with the same taken from the run of the other sentence

and attention says where the alignment heads look at that step. Only patching asks what makes the
*difference*: what both sentences need, and both have, is nothing to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from translucid.events import Emit, silent
from translucid.interpret.attribution import (
    alignment_attention,
    integrated_gradients,
    occlusion,
    spearman,
)
from translucid.interpret.decision import Decision
from translucid.interpret.minimal_pairs import explain_against
from translucid.interpret.network import all_heads, single_network
from translucid.interpret.patched_runs import Cell, Column
from translucid.interpret.patching import PatchablePair
from translucid.interpret.trace import Trace
from translucid.translator import Translator

_WIDTH = 22  # characters of a column of the table


@dataclass(frozen=True)
class MethodRow:
    """What each method says of one source token or one head."""

    name: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class DecisionTable:
    """One decision by several methods: the source tokens, then the heads.

    `correlations` are Spearman's rank correlations of the sizes that two methods give to the
    tokens (`token_correlations`) and to the heads; None where all sizes are the same.
    """

    decision: Decision
    tokens: tuple[MethodRow, ...]
    heads: tuple[MethodRow, ...]
    token_correlations: Mapping[tuple[str, str], float | None]
    head_correlations: Mapping[tuple[str, str], float | None]

    def __str__(self) -> str:
        """The table as text, with the correlations below it."""
        methods = list(self.tokens[0].values)
        lines = ["".join(name.rjust(_WIDTH) for name in ["", *methods])]
        for row in (*self.tokens, *self.heads):
            values = (f"{row.values[name]:.2f}" if name in row.values else "" for name in methods)
            lines.append("".join(cell.rjust(_WIDTH) for cell in (row.name, *values)).rstrip())
        for title, found in (
            ("tokens", self.token_correlations),
            ("heads", self.head_correlations),
        ):
            for (one, other), value in found.items():
                said = "unknown" if value is None else f"{value:.2f}"
                lines.append(f"rank correlation over {title}, {one} and {other}: {said}")
        return "\n".join(lines)


def compare_methods(
    translator: Translator,
    first: Trace,
    against: str,
    *,
    target: str | None = None,
    on_event: Emit = silent,
) -> DecisionTable:
    """Return what attention and four methods say of the decision between two sentences.

    `first` is the trace of the first sentence, `against` the other sentence.
    """
    second = explain_against(translator, first, against, target=target, on_event=on_event)
    pair = PatchablePair.of(translator, first, second)
    contrast = pair.contrast
    network = single_network(translator)
    last = network.config.encoder_layers
    states = [Cell("source", last, column) for column in range(len(pair.columns))]
    heads = [Cell(*head) for head in all_heads(network.config)]
    ablated, patched = (_drops(pair, [*states, *heads], zeros=zeros) for zeros in (True, False))
    attention_S = alignment_attention(first)[contrast.step]
    by_token = {
        "attention": attention_S.tolist(),
        "occlusion": occlusion(translator, first, contrast).values_TS[0].tolist(),
        "integrated gradients": (
            integrated_gradients(translator, first, contrast).values_TS[0].tolist()
        ),
        "ablation": _by_token(ablated[: len(states)], pair.columns),
        "patching": _by_token(patched[: len(states)], pair.columns),
    }
    by_head = {"ablation": ablated[len(states) :], "patching": patched[len(states) :]}
    return DecisionTable(
        decision=pair.decision(),
        tokens=_rows([token.piece for token in first.source_tokens], by_token),
        heads=_rows([str(cell) for cell in heads], by_head),
        token_correlations=_correlate(by_token),
        head_correlations=_correlate(by_head),
    )


def _drops(pair: PatchablePair, cells: Sequence[Cell], *, zeros: bool) -> list[float]:
    """Return how much the margin of the first run drops with each cell from the other run, or 0."""
    forward = pair.forward
    if zeros:
        own = tuple((column.first, column.first) for column in pair.columns)
        forward = replace(forward, other=forward.base.zeros(), pairs=own)
    margins = forward.margins([frozenset([cell]) for cell in cells])
    return [pair.margins[0] - margin for margin in margins.tolist()]


def _by_token(values: Sequence[float], columns: Sequence[Column]) -> list[float]:
    """Return the value of each token's column, for the tokens of the first sentence."""
    return [
        value for value, column in zip(values, columns, strict=True) for _ in range(*column.first)
    ]


def _rows(names: Sequence[str], values: Mapping[str, Sequence[float]]) -> tuple[MethodRow, ...]:
    return tuple(
        MethodRow(name, {method: column[number] for method, column in values.items()})
        for number, name in enumerate(names)
    )


def _correlate(values: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], float | None]:
    """Return the rank correlation of the sizes of every two methods."""
    sizes = {name: torch.tensor(column).abs() for name, column in values.items()}
    return {
        (one, other): spearman(sizes[one], sizes[other])
        for one, other in itertools.combinations(sizes, 2)
    }
