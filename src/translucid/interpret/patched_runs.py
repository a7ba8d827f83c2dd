"""Runs with activations of another run put into them, many in one batch.

A run is one sentence read by the network, with the beginning of its translation. What can be taken
from another run is a `Cell`::

    source    the encoder's states of one column after a layer (layer 0: what enters the first)
    encoder   one head's output before W^O, at all positions that the sentences share
    decoder   the same of the decoder's own attention, at every position of the beginning
    cross     the same of the attention to the source
    target    the decoder's state of one position after a layer

A column is a source token and its partner in the other sentence. Where one sentence has more
tokens than the other, the tokens between two partners are one column, and taking it changes the
length of the sentence. So to take all states of the source is to read the other sentence.

Shapes: B patched runs, S source and T target positions, D d_model, H heads, L queries, M keys,
K size of a key, U size of a value in one head, V vocabulary, N values.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from translucid.decoding.hypothesis import Tokens
from translucid.errors import InputError
from translucid.interpret.network import named_attentions
from translucid.interpret.recording import record
from translucid.model import Transformer
from translucid.model.attention import Kernel
from translucid.model.masks import additive
from translucid.model.transformer import share_weights
from translucid.text.tokenizer import BOS, EOS

Part = Literal["source", "encoder", "decoder", "cross", "target"]
PARTS: tuple[Part, ...] = get_args(Part)
HEADS: tuple[Part, ...] = ("encoder", "decoder", "cross")

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, order=True)
class Cell:
    """A part of the network that can be patched; layers and indices are counted from 0.

    Of states, `layer` is the number of layers behind them, so that layer 0 is what enters the
    first. `index` is a column of the source, a head, or a position of the target.
    """

    part: Part
    layer: int
    index: int

    def __str__(self) -> str:
        """Name the cell as people count: layers, heads and positions from 1."""
        layer = self.layer if self.part in ("source", "target") else self.layer + 1
        return f"{self.part} {layer}.{self.index + 1}"

    @classmethod
    def parse(cls, name: str) -> Cell:
        """Return the cell of a name.

        >>> Cell.parse("cross 4.2")
        Cell(part='cross', layer=3, index=1)
        """
        found = re.fullmatch(r"(\w+)[ :]+(\d{1,9})\.(\d{1,9})", name.strip())
        part = next((part for part in PARTS if found and part == found[1]), None)
        if found is None or part is None:
            raise InputError(
                f"no cell is called {name!r}: give {', '.join(PARTS)} with a layer and a head, "
                "token or position, all from 1, such as 'cross 4.2'; the layer 0 of the source is "
                "what enters the first"
            )
        layer = int(found[2]) - (part not in ("source", "target"))
        return cls(part, layer, int(found[3]) - 1)


Patch: TypeAlias = frozenset[Cell]


@dataclass(frozen=True)
class Column:
    """Source tokens [begin, end) of the first sentence, and those that stand for them in the other.

    `differs`: they are not the same.
    """

    first: Span
    second: Span
    differs: bool


def align_tokens(first: Sequence[int], second: Sequence[int]) -> tuple[Column, ...]:
    """Return the columns of two sentences: equal tokens, and what stands between them.

    >>> [(c.first, c.second) for c in align_tokens([7, 8, 9], [7, 5, 6, 9]) if c.differs]
    [((1, 2), (1, 3))]
    """
    columns = []
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if b - a == d - c:
            pairs = zip(range(a, b), range(c, d), strict=True)
            columns += [Column((i, i + 1), (k, k + 1), kind != "equal") for i, k in pairs]
        else:
            columns.append(Column((a, b), (c, d), differs=True))
    return tuple(columns)


@dataclass(frozen=True)
class Run:
    """One run up to the decision, with everything that can be patched from it.

    `states` are N+1 tensors (S, D), `targets` likewise (T, D); `heads` are (H, L, U) of each
    attention, `weights` (H, L, M).
    """

    model: Transformer
    source: Tokens
    read: Tokens
    states: tuple[Tensor, ...]
    targets: tuple[Tensor, ...]
    heads: Mapping[tuple[str, int], Tensor]
    weights: Mapping[tuple[str, int], Tensor]

    @classmethod
    def record(cls, model: Transformer, source: Tokens, prefix: Tokens) -> Run:
        """Let a network read a source and the beginning of its translation."""
        tensors = record(model, source, (*prefix, EOS), "full").tensors
        config, place = model.config, next(model.parameters())

        def stack(side: str, name: str, layers: int) -> tuple[Tensor, ...]:
            names = [f"{side}.sum", *(f"{name}.{layer}.output" for layer in range(layers))]
            return tuple(tensors[one].to(place) for one in names)

        def attentions(what: str) -> dict[tuple[str, int], Tensor]:
            stems = {"encoder": "encoder.{}.self_attention", "decoder": "decoder.{}.self_attention",
                     "cross": "decoder.{}.cross_attention"}  # fmt: skip
            return {
                (side, layer): tensors[f"{stems[side].format(layer)}.{what}"].to(place)
                for side, layer, _ in named_attentions(model)
            }

        return cls(
            model,
            source,
            (BOS, *prefix),
            stack("source", "encoder", config.encoder_layers),
            stack("target", "decoder", config.decoder_layers),
            attentions("heads"),
            attentions("weights"),
        )

    def stretch_to(self, length: int) -> Run:
        """Return the run as if it had another number of source positions, each taken from nearby.

        Of a control, which has no partners, the first position stands for the first, the last for
        the last, and the others for those in proportion.
        """
        last = max(1, length - 1)
        places = torch.tensor(
            [round(at * (len(self.source) - 1) / last) for at in range(length)],
            device=self.states[0].device,
        )
        return Run(
            self.model,
            tuple(self.source[at] for at in places.tolist()),
            self.read,
            tuple(state_SD[places] for state_SD in self.states),
            self.targets,
            {
                (side, layer): heads_HLU[:, places] if side == "encoder" else heads_HLU
                for (side, layer), heads_HLU in self.heads.items()
            },
            self.weights,
        )

    def zeros(self) -> Run:
        """Return the run with zeros for all that can be patched: to take those is to ablate."""
        return replace(
            self,
            states=tuple(torch.zeros_like(state_SD) for state_SD in self.states),
            targets=tuple(torch.zeros_like(state_TD) for state_TD in self.targets),
            heads={name: torch.zeros_like(heads_HLU) for name, heads_HLU in self.heads.items()},
        )


@dataclass(frozen=True)
class _PatchedKernel:
    """Attention in which some outputs of heads come from another run."""

    kernel: Kernel
    places: tuple[Tensor, Tensor, Tensor]
    values_NU: Tensor

    def __call__(
        self, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMU: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor | None]:
        output_BHLU, weights_BHLM = self.kernel(q_BHLK, k_BHMK, v_BHMU, mask, dropout)
        return output_BHLU.index_put(self.places, self.values_NU), weights_BHLM


class PatchedBatch:
    """Many runs of one sentence at once, each with its own cells taken from another run.

    It is a weight-sharing copy of the network: kernels put other outputs in the place of heads,
    hooks other states in the place of the decoder's. The encoder's layers are called one by one,
    because a row may change its length between them.
    """

    def __init__(
        self, base: Run, other: Run, pairs: Sequence[tuple[Span, Span]], patches: Sequence[Patch]
    ) -> None:
        self._base, self._other, self._pairs, self._patches = base, other, pairs, patches
        self._device = base.states[0].device
        self._model = share_weights(base.model).eval()
        self._memory_BSD, self._source_BS = self._encode()
        for side, layer, attention in named_attentions(self._model):
            if side != "encoder" and (found := self._heads(side, layer, len(base.read))):
                attention.kernel = _PatchedKernel(attention.kernel, *found)
        for layer, module in enumerate(self._model.decoder.layers, start=1):
            if places := self._cells("target", layer):
                module.register_forward_hook(self._target_hook(layer, places))

    def next_logits(self, read_BT: Tensor) -> Tensor:
        """Return the logits of the token after what the decoder has read, (B, V)."""
        states_BTD = self._model.decoder_states(read_BT, self._memory_BSD, self._source_BS)
        logits_BV: Tensor = self._model.output_projection(states_BTD[:, -1])
        return logits_BV

    def read(self) -> Tensor:
        """Return what the decoder reads up to the decision, the same in every row, (B, T)."""
        return torch.tensor([self._base.read] * len(self._patches), device=self._device)

    def _cells(self, part: Part, layer: int) -> list[tuple[int, int]]:
        """Return (row, index) of every cell of a part in a layer."""
        return [
            (row, cell.index)
            for row, patch in enumerate(self._patches)
            for cell in sorted(patch)
            if (cell.part, cell.layer) == (part, layer)
        ]

    # -- the encoder, whose rows may have different lengths

    def _encode(self) -> tuple[Tensor, Tensor]:
        """Return what the encoder makes of each row, and ids that tell its padding."""
        encoder = self._model.encoder
        rows = [_Row(self._base.states[0], self._pairs) for _ in self._patches]
        attentions = {
            layer: attention
            for side, layer, attention in named_attentions(self._model)
            if side == "encoder"
        }
        for layer in range(len(encoder.layers) + 1):
            chosen: dict[int, set[int]] = {}
            for row, column in self._cells("source", layer):
                chosen.setdefault(row, set()).add(column)
            for row, columns in chosen.items():
                rows[row] = rows[row].splice(columns, self._other.states[layer])
            x_BSD = nn.utils.rnn.pad_sequence([row.state_SD for row in rows], batch_first=True)
            lengths_B = torch.tensor([row.state_SD.size(0) for row in rows], device=self._device)
            inside_BS = torch.arange(x_BSD.size(1), device=self._device) < lengths_B[:, None]
            if layer == len(encoder.layers):
                break
            if found := self._encoder_heads(layer, rows):
                attentions[layer].kernel = _PatchedKernel(attentions[layer].kernel, *found)
            bias = encoder.positions.bias(x_BSD.size(1), x_BSD.size(1))
            mask = additive(inside_BS[:, None, None, :], bias, x_BSD.dtype)
            rotation = encoder.positions.rotation(0, x_BSD.size(1))
            x_BSD = encoder.layers[layer](x_BSD, mask, rotation)
            rows = [
                row.with_state(state_SD[:length])
                for row, state_SD, length in zip(rows, x_BSD, lengths_B.tolist(), strict=True)
            ]
        return encoder.norm(x_BSD), torch.where(inside_BS, BOS, self._model.config.padding_id)

    def _encoder_heads(
        self, layer: int, rows: Sequence[_Row]
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor] | None:
        """Return the places of patched heads of the encoder and what comes there."""
        places, values = [], []
        heads_HLU = self._other.heads["encoder", layer]
        for row, head in self._cells("encoder", layer):
            own, theirs = rows[row].partners()
            places += [(row, head, at) for at in own]
            values.append(heads_HLU[head, theirs])
        return _places(places, values)

    def _heads(
        self, side: Part, layer: int, length: int
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor] | None:
        """Return the places of patched heads of the decoder and what comes there."""
        cells = self._cells(side, layer)
        places = [(row, head, at) for row, head in cells for at in range(length)]
        return _places(places, [self._other.heads[side, layer][head] for _, head in cells])

    def _target_hook(self, layer: int, cells: Sequence[tuple[int, int]]) -> _StateHook:
        rows, positions = (
            torch.tensor(one, device=self._device) for one in zip(*cells, strict=True)
        )
        return _StateHook(rows, positions, self._other.targets[layer][positions])


@dataclass(frozen=True)
class _StateHook:
    """Puts states of another run in the place of what a layer returns."""

    rows_N: Tensor
    positions_N: Tensor
    values_ND: Tensor

    def __call__(self, _module: nn.Module, _args: object, output_BTD: Tensor) -> Tensor:
        return output_BTD.index_put((self.rows_N, self.positions_N), self.values_ND)


def _places(
    places: Sequence[tuple[int, int, int]], values: Sequence[Tensor]
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor] | None:
    if not places:
        return None
    values_NU = torch.cat(list(values))
    rows, heads, positions = torch.tensor(places, device=values_NU.device).T
    return (rows, heads, positions), values_NU


@dataclass(frozen=True)
class _Row:
    """The source of one patched run: its states, and which columns came from the other run."""

    state_SD: Tensor
    pairs: Sequence[tuple[Span, Span]]
    taken: frozenset[int] = frozenset()

    def with_state(self, state_SD: Tensor) -> _Row:
        return _Row(state_SD, self.pairs, self.taken)

    def splice(self, columns: set[int], other_SD: Tensor) -> _Row:
        """Take some columns from the other run."""
        parts = [
            other_SD[slice(*self.pairs[column][1])] if column in columns else self.state_SD[span]
            for column, span in enumerate(self._spans())
        ]
        return _Row(torch.cat(parts), self.pairs, self.taken | columns)

    def _spans(self) -> Iterator[slice]:
        """Yield where each column is in this row."""
        begin = 0
        for column, pair in enumerate(self.pairs):
            first, last = pair[column in self.taken]
            yield slice(begin, begin + last - first)
            begin += last - first

    def partners(self) -> tuple[list[int], list[int]]:
        """Return positions of this row and of the other run that correspond."""
        own: list[int] = []
        theirs: list[int] = []
        for span, (_, other) in zip(self._spans(), self.pairs, strict=True):
            if span.stop - span.start == other[1] - other[0]:
                own += range(span.start, span.stop)
                theirs += range(*other)
        return own, theirs


# ---- where the heads look -----------------------------------------------------------------------


@dataclass(frozen=True)
class HeadRows:
    """Where one head looks in the two runs: one row of its weights in each.

    In `cross` and `decoder` it is the row of the decision. In `encoder` it is the column whose two
    rows differ most, `column`.
    """

    cell: Cell
    column: int | None
    first: tuple[float, ...]
    second: tuple[float, ...]


def compare_rows(runs: tuple[Run, Run], columns: Sequence[Column]) -> Iterator[HeadRows]:
    """Yield where every head looks in both runs, over columns of the source or target positions."""
    spans = [column.first for column in columns], [column.second for column in columns]
    for side, layer, _ in named_attentions(runs[0].model):
        rows: list[Tensor] = []
        for run, places in zip(runs, spans, strict=True):
            weights_HLM = run.weights[side, layer]
            if side == "encoder":
                weights_HLM = _sum_columns(weights_HLM.transpose(1, 2), places, mean=True)
                weights_HLM = _sum_columns(weights_HLM.transpose(1, 2), places, mean=False)
            elif side == "cross":
                weights_HLM = _sum_columns(weights_HLM[:, -1:], places, mean=False)
            else:
                weights_HLM = weights_HLM[:, -1:]
            rows.append(weights_HLM)
        differences_HL = (rows[0] - rows[1]).abs().sum(dim=2)
        for head, column in enumerate(differences_HL.argmax(dim=1).tolist()):
            yield HeadRows(
                Cell(side, layer, head),
                column if side == "encoder" else None,
                *(tuple(row_HLM[head, column].tolist()) for row_HLM in rows),
            )


def _sum_columns(weights_HLM: Tensor, spans: Sequence[Span], *, mean: bool) -> Tensor:
    """Return the last dimension by columns: the sum, or the mean, of each column's tokens."""
    parts = [weights_HLM[..., slice(*span)].sum(dim=2) for span in spans]
    lengths = [max(1, end - begin) if mean else 1 for begin, end in spans]
    return torch.stack([part / length for part, length in zip(parts, lengths, strict=True)], dim=2)
