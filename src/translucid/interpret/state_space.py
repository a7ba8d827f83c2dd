"""The states of the tokens as points: how they move from layer to layer, and what is near them.

Each stack has a state of D numbers per token as it enters, and after every layer. To draw them,
they are projected on the two directions in which the words of the sentence differ most after that
layer (principal components). Two of D dimensions tell little about distances, so the distances are
given too, in all D.

The nearest vocabulary entries of a state are the rows of the embedding table with the largest
cosine to it; what is near an early state is the token itself, as in any residual network.

Shapes: N states of a token (layers + 1), L tokens, D d_model, V vocabulary, K neighbours.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from translucid.interpret.trace import Trace
from translucid.model import Transformer
from translucid.text.tokenizer import FIRST_PIECE, UNK

Stack = Literal["encoder", "decoder"]

NEIGHBOURS = 5
_BATCH_STATES = 64  # compared with the vocabulary at a time
_LEAST_TEXT = 3  # tokens


def stack_states(trace: Trace, stack: Stack) -> Tensor:
    """Return the states of a stack, (N, L, D): what enters it, then each layer's; a full trace."""
    layers = trace.model.encoder_layers if stack == "encoder" else trace.model.decoder_layers
    enters = trace.tensor("source.sum" if stack == "encoder" else "target.sum")
    return torch.stack([enters, *(trace.tensor(f"{stack}.{n}.output") for n in range(layers))])


def text_mask(trace: Trace, stack: Stack) -> Tensor:
    """Return which tokens of a stack are text, (L,): those that the components are found for.

    Symbols lie far from all words and would take both directions; where hardly anything else is
    there, they count too.
    """
    tokens = trace.source_tokens if stack == "encoder" else trace.target_tokens
    text_L = torch.tensor([token.id >= FIRST_PIECE or token.id == UNK for token in tokens])
    return text_L if text_L.sum() >= _LEAST_TEXT else torch.ones_like(text_L)


def principal_coordinates(states_NLD: Tensor, text_L: Tensor) -> Tensor:
    """Return all states on the two principal components of each layer's words, (N, N, L, 2).

    Entry [n, m] has the states of layer m as seen from layer n, so a token's way to layer n can be
    drawn in one picture.
    """
    found = []
    for states_LD in states_NLD.double():
        mean_D, axes, _ = _components(states_LD[text_L])
        found.append((states_NLD.double() - mean_D) @ axes[:2].T)
    return torch.stack(found).float()


def explained_variance(states_NLD: Tensor, text_L: Tensor) -> Tensor:
    """Return the share of the variance of each layer's words along the two components, (N, 2)."""
    shares = []
    for states_LD in states_NLD.double():
        variances = _components(states_LD[text_L])[2].square()
        shares.append(variances[:2] / variances.sum().clamp(min=1e-12))
    return torch.stack(shares).float()


def _components(states_LD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean of some states, their principal axes, and their singular values."""
    mean_D = states_LD.mean(dim=0)
    _, values, axes = torch.linalg.svd(states_LD - mean_D, full_matrices=False)
    # Two signs are as good; the one with the larger coordinate positive is always taken.
    signs = torch.take_along_dim(axes, axes.abs().argmax(dim=1, keepdim=True), dim=1).sign()
    return mean_D, axes * signs, values


def state_distances(states_NLD: Tensor) -> Tensor:
    """Return how far the states of each layer are from each other, in all dimensions, (N, L, L)."""
    return torch.cdist(
        states_NLD.double(), states_NLD.double(), compute_mode="donot_use_mm_for_euclid_dist"
    ).float()


@torch.inference_mode()
def nearest_entries(model: Transformer, trace: Trace, stack: Stack) -> Tensor:
    """Return the vocabulary entries nearest to each state, (N, L, K, 2): token id and cosine."""
    states_NLD = stack_states(trace, stack)
    embedding = model.source_embedding if stack == "encoder" else model.target_embedding
    table_VD = torch.nn.functional.normalize(embedding.weight.detach().cpu().float(), dim=-1)
    unit = torch.nn.functional.normalize(states_NLD.flatten(0, 1), dim=-1)
    found = [
        torch.stack([ids.float(), cosines], dim=-1)
        for begin in range(0, unit.size(0), _BATCH_STATES)
        for cosines, ids in [
            (unit[begin : begin + _BATCH_STATES] @ table_VD.T).topk(
                min(NEIGHBOURS, table_VD.size(0)), dim=-1
            )
        ]
    ]
    return torch.cat(found).reshape(*states_NLD.shape[:2], -1, 2)
