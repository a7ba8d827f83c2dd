"""Bodies: what is sound comes through unchanged, anything else is a Problem and nothing worse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from translucid.serving.bodies import fault_of, parsed_json, validated
from translucid.serving.compat_forms import multipart_fields
from translucid.serving.problems import Problem
from translucid.serving.settings import ServingConfig
from translucid.serving.translation_schemas import TranslateBody

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
    assert parsed_json(json.dumps(value, ensure_ascii=plain).encode(), 64) == value


@given(st.integers(0, 40), st.integers(1, 20))
def test_depth_is_counted_in_brackets(deep: int, limit: int) -> None:
    body = b"[" * deep + b"1" + b"]" * deep
    if deep <= limit:
        assert depth(parsed_json(body, limit)) == deep
    else:
        with pytest.raises(Problem, match=f"deeper than {limit}"):
            parsed_json(body, limit)


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf{}")
@example(b'{"a": 1e400}')
@example(b"1" * 5000)
def test_any_bytes_are_a_value_or_a_problem(raw: bytes) -> None:
    status = 400
    try:
        value = parsed_json(raw, 8)
        status = 422
        validated(TranslateBody, value, ServingConfig())
    except Problem as problem:
        found = problem
    else:
        return
    assert found.kind.status == status
    assert found.detail
    assert bool(found.faults) == (status == 422)


@given(st.binary(max_size=200), st.text("ab\"';= -", max_size=20))
def test_any_parts_are_fields_or_a_problem(raw: bytes, boundary: str) -> None:
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    try:
        fields = multipart_fields(b"--a\r\n" + raw + b"\r\n--a--\r\n", headers)
    except Problem:
        return
    assert all(isinstance(text, str) for text in fields.values())


def test_a_long_value_is_not_repeated_in_full() -> None:
    with pytest.raises(Problem) as caught:
        validated(TranslateBody, {"texts": ["a"], "alignment": "x" * 900_000}, ServingConfig())
    assert len(caught.value.detail) < 300
    with pytest.raises(Problem) as caught:
        validated(TranslateBody, {"texts": ["a"], "y" * 900_000: 1}, ServingConfig())
    assert len(caught.value.detail) < 900


def test_many_faults_are_told_but_not_without_end() -> None:
    with pytest.raises(Problem) as caught:
        validated(TranslateBody, {"texts": [1] * 50_000}, ServingConfig())
    assert len(caught.value.faults) <= 20
    assert "49,980 more" in caught.value.detail


def test_a_fault_of_a_parameter_has_no_body_to_look_into() -> None:
    with pytest.raises(ValidationError) as caught:
        TranslateBody.model_validate({"texts": [], "x": 1}, context=ServingConfig())
    (detail,) = caught.value.errors()
    assert fault_of(None, detail).problem == "unknown field; leave it out"
