"""What LibreTranslate's clients send: JSON, or a form in either of its two encodings."""

from __future__ import annotations

import itertools
import re
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag

from translucid.serving.bodies import (
    LIST_TAG,
    TEXT_TAG,
    check_characters,
    check_media_type,
    media_type,
    parsed_json,
    utf8,
    validated,
)
from translucid.serving.problems import Problem
from translucid.serving.schemas import Answer, AtMost, Body, Text, Texts
from translucid.serving.settings import ServingConfig

JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
_MOST_FIELDS = 100
_DISPOSITION = re.compile(rb"^content-disposition:(.*)", re.IGNORECASE | re.MULTILINE)
Wanted = TypeVar("Wanted", bound=Body)


def _number(value: Any) -> Any:
    """Return the number that a form has as text; what is none is refused as it stands."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _tag(value: Any) -> str:
    return LIST_TAG if isinstance(value, list) else TEXT_TAG


TextOrTexts = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[Texts, Tag(LIST_TAG)], Discriminator(_tag)
]


class LibreBody(Body):
    """Base of what these clients send; fields that are not known are passed over, as there."""

    model_config = ConfigDict(extra="ignore")


class LibreTranslateBody(LibreBody):
    """A text or several to translate."""

    q: TextOrTexts = Field(description="text, or list of texts", examples=["Le chat dort."])
    source: Annotated[str, Field(max_length=35)] = Field(
        description="language of the text, or 'auto'", examples=["auto"]
    )
    target: Annotated[str, Field(max_length=35)] = Field(
        description="language to translate into", examples=["en"]
    )
    format: Literal["text", "html"] = Field(
        "text", description="'text'; 'html' is known but refused: markup would be translated too"
    )
    alternatives: Annotated[int, BeforeValidator(_number), Field(ge=0), AtMost("max_n_best")] = (
        Field(0, description="further translations of each text")
    )
    api_key: Annotated[str, Field(max_length=1000)] | None = Field(None, description="API key")


class LibreDetectBody(LibreBody):
    """A text whose language is asked for."""

    q: Text = Field(description="text", examples=["Le chat dort."])
    api_key: Annotated[str, Field(max_length=1000)] | None = Field(None, description="API key")


class DetectedFields(Answer):
    """A language that a text may be in."""

    confidence: float = Field(description="0 to 100", examples=[98.0])
    language: str = Field(examples=["fr"])


class LibreTranslation(Answer):
    """Translations; lists where `q` was a list. What was not asked for is left out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    translatedText: str | list[str]
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: DetectedFields | list[DetectedFields] | None = None


class LibreLanguage(Answer):
    """A language that is served, and those that it is translated into."""

    code: str
    name: str
    targets: list[str]


class LibreError(Answer):
    """What went wrong, as LibreTranslate tells it."""

    error: str


class LibreHealth(Answer):
    """The server answers."""

    status: str


async def libre_body(request: Request, model: type[Wanted]) -> Wanted:
    """Return the fields of a body in any of the encodings that these clients use."""
    settings: ServingConfig = request.app.state.settings
    check_media_type(request, JSON, FORM, MULTIPART)
    raw, kind = await request.body(), media_type(request)
    if kind == JSON:
        return validated(model, parsed_json(raw, settings.max_json_depth), settings)
    fields = form_fields(raw) if kind == FORM else multipart_fields(raw, request.headers)
    for text in fields.values():
        check_characters(text)
    return validated(model, fields, settings)


def form_fields(raw: bytes) -> dict[str, str]:
    """Return the fields of a form; of several of one name, the first."""
    try:
        pairs = parse_qsl(
            utf8(raw), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except UnicodeDecodeError as error:
        raise Problem(
            "bad-encoding", "a field of the form is not UTF-8: encode its text as UTF-8"
        ) from error
    except ValueError as error:
        raise _too_many_fields() from error
    return dict(reversed(pairs))


def multipart_fields(raw: bytes, headers: Any) -> dict[str, str]:
    """Return the text fields of a form in parts; of several of one name, the first."""
    boundary = _parameter("boundary", headers["content-type"])
    parts = _parts(raw, boundary.encode("latin-1")) if boundary else []
    if not parts:
        raise Problem(
            "unusable-input",
            "the form's parts cannot be told from each other: name the "
            "boundary in the Content-Type, as HTTP libraries do by themselves",
        )
    if len(parts) > _MOST_FIELDS:
        raise _too_many_fields()
    fields: dict[str, str] = {}
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        disposition = _DISPOSITION.search(head)
        name = _parameter("name", disposition[1].decode("latin-1")) if disposition else None
        if name is not None:
            fields.setdefault(name, utf8(content))
    return fields


def _parts(raw: bytes, boundary: bytes) -> list[bytes]:
    """Return what stands between the boundaries, one more part than a form may have at most."""
    line = re.compile(rb"\r\n--" + re.escape(boundary) + rb"(?=--|[ \t]*\r\n)")
    pieces = line.split(b"\r\n" + raw, _MOST_FIELDS + 2)[1:]
    return list(itertools.takewhile(lambda piece: not piece.startswith(b"--"), pieces))


def _parameter(name: str, header: str) -> str | None:
    """Return a parameter of a header's value.

    >>> _parameter("name", 'form-data; filename=a; name="q"')
    'q'
    """
    found = re.search(rf';\s*{name}=(?:"([^"]*)"|([^;\s"]+))', header, re.IGNORECASE)
    return None if found is None else found[1] or found[2]


def _too_many_fields() -> Problem:
    return Problem("unusable-input", f"the form has more than {_MOST_FIELDS} fields: send fewer")
