"""The heads whose attention says which words belong together, as a model directory keeps them.

::

    MODEL/alignment.json     {"heads": [[2, 1], [3, 0]], "row": "predicts", "agreement": 0.81, …}

Without that file, it is all heads of the second to last decoder layer, which others have found to
align best in networks that were not trained to align (Garg et al. 2019).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, Strict

from translucid.checksums import new_listed_file
from translucid.config import Config, ModelConfig
from translucid.errors import ConfigError, DataError, InputError


class Head(NamedTuple):
    """A head of the decoder's cross-attention, counted from 0."""

    layer: int
    head: int


ALIGNMENT = "alignment.json"

DecoderRow = Literal["predicts", "reads"]
_Number = Annotated[int, Field(ge=0)]
_Pair = Annotated[tuple[_Number, _Number], Strict(False)]  # JSON has lists, Python has tuples


class AlignmentHeads(Config):
    """The heads whose mean attention is the alignment, and which rows of the decoder to use.

    The decoder reads a token in one row and predicts it in the row before; either may attend to the
    source word.
    """

    heads: Annotated[tuple[_Pair, ...], Strict(False)] = Field(
        min_length=1, description="layer and head of the decoder's cross-attention, from 0"
    )
    row: DecoderRow = Field(
        description="whether a token's row is the one that predicts it or the one that reads it"
    )
    agreement: float | None = Field(
        default=None, description="share of lexically sure links that the heads find on dev pairs"
    )
    links: int = Field(default=0, ge=0, description="number of links that was measured on")

    @property
    def chosen(self) -> tuple[Head, ...]:
        """The heads, as `Head`."""
        return tuple(Head(layer, head) for layer, head in self.heads)


def default_heads(config: ModelConfig) -> AlignmentHeads:
    """Return all heads of the second to last decoder layer, or of the only one."""
    layer = max(0, config.decoder_layers - 2)
    return AlignmentHeads(
        heads=tuple((layer, head) for head in range(config.heads)), row="predicts"
    )


def save_alignment_heads(folder: Path, heads: AlignmentHeads) -> None:
    """Write the heads into a model directory, atomically replacing older ones."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a model directory: alignment heads are kept inside one")
    with new_listed_file(folder / ALIGNMENT) as file:
        file.write(heads.to_json().encode())


def read_alignment_heads(folder: Path, config: ModelConfig) -> AlignmentHeads:
    """Return the heads of a model directory, or the default ones if it has no such file."""
    path = folder / ALIGNMENT
    if not path.is_file():
        return default_heads(config)
    remedy = f"Delete {ALIGNMENT}, and find the heads again if alignments are wanted."
    try:
        found = AlignmentHeads.from_file(path)
    except (ConfigError, UnicodeDecodeError) as error:
        raise DataError(path, str(error), remedy=remedy) from error
    for layer, head in found.chosen:
        if layer >= config.decoder_layers or head >= config.heads:
            raise DataError(
                path,
                f"layer {layer}, head {head} does not exist: the network has "
                f"{config.decoder_layers} decoder layers of {config.heads} heads, from 0",
                remedy=remedy,
            )
    return found
