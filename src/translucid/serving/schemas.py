"""Bodies of requests and answers: strict fields, and limits that are settings of the server.

The schemas of traces are in `trace_schemas`, those of runs beside their endpoints.
"""

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
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Ending
from translucid.errors import ConfigError
from translucid.serving.config import ServingConfig
from translucid.serving.problems import PROBLEM_TYPES, Fault, invalid_fields
from translucid.serving.served_models import Outcome
from translucid.translator import TranslationRequest

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

    The settings are the context in which a body is validated (see `request_bodies.validate_body`).
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
    default: SearchConfig, overrides: SearchFields | None, limits: ServingConfig
) -> SearchConfig:
    """Return the model's own search with the settings of a request in their place."""
    if overrides is None:
        return default
    given = overrides.model_dump(exclude_none=True)
    try:
        search = default.override(given)
        if "samples" not in given and search.samples > limits.max_samples:
            search = search.replace(samples=limits.max_samples)
    except ConfigError as error:
        raise invalid_fields([Fault("search", fault) for fault in error.faults]) from error
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


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what the OpenAPI document says of these statuses: each is a problem."""
    return {
        status: {
            "description": " or ".join(
                k.title for k in PROBLEM_TYPES.values() if k.status == status
            ),
            "content": {"application/problem+json": {"schema": {"$ref": _PROBLEM}}},
        }
        for status in statuses
    }


Name = Annotated[str, Field(max_length=200)]
Language = Annotated[str, Field(max_length=35)]  # the longest tag that RFC 5646 asks to allow for


def described(config: type[Config], name: str, default: Any, **more: Any) -> Any:
    """Return a field of a body that says what a field of a config class says of itself."""
    field = config.model_fields[name]
    bounds = {
        key: value
        for one in field.metadata
        for key in ("ge", "gt", "le", "lt")
        if (value := getattr(one, key, None)) is not None
    }
    return Field(default, description=field.description, **bounds, **more)


class ModelChoice(Body):
    """Which model, by name or by languages."""

    model: Name | None = Field(
        None, description="name of a model; left out: the first one that has the languages"
    )
    source: Language | None = Field(
        None, description="language of the text, where models have several", examples=["fr"]
    )
    target: Language | None = described(TranslationRequest, "target", None, examples=["en"])


class RequestBody(ModelChoice):
    """What is wanted of a translation, beside the text."""

    search: SearchFields | None = described(TranslationRequest, "search", None)
    terms: Terms | None = described(TranslationRequest, "terms", None, examples=[None])
    forbidden: Words = described(TranslationRequest, "forbidden", [])
    keep: Words = described(TranslationRequest, "keep", [], examples=[["Translucid"]])
    alignment: bool = described(TranslationRequest, "alignment", False)


class TranslateBody(RequestBody):
    """Texts to translate, and how."""

    texts: Texts = Field(description="what to translate", examples=[["Le chat dort."]])
    prefixes: Annotated[list[Prefix], AtMost("max_texts")] | None = Field(
        None, description="for each text what its translation must begin with, '' for nothing"
    )


class StreamBody(RequestBody):
    """One text to translate while the client watches, and how."""

    text: Text = Field(description="what to translate", examples=["Le chat dort."])
    prefix: Prefix = Field("", description="what the translation must begin with")


class ScoreBody(ModelChoice):
    """Texts and their translations, to be scored."""

    sources: Texts = Field(description="texts", examples=[["Le chat dort."]])
    targets: Annotated[list[Text], AtMost("max_texts"), TogetherAtMost("max_total_characters")] = (
        Field(description="a translation for each text", examples=[["The cat is asleep."]])
    )


class FlagFields(Answer):
    """What a reader of a translation should be warned of."""

    truncated: bool = Field(description="the limit of length ended it where it would have gone on")
    unknown: bool = Field(description="the text has characters that the vocabulary cannot spell")
    looped: bool = Field(description="it went in circles, and was ended")
    split: bool = Field(description="a line was too long, and was translated in parts")
    between_spans: bool = Field(
        description="it has tags, addresses or the like, for which the model has no placeholders: "
        "what is between them was translated piece by piece"
    )
    forced_spans: bool = Field(
        description="a tag, an address or the like stands where the model would not have put it"
    )


class CandidateFields(Answer):
    """One of the n best translations."""

    text: str
    tokens: list[str]
    log_probs: list[float] = Field(description="log P of each token, and last of the end symbol")
    log_prob: float = Field(description="log P of the whole translation")
    length: int = Field(description="number of tokens, end symbols counted")
    score: float = Field(description="what the search ranked by")
    ending: Ending = Field(description="by itself, at the limit of length, or in circles")


class AlignmentFields(Answer):
    """Which source tokens each target token looked at."""

    source_tokens: list[str]
    target_tokens: list[str]
    weights: list[list[float]] = Field(description="[target token][source token]; a row sums to 1")
    links: list[tuple[int, int]] = Field(description="[source word, target word], from 0")


class TranslationFields(Answer):
    """The translation of one text."""

    source: str = Field(description="the text as it was sent")
    text: str = Field(description="its best translation")
    score: float = Field(description="what the search ranked by")
    log_prob: float = Field(description="log P of the best translation")
    tokens: list[str] = Field(description="tokens of the best translation")
    log_probs: list[float] = Field(description="log P of each token, and last of the end symbol")
    confidence: float | None = Field(
        description="probability that the translation is acceptable (chrF 50 or more with a "
        "reference); null where the model cannot tell"
    )
    flags: FlagFields
    n_best: list[CandidateFields] = Field(description="the n best translations, best first")
    alignment: AlignmentFields | None = Field(description="null unless requested")


class TranslateAnswer(Answer):
    """Translations in the order of the texts."""

    model: str = Field(description="the model that translated")
    source: str | None = Field(description="language of the texts, if the model tells")
    target: str = Field(description="language of the translations")
    translations: list[TranslationFields]


class ScoreFields(Answer):
    """How probable the model holds one translation."""

    log_prob: float = Field(description="log P of the whole translation, its end included")
    log_probs: list[float] = Field(description="log P of each token, and last of the end symbol")
    tokens: list[str]
    perplexity: float = Field(description="exp(-mean log P of a token)")


class ScoreAnswer(Answer):
    """Scores in the order of the texts."""

    model: str
    scores: list[ScoreFields]


class ReloadFields(Answer):
    """An attempt to put what a model's directory has now in the place of what is served."""

    at: str = Field(description="when it ended, ISO 8601")
    outcome: Outcome = Field(
        description="failed: the model before it goes on serving; kept: it came from no directory"
    )
    problem: str | None = Field(description="why it failed")


class ModelFields(Answer):
    """A model that is served."""

    name: str
    default: bool = Field(description="whether it is taken when a request names none")
    directions: list[tuple[str, str]] = Field(description="[source, target] languages")
    targets: list[str] = Field(description="languages that it translates into")
    detects: bool = Field(description="whether it can tell what language a text is in")
    vocabulary: int = Field(description="number of pieces")
    parameters: int = Field(description="number of trained numbers")
    hash: str = Field(description="changes whenever anything that decides translations does")
    directory_hash: str | None = Field(
        description="sha256 of its checksums.json, which lists all its files; null: it has none"
    )
    since: str = Field(description="when it began to be served, ISO 8601")
    reload: ReloadFields | None = Field(description="the last attempt to load it again")
    config: dict[str, str | float | bool | None] = Field(description="settings of the network")
    search: dict[str, str | float | bool | None] = Field(description="how it searches by default")
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
