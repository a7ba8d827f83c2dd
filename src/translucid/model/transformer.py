"""The Transformer: encoder, decoder and what joins them (section 3.1, figure 1).

::

    source ids ─ embedding ─ + positions ─ encoder ─▶ memory ─┐
                                                              ▼
    target ids ─ embedding ─ + positions ──────────────── decoder ─ output projection ─▶ logits

Shapes: B batch, S source, T target, D d_model, V vocabulary.
"""

from __future__ import annotations

import copy
import itertools

import torch
from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.errors import InputError
from translucid.model.decoder import Decoder
from translucid.model.embeddings import check_ids, make_embeddings
from translucid.model.encoder import Encoder
from translucid.model.initialization import initialize
from translucid.model.masks import check_no_empty_row, padding_mask
from translucid.model.session import DecodingSession


class Transformer(nn.Module):
    """The encoder-decoder of "Attention Is All You Need" (section 3.1, figure 1).

    Rows of a batch are padded on the right with ``config.padding_id``; padding changes nothing.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding, self.target_embedding, self.output_projection = make_embeddings(
            config
        )
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        initialize(self, config)

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return logits_BTV: at each target position, a score for every token that may come next.

        The target is what the decoder has "so far" at each position: the reference shifted right,
        beginning with the start symbol (section 3.1).
        """
        return self.decode(target_BT, self.encode(source_BS), source_BS)

    def encode(self, source_BS: Tensor) -> Tensor:
        """Map source tokens to their representations z, memory_BSD (section 3.1)."""
        check_ids("source", source_BS, self.config.source_vocab_size, dimensions=2)
        if source_BS.device.type == "cpu" and not torch.compiler.is_compiling():
            check_no_empty_row("source", source_BS, self.config.padding_id)
        allowed_B11S = padding_mask(source_BS, self.config.padding_id)
        return self.encoder(self.source_embedding(source_BS), allowed_B11S)

    def decode(self, target_BT: Tensor, memory_BSD: Tensor, source_BS: Tensor) -> Tensor:
        """Return logits_BTV for a whole target (section 3.1); source_BS tells padding in memory."""
        states_BTD = self.decoder_states(target_BT, memory_BSD, source_BS)
        return self.output_projection(states_BTD)

    def decoder_states(self, target_BT: Tensor, memory_BSD: Tensor, source_BS: Tensor) -> Tensor:
        """Return the decoder's output states_BTD, before the projection to logits (section 3.1)."""
        check_ids("target", target_BT, self.config.target_vocab_size, dimensions=2)
        _check_rows(target_BT, memory_BSD, source_BS)
        allowed_B11S = padding_mask(source_BS, self.config.padding_id)
        memories = self.decoder.project_memory(memory_BSD, allowed_B11S)
        return self.decoder(self.target_embedding(target_BT), memories)

    @torch.inference_mode()
    def start(self, source_BS: Tensor, copies: int = 1) -> DecodingSession:
        """Encode once and return a session that decodes token by token with a cache.

        ``copies`` is the number of targets decoded in parallel for each source, such as the beams
        of a beam search; they share the source's keys and values.
        """
        if self.training:
            raise InputError("the model is in training mode, with dropout: call model.eval() first")
        if copies < 1:
            raise InputError(f"copies = {copies}: each source needs at least 1")
        memory_BSD = self.encode(source_BS)
        allowed_B11S = padding_mask(source_BS, self.config.padding_id)
        return DecodingSession(
            self, memory_BSD, self.decoder.project_memory(memory_BSD, allowed_B11S), copies
        )


def _check_rows(target_BT: Tensor, memory_BSD: Tensor, source_BS: Tensor) -> None:
    """Raise InputError unless target, memory and source have matching shapes."""
    if target_BT.size(0) != memory_BSD.size(0) or source_BS.shape != memory_BSD.shape[:2]:
        raise InputError(
            f"target has the shape {tuple(target_BT.shape)}, memory {tuple(memory_BSD.shape)} and "
            f"source {tuple(source_BS.shape)}: they must agree in rows, and memory with source in "
            "length"
        )


def share_weights(model: Transformer) -> Transformer:
    """Return a weight-sharing copy of the network; the paper has no such thing.

    Its attention kernels (section 3.2.1) can be replaced, to record or to change what they do,
    while the model itself keeps serving.
    """
    shared = {id(t): t for t in itertools.chain(model.parameters(), model.buffers())}
    return copy.deepcopy(model, memo=shared)
