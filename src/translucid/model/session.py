"""A decoding session: the two-method protocol that is all a search algorithm knows (section 3.1).

::

    session = model.start(source_BS, copies=beam)     # encodes once, projects the source once
    log_probs_NV = session.step(last_ids_N)           # feeds one token per row, N = B × copies
    session.reorder(rows_N)                           # rows that continue, in new order

Shapes: B sources, W copies of each, N = B × W rows, a source's side by side, D d_model, V
vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from translucid.errors import InputError
from translucid.model.cache import DecoderCache
from translucid.model.decoder import CrossMemory
from translucid.model.embeddings import check_ids

if TYPE_CHECKING:
    from translucid.model.transformer import Transformer


class DecodingSession:
    """Translations under way (section 3.1): the source as the decoder reads it, and the cache."""

    def __init__(
        self, model: Transformer, memory_BSD: Tensor, memories: list[CrossMemory], copies: int
    ) -> None:
        self.memory_BSD = memory_BSD
        self.copies = copies
        self.cache = DecoderCache(len(memories), memory_BSD.size(0), copies, like=memory_BSD)
        self._model = model
        self._scratch_2NV: Tensor | None = None
        # Contiguous heads make the products of every step faster.
        self._memories = [
            CrossMemory(m.keys_BHSK.contiguous(), m.values_BHSU.contiguous(), m.mask_B11S)
            for m in memories
        ]

    @property
    def rows(self) -> int:
        """Number of rows N under way: sources × copies."""
        return self.memory_BSD.size(0) * self.copies

    @torch.inference_mode()
    def step(self, last_ids_N: Tensor) -> Tensor:
        """Feed the newest token of every row; return log P(next token) as (N, V).

        The next step overwrites it: copy what you want to keep.
        """
        check_ids("last_ids", last_ids_N, self._model.config.target_vocab_size, dimensions=1)
        if last_ids_N.numel() != self.rows:
            raise InputError(
                f"last_ids has {last_ids_N.numel()} tokens, but {self.rows} rows are under way "
                f"({self.memory_BSD.size(0)} sources × {self.copies} copies): give one per row"
            )
        embedded_N1D = self._model.target_embedding(last_ids_N[:, None])
        states_ND = self._model.decoder.step(embedded_N1D, self._memories, self.cache)
        return self._log_probs(states_ND)

    @torch.inference_mode()
    def reorder(self, rows_N: Tensor) -> None:
        """Continue with these rows, in this order; sources of which no row is left are dropped.

        The rows of one source stay together: each run of `copies` rows must come from one source.
        """
        rows_BW, sources_B = self._find_sources(rows_N)
        same = _is_identity(sources_B, self.memory_BSD.size(0))
        self.cache.reorder(sources_B, rows_BW - sources_B[:, None] * self.copies, same)
        if not same:
            self.memory_BSD = self.memory_BSD[sources_B]
            mask_B11S = self._memories[0].mask_B11S[sources_B]  # one tensor, shared by the layers
            self._memories = [
                CrossMemory(m.keys_BHSK[sources_B], m.values_BHSU[sources_B], mask_B11S)
                for m in self._memories
            ]

    def _log_probs(self, states_ND: Tensor) -> Tensor:
        """Return log P in memory that every step reuses, as allocating takes time."""
        project = self._model.output_projection
        if self._scratch_2NV is None or self._scratch_2NV.size(1) < self.rows:
            self._scratch_2NV = states_ND.new_empty(2, self.rows, project.tokens)
        logits_NV, log_probs_NV = self._scratch_2NV[:, : self.rows]
        return torch.log_softmax(project.into(logits_NV, states_ND), dim=-1, out=log_probs_NV)

    def _find_sources(self, rows_N: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows_BW and the source of each run of rows, or raise where a run mixes several."""
        check_ids("rows", rows_N, self.rows, dimensions=1)
        if rows_N.numel() % self.copies:
            raise InputError(
                f"rows has {rows_N.numel()} entries, not a multiple of the {self.copies} copies "
                "that each source has"
            )
        rows_BW = rows_N.view(-1, self.copies)
        sources_BW = rows_BW // self.copies
        if not bool((sources_BW == sources_BW[:, :1]).all()):
            raise InputError(
                f"rows {rows_N.tolist()} mix sources: each run of {self.copies} must belong to one"
            )
        return rows_BW, sources_BW[:, 0]


def _is_identity(index: Tensor, size: int) -> bool:
    """Tell whether selecting by `index` would change nothing."""
    return index.numel() == size and bool(
        torch.equal(index, torch.arange(size, device=index.device, dtype=index.dtype))
    )
