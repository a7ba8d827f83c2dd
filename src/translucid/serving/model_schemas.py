"""What is told of the models that are served."""

from __future__ import annotations

from pydantic import Field

from translucid.serving.schemas import Answer


class ModelFields(Answer):
    """A model that is served."""

    name: str
    default: bool = Field(description="whether it is taken when a request names none")
    directions: list[tuple[str, str]] = Field(description="[source, target] languages")
    targets: list[str] = Field(description="languages that it translates into")
    vocabulary: int = Field(description="number of pieces")
    parameters: int = Field(description="number of trained numbers")
    hash: str = Field(description="changes whenever anything that decides translations does")
    config: dict[str, str | float | bool | None] = Field(description="settings of the network")
    search: dict[str, str | float | bool | None] = Field(
        description="how it searches unless told otherwise"
    )
    alignment_heads: list[tuple[int, int]] = Field(
        description="[layer, head] of the decoder whose attention gives the alignment"
    )


class ModelsAnswer(Answer):
    """Models, and what this server allows."""

    version: str = Field(description="of Translucid")
    models: list[ModelFields]
    limits: dict[str, int] = Field(description="what one request may ask for")
    runs: bool = Field(description="whether training runs are shown")


class VocabularyAnswer(Answer):
    """The vocabulary of a model."""

    pieces: list[str] = Field(description="each at the place of its id")


class LiveAnswer(Answer):
    """The server runs."""

    status: str = Field(examples=["alive"])


class ReadyAnswer(Answer):
    """The server translates."""

    status: str = Field(examples=["ready"])
    models: list[str] = Field(description="models whose warm-up translation has passed")
