"""Networks that do not fit the data are refused, and divergence is traced to lines of the data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from translucid.checkpoint.writing import write_file
from translucid.data.batches import Examples, load_examples, longest_example
from translucid.data.collate import Batch
from translucid.data.shards import PreparedData
from translucid.errors import InputError, TranslucidError
from translucid.model import Transformer


class DivergedError(TranslucidError):
    """Training that has failed: loss or gradient is not a number, or grows without bound."""


def check_model_fits(model: Transformer, data: PreparedData) -> None:
    """Raise InputError for a network that cannot read the data."""
    config = model.config
    sizes = {"source": config.source_vocab_size, "target": config.target_vocab_size}
    for (side, size), needed in zip(sizes.items(), data.manifest.tokenizer.sizes, strict=True):
        if size < needed:
            raise InputError(
                f"the network's {side} vocabulary has {size:,} tokens, and {side} text of "
                f"{data.folder} has {needed:,}: give the network at least as many"
            )
    if config.positions == "learned":
        read = [name for name in ("train", "dev") if name in data.manifest.splits]
        most = max(longest_example(load_examples(data, name)) for name in read)
        if most > config.max_positions:
            raise InputError(
                f"the longest sentence of {data.folder} has {most:,} tokens, and the network "
                f"{config.max_positions:,} learned positions: raise max_positions to {most:,}, or "
                "prepare the data again with a lower limit of length"
            )


def largest_loss(vocab_size: int, factor: float) -> float:
    """Return the loss per token from which on training has failed.

    It is `factor` times that of guessing: with the same chance for each of V tokens, ln V.
    """
    return factor * math.log(vocab_size)


def describe_batches(
    batches: Sequence[Batch], losses: Sequence[float], limit: float, examples: Examples
) -> list[dict[str, Any]]:
    """Return the sentences of a step's micro-batches, and where they came from, as plain values.

    `suspect` are those with a loss per token that is not a number or above the limit. JSON has no
    NaN, so a loss is written as text.
    """
    return [
        {
            "suspect": not loss / batch.tokens <= limit,
            "loss": f"{loss / batch.tokens:.6g}",
            "pairs": _pairs(batch, examples),
        }
        for batch, loss in zip(batches, losses, strict=True)
    ]


def write_bad_batch(path: Path, step: int, batches: Sequence[dict[str, Any]]) -> None:
    """Save the micro-batches of a step that failed: the suspects or, without any, all of them."""
    suspects = [batch for batch in batches if batch["suspect"]]
    content = {"step": step, "micro_batches": suspects or batches}
    write_file(path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())


def _pairs(batch: Batch, examples: Examples) -> list[dict[str, Any]]:
    rows = []
    for pair, direction in zip(batch.examples.tolist(), batch.directions.tolist(), strict=True):
        source, target = examples.directions[direction]
        rows.append(
            {
                "place": examples.describe_origin(pair),
                "line": examples.split.origin(pair).line,
                "source": examples.split.text(source, pair),
                "target": examples.split.text(target, pair),
            }
        )
    return rows
