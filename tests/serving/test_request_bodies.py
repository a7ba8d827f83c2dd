"""Bodies: what is sound comes through unchanged, anything else is a Problem and nothing worse."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from translucid.serving.config import ServingConfig
from translucid.serving.libretranslate import parse_multipart
from translucid.serving.problems import Problem
from translucid.serving.request_bodies import _object, describe_fault, parse_json, validate_body
from translucid.serving.schemas import TranslateBody

LIMITS = ServingConfig()
characters = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | characters,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(characters, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(values, st.booleans())
def test_a_sound_value_comes_through_unchanged(value: Any, plain: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=plain).encode(), 64) == value


@given(st.integers(0, 40), st.integers(1, 20))
def test_depth_is_counted_in_brackets(deep: int, limit: int) -> None:
    body = b"[" * deep + b"1" + b"]" * deep
    if deep <= limit:
        assert depth(parse_json(body, limit)) == deep
    else:
        with pytest.raises(Problem, match=f"deeper than {limit}"):
            parse_json(body, limit)


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf{}")
@example(b'{"a": 1e400}')
@example(b"1" * 5000)
def test_any_bytes_are_a_value_or_a_problem(raw: bytes) -> None:
    status = 400
    try:
        value = parse_json(raw, 8)
        status = 422
        validate_body(TranslateBody, value, ServingConfig())
    except Problem as problem:
        found = problem
    else:
        return
    assert found.kind.status == status
    assert found.detail
    assert bool(found.faults) == (status == 422)


@given(st.dictionaries(st.text("abcxyz", min_size=1), characters, min_size=1, max_size=5))
@example({"a": "\r\n--", "b": "\r\n\r\n"})
def test_parts_are_what_a_client_sent(fields: dict[str, str]) -> None:
    parts = {name: (None, text.encode()) for name, text in fields.items()}
    sent = httpx.Request("POST", "http://localhost", files=parts)
    assert parse_multipart(sent.read(), sent.headers) == fields


def test_only_a_whole_line_divides_parts() -> None:
    part = b'--b\r\nContent-Disposition: form-data; filename="f"; name="q"\r\n\r\n'
    raw = b"before\r\n" + part + b"x\r\n--bc\r\n--b \t\r\n\r\nno name\r\n--b--\r\n" + part
    headers = {"content-type": 'Multipart/Form-Data; charset=x; Boundary="b"'}
    assert parse_multipart(raw, headers) == {"q": "x\r\n--bc"}


@pytest.mark.parametrize(
    "raw",
    [
        b"--b\r\nContent-Disposition: form-data; name=" + b"(" * 5000 + b"\r\n\r\nx\r\n--b--",
        b"".join(b"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" for _ in range(90)),
    ],
)
def test_parts_are_not_looked_into(raw: bytes) -> None:
    found = parse_multipart(raw, {"content-type": "multipart/form-data; boundary=b"})
    assert set(found.values()) <= {"x"}


def test_a_form_has_a_number_of_parts_at_most() -> None:
    part = b"--b\r\nContent-Disposition: form-data; name=q\r\n\r\nx\r\n"
    headers = {"content-type": "multipart/form-data; boundary=b"}
    assert parse_multipart(part * 100 + b"--b--", headers) == {"q": "x"}
    with pytest.raises(Problem, match="more than 100 fields: send fewer"):
        parse_multipart(part * 101 + b"--b--", headers)


@given(st.binary(max_size=200), st.text("ab\"';= -", max_size=20))
def test_any_parts_are_fields_or_a_problem(raw: bytes, boundary: str) -> None:
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    try:
        fields = parse_multipart(b"--a\r\n" + raw + b"\r\n--a--\r\n", headers)
    except Problem:
        return
    assert all(isinstance(text, str) for text in fields.values())


def test_a_long_value_is_not_repeated_in_full() -> None:
    with pytest.raises(Problem) as caught:
        validate_body(TranslateBody, {"texts": ["a"], "alignment": "x" * 900_000}, ServingConfig())
    assert len(caught.value.detail) < 300
    with pytest.raises(Problem) as caught:
        validate_body(TranslateBody, {"texts": ["a"], "y" * 900_000: 1}, ServingConfig())
    assert len(caught.value.detail) < 900


def test_many_faults_are_told_but_not_without_end() -> None:
    with pytest.raises(Problem) as caught:
        validate_body(
            TranslateBody, {"texts": [], **dict.fromkeys(map(str, range(50_000)))}, LIMITS
        )
    assert len(caught.value.faults) == 20
    assert "49,980 more" in caught.value.detail


@pytest.mark.parametrize("name", ["texts", "prefixes", "forbidden"])
def test_entries_of_a_list_that_is_too_long_are_not_looked_at(name: str) -> None:
    with pytest.raises(Problem) as caught:
        validate_body(TranslateBody, {"texts": ["a"], name: [1] * 50_000}, LIMITS)
    (fault,) = caught.value.faults
    assert fault.problem.startswith("50000 entries are above")


class Compared(str):
    """A key that counts how often it is compared."""

    count = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]


def test_a_key_that_stands_twice_is_found_in_linear_time() -> None:
    keys = [Compared(number) for number in [*range(1000), 999]]
    with pytest.raises(Problem, match='"999" occurs twice'):
        _object([(key, 1) for key in keys])
    assert Compared.count < 20 * len(keys)


def test_a_fault_of_a_parameter_has_no_body_to_look_into() -> None:
    with pytest.raises(ValidationError) as caught:
        TranslateBody.model_validate({"texts": [], "x": 1}, context=ServingConfig())
    (detail,) = caught.value.errors()
    assert describe_fault(None, detail).problem == "unknown field; leave it out"
