"""Settings that decide what prepared data looks like."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from translucid.config import Config, Flag, Share
from translucid.data.cleaning import CleaningConfig
from translucid.text.tokenizer import FIRST_PIECE, MAX_VOCAB_SIZE, tokenizer_kinds

Count = Annotated[int, Field(ge=0)]


class PrepareConfig(Config):
    """All settings that decide what the prepared data looks like."""

    tokenizer: str = Field(
        default="bpe",
        description="what a token is: bpe, unigram, word, char or a registered kind",
    )
    vocab_size: int | None = Field(
        default=None,
        ge=FIRST_PIECE + 2,
        le=MAX_VOCAB_SIZE,
        description="maximum number of pieces of the vocabulary; by default it depends on the size "
        "of the data",
    )
    split_dev: Count = Field(default=0, description="pairs to hold out from the corpora for dev")
    split_test: Count = Field(default=0, description="pairs to hold out from the corpora for test")
    target_pieces_only: Annotated[bool, Flag("--target-pieces-only")] = Field(
        default=False,
        description="let the network write only pieces that occur in target text: faster, for bpe",
    )
    placeholders: Share = Field(
        default=0.1,
        description="share of training pairs that get placeholders for what is not translated, "
        "with bpe or unigram; 0: no placeholders",
    )
    capitals: Share = Field(
        default=0.0,
        description="share of training pairs that the vocabulary learns in capitals too",
    )
    both: Annotated[bool, Flag("--both")] = Field(
        default=False, description="train both directions, with a target-language tag"
    )
    tags: Annotated[bool, Flag("--tags")] = Field(
        default=False,
        description="put a target-language tag before every source sentence, in one direction too",
    )
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="chooses which pairs a split holds out"
    )
    batch_tokens: int = Field(
        default=4096,
        ge=1,
        description="tokens per batch for which the report gives the share of padding",
    )
    cleaning: CleaningConfig = Field(
        default=CleaningConfig(), description="a switch for every repair and filter"
    )

    @field_validator("tokenizer")
    @classmethod
    def _check_kind(cls, kind: str) -> str:
        if kind not in tokenizer_kinds():
            *names, last = map(repr, tokenizer_kinds())
            expected = f"{', '.join(names)} or {last}"
            raise PydanticCustomError("literal_error", "unknown kind", {"expected": expected})
        return kind
