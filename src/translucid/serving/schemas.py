"""What every body has in common: strict fields, limits that are settings, problems as a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from translucid.config import Config
from translucid.decoding.settings import SearchConfig
from translucid.errors import ConfigError
from translucid.serving.problems import KINDS, Fault, invalid
from translucid.serving.settings import ServingConfig

LIMIT = "x-limit"  # the setting that bounds a field, until the OpenAPI document is made


class Body(BaseModel):
    """Base of what a client sends: no field is guessed at, converted or ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Answer(BaseModel):
    """Base of what a client receives, as the OpenAPI document describes it."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


@dataclass(frozen=True)
class AtMost:
    """A limit that is a setting: the length of a text, list or mapping, or the size of a number.

    The settings are the context in which a body is validated (see `bodies.validated`).
    """

    setting: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_wrap_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), LIMIT: self.setting}

    def _checked(
        self,
        value: Any,
        inner: core_schema.ValidatorFunctionWrapHandler,
        info: core_schema.ValidationInfo,
    ) -> Any:
        if isinstance(value, list | dict):  # a million wrong entries are one fault
            self._check(value, info.context)
        value = inner(value)
        self._check(value, info.context)
        return value

    def _check(self, value: Any, settings: Any) -> None:
        assert isinstance(settings, ServingConfig)
        limit = getattr(settings, self.setting)
        size = len(value) if isinstance(value, Sized) else value
        if size > limit:
            unit = _unit(value)
            raise PydanticCustomError(
                "over_limit",
                "{size}{unit} {are} above this server's limit of {limit} ({setting})",
                {
                    "size": size,
                    "unit": unit and f" {unit}",
                    "are": "are" if unit else "is",
                    "limit": limit,
                    "setting": self.setting,
                },
            )


@dataclass(frozen=True)
class TogetherAtMost:
    """A limit, which is a setting, on the characters of all texts of a list together."""

    setting: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: list[str], info: core_schema.ValidationInfo) -> list[str]:
        settings = info.context
        assert isinstance(settings, ServingConfig)
        limit, size = getattr(settings, self.setting), sum(map(len, value))
        if size > limit:
            raise PydanticCustomError(
                "over_limit",
                "{size} characters together are above this server's limit of {limit} ({setting}): "
                "send several requests",
                {"size": size, "limit": limit, "setting": self.setting},
            )
        return value


def _unit(value: Any) -> str:
    if isinstance(value, str):
        return "characters"
    return "entries" if isinstance(value, Sized) else ""


Text = Annotated[str, AtMost("max_characters")]
Texts = Annotated[list[Text], AtMost("max_texts"), TogetherAtMost("max_total_characters")]
Prefix = Annotated[str, AtMost("max_prefix_characters")]
Word = Annotated[str, AtMost("max_word_characters")]
Terms = Annotated[dict[Word, Word], AtMost("max_terms")]
Words = Annotated[list[Word], AtMost("max_forbidden")]


# Which of the server's limits bounds which setting of a search.
_SEARCH_LIMITS = {
    "beam": "max_beam",
    "groups": "max_beam",
    "n_best": "max_n_best",
    "samples": "max_samples",
    "min_length": "max_length",
    "max_length": "max_length",
    "extra_length": "max_length",
    "no_repeat_ngram": "max_length",
}


def optional_fields(config: type[Config], limits: Mapping[str, str], description: str) -> Any:
    """Return a body with the settings of a config class, all of which may be left out."""
    fields: dict[str, Any] = {}
    for name, field in config.model_fields.items():
        metadata = [*field.metadata, *([AtMost(limits[name])] if name in limits else [])]
        kind: Any = Annotated[(field.annotation, *metadata)] if metadata else field.annotation
        fields[name] = (kind | None, Field(None, description=field.description))
    return create_model("SearchFields", __base__=Body, __doc__=description, **fields)


if TYPE_CHECKING:
    SearchFields = Body
else:
    SearchFields = optional_fields(
        SearchConfig,
        _SEARCH_LIMITS,
        "How to search; what is left out is as the model's own settings say. A setting that the "
        "method does not use is refused.",
    )


def build_search(
    default: SearchConfig, asked: SearchFields | None, limits: ServingConfig
) -> SearchConfig:
    """Return the model's own search with the settings of a request in their place."""
    if asked is None:
        return default
    given = asked.model_dump(exclude_none=True)
    try:
        search = default.override(given)
        if "samples" not in given and search.samples > limits.max_samples:
            search = search.replace(samples=limits.max_samples)
    except ConfigError as error:
        raise invalid([Fault("search", fault) for fault in error.faults]) from error
    return search


class FaultFields(Answer):
    """One thing that is wrong with a request."""

    where: str = Field(description="dotted path of the field", examples=["search.beam"])
    problem: str = Field(description="what is wrong, and what is allowed")


class ProblemFields(Answer):
    """A problem (RFC 9457)."""

    type: str = Field(
        description="a path of this server that explains it", examples=["/problems/queue-full"]
    )
    title: str = Field(description="what kind of problem it is")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="what was received, what is allowed, what to do next")
    faults: list[FaultFields] | None = Field(None, description="all that is wrong, with its place")


_PROBLEM = f"#/components/schemas/{ProblemFields.__name__}"


def told(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what the OpenAPI document says of these statuses: each is a problem."""
    return {
        status: {
            "description": " or ".join(k.title for k in KINDS.values() if k.status == status),
            "content": {"application/problem+json": {"schema": {"$ref": _PROBLEM}}},
        }
        for status in statuses
    }
