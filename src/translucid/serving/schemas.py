"""What every body has in common: strict fields, limits that are settings, problems as a schema."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from translucid.config import Count
from translucid.decoding.settings import Method, SearchConfig, Whole
from translucid.errors import ConfigError
from translucid.serving.problems import KINDS, Fault, invalid
from translucid.serving.settings import ServingConfig

LIMIT = "x-limit"  # the setting that bounds a field, until the OpenAPI document is made
_MBR_SAMPLES = 32  # as on the command line: with fewer, choosing among samples means little


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
Length = Annotated[Whole, AtMost("max_length")]
Penalty = Annotated[float, Field(ge=0, le=10)]
Share = Annotated[float, Field(ge=0, le=1)]


class SearchFields(Body):
    """How to search; what is left out is as the model's own search says.

    Fields that mean nothing to the method, such as `temperature` to beam search, change nothing.
    """

    method: Method | None = Field(None, description="kind of search")
    beam: Annotated[Count, AtMost("max_beam")] | None = Field(
        None, description="hypotheses followed side by side"
    )
    n_best: Annotated[Count, AtMost("max_n_best")] | None = Field(
        None, description="translations returned for each text"
    )
    length_penalty: Penalty | None = Field(None, description="α of the length penalty; 0: none")
    length_form: Literal["paper", "plain"] | None = Field(
        None, description="paper: ((5 + n) / 6)^α; plain: n^α; n counts the end symbol"
    )
    coverage_penalty: Penalty | None = Field(
        None, description="β: price of source tokens that were hardly attended to"
    )
    min_length: Length | None = Field(None, description="fewest tokens, the end symbol not counted")
    max_length: Annotated[Count, AtMost("max_length")] | None = Field(
        None, description="most tokens, the end symbol not counted"
    )
    extra_length: Length | None = Field(None, description="most tokens beyond the source's length")
    temperature: Annotated[float, Field(ge=0, le=100)] | None = Field(
        None, description="sampling: logits are divided by it; 0: greedy"
    )
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="sampling: only the k most probable; 0: all"
    )
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="sampling: only the most probable that together reach p"
    )
    min_p: Share | None = Field(
        None, description="sampling: only those of at least this share of the best's"
    )
    samples: Annotated[Count, AtMost("max_samples")] | None = Field(
        None, description="sampling and mbr: samples for each text"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        None, description="sampling and mbr: seed of the random numbers"
    )
    groups: Annotated[Count, AtMost("max_beam")] | None = Field(
        None, description="diverse: groups that the beam is divided into"
    )
    diversity: Annotated[float, Field(ge=0, le=1_000)] | None = Field(
        None, description="diverse: price of a token another group has just taken"
    )
    no_repeat_ngram: Length | None = Field(
        None, description="no n-gram of this length is written twice; 0: any may be"
    )
    loop_guard: bool | None = Field(None, description="end a translation that goes in circles")


def search_of(
    default: SearchConfig, asked: SearchFields | None, limits: ServingConfig
) -> SearchConfig:
    """Return the model's own search with what was asked for put in its place.

    What follows from it keeps to the limits, as what is asked for does.
    """
    if asked is None:
        return default
    given = asked.model_dump(exclude_none=True)
    method = given.get("method", default.method)
    needed = _needed_by(method, {**default.model_dump(), **given}, limits.max_samples)
    try:
        return default.replace(**{**needed, **given})
    except ConfigError as error:
        raise invalid([Fault("search", fault) for fault in error.faults]) from error


def _needed_by(method: str, settings: dict[str, Any], most: int) -> dict[str, Any]:
    """Return what follows from the method where nothing was said of it, `most` samples at most."""
    if method == "sampling":
        return {"samples": min(most, settings["n_best"])}
    if method == "mbr":
        return {"samples": min(most, max(_MBR_SAMPLES, settings["n_best"]))}
    if method == "diverse":
        return {"groups": settings["beam"]}
    return {}


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
