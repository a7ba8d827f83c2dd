"""Who may attend to whom (section 3.2.3). In a mask of this file, True = may be attended to.

Three sentences of a batch, padded on the right, and the decoder's causal mask::

    padding_mask               causal_mask(4, 4, device)
    the  cat  sat  <e>         ■ · · ·      position 0 sees itself
     ■    ■    ■    ■          ■ ■ · ·      position 1 sees 0 and 1
     ■    ■    ·    ·          ■ ■ ■ ·
     ■    ■    ■    ·          ■ ■ ■ ■

Because padding is on the right, a real target position never sees a padded one, so the decoder's
self-attention needs the causal mask alone. No row may be empty: `sdpa` gives zeros there and
`eager` NaN. A causal row always holds its own position, and
:func:`check_no_empty_row` keeps the invariant for padding.

Shapes: B batch, S source, L queries, M keys, H heads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from translucid.errors import InputError


def padding_mask(ids_BS: Tensor, padding_id: int) -> Tensor:
    """Return allowed_B11S: every token may be attended to, except padding (section 3.2.3)."""
    return (ids_BS != padding_id)[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """Return allowed_LM: each of the last `queries` positions sees itself and what came before.

    With ``queries == keys`` this is the mask of section 3.2.3 that keeps the decoder
    auto-regressive; fewer queries than keys are the newest positions of a cached sequence.
    """
    allowed_LM = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return allowed_LM.tril(diagonal=keys - queries)


def additive(allowed: Tensor | None, bias_HLM: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Turn a mask into what is added to scores (section 3.2.3): 0 or a bias, -inf if forbidden.

    Made once per forward pass, so that no layer converts it again. None stands for "all allowed".
    """
    if allowed is None:
        return bias_HLM
    zero = torch.zeros((), dtype=dtype, device=allowed.device)
    return torch.where(allowed, zero if bias_HLM is None else bias_HLM, -torch.inf)


def check_no_empty_row(name: str, ids_BS: Tensor, padding_id: int) -> None:
    """Raise InputError where a row is all padding: section 3.2's softmax has no input there."""
    empty = (ids_BS == padding_id).all(dim=1).nonzero().flatten().tolist()
    if empty:
        raise InputError(
            f"{name} has no token but padding (id {padding_id}) in row {empty[0]}"
            f"{f' and {len(empty) - 1} more' if len(empty) > 1 else ''}: "
            "every row needs at least one token, for example the end-of-sentence mark"
        )
