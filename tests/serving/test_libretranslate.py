"""Clients made for LibreTranslate work unchanged."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from libretranslatepy import LibreTranslateAPI

from served import LIMIT, Running, serving
from translucid.decoding.config import SearchConfig
from translucid.serving.libretranslate import _search, detect, language_name, parse_form
from translucid.serving.problems import Problem


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Running) -> LibreTranslateAPI:
    return LibreTranslateAPI(server.url)


def test_the_client_from_pypi_translates(client: LibreTranslateAPI) -> None:
    assert client.translate("chat noir dort", "fr", "en") == "sleeps black cat"
    assert client.translate("chat noir\nmaison & eau", "fr", "en").startswith("black cat\n")


def test_the_client_from_pypi_lists_languages(client: LibreTranslateAPI) -> None:
    assert client.languages() == [
        {"code": "de", "name": "German", "targets": []},
        {"code": "en", "name": "English", "targets": ["de", "fr"]},
        {"code": "fr", "name": "French", "targets": ["de", "en"]},
    ]


def test_the_client_from_pypi_detects(client: LibreTranslateAPI) -> None:
    found = client.detect("Je ne sais pas où se trouve la bibliothèque.")
    assert found[0]["language"] == "fr"
    assert found[0]["confidence"] > 80
    assert {one["language"] for one in found} == {"fr", "en", "de"}
    assert sum(one["confidence"] for one in found) == pytest.approx(100, abs=0.2)


def test_the_client_from_pypi_sees_what_is_wrong(client: LibreTranslateAPI) -> None:
    with pytest.raises(HTTPError) as caught:
        client.translate("chat", "xx", "en")
    with caught.value as error:
        assert error.code == 400
        assert json.loads(error.read()) == {
            "error": "1 field cannot be used. source: 'xx' is not supported; there are auto, en, fr"
        }


def test_a_list_in_is_a_list_out(server: Running) -> None:
    texts = ["chat noir", "", "vieux livre"]
    body = {"q": texts, "source": "fr", "target": "en"}
    told = server.post("/translate", body).json()
    assert told == {"translatedText": ["black cat", "", "book old"]}


def test_the_source_is_found_out(server: Running) -> None:
    body = {"q": ["le petit chat noir mange dans la maison", "eau"], "source": "auto"}
    told = server.post("/translate", {**body, "target": "en"}).json()
    assert [one["language"] for one in told["detectedLanguage"]] == ["fr", "fr"]
    assert len(told["translatedText"]) == 2
    one = server.post("/translate", {"q": "eau", "source": "auto", "target": "en"}).json()
    assert one["translatedText"] == "water"
    assert set(one["detectedLanguage"]) == {"confidence", "language"}


def test_texts_of_several_languages_go_to_several_models(server: Running) -> None:
    texts = ["I do not know where the library is.", "Je ne sais pas où est la bibliothèque."]
    body = {"q": texts, "source": "auto", "target": "de"}
    told = server.post("/translate", body).json()
    assert [one["language"] for one in told["detectedLanguage"]] == ["en", "fr"]


def test_where_one_language_fails_the_others_are_given_up() -> None:
    french = "Je ne sais pas où se trouve la bibliothèque.\n" * 4
    english = "\n".join(["I do not know where the library is, and neither do you. " * 9] * 3)
    with serving({"max_sentences": 3}) as server:
        body = {"q": [french, english], "source": "auto", "target": "de"}
        answer = server.post("/translate", body)
        assert answer.status_code == 400
        assert "have 4 sentences" in answer.json()["error"]
        end = time.monotonic() + LIMIT
        while server.state.engine.running and time.monotonic() < end:
            server.client.get("/health/live")
        assert b'translucid_job_seconds_count{outcome="cancelled",request="translate"} 1.0' in (
            server.client.get("/metrics").content
        )


def test_alternatives(server: Running) -> None:
    body = {"q": "chat noir", "source": "fr", "target": "en"}
    told = server.client.post("/translate", data={**body, "alternatives": "3"}).json()
    assert told["translatedText"] == "black cat"
    assert len(told["alternatives"]) == 3
    assert "black cat" not in told["alternatives"]
    told = server.post("/translate", {**body, "q": ["chat", "eau"], "alternatives": 2}).json()
    assert [len(each) for each in told["alternatives"]] == [2, 2]


@pytest.mark.parametrize("kind", ["json", "data", "files"])
def test_bodies_of_all_kinds(server: Running, kind: str) -> None:
    text = "chat noir & maison=été"
    fields: Any = {"q": text, "source": "fr", "target": "en", "unknown": "is passed over"}
    if kind == "files":
        fields = {name: (None, value) for name, value in fields.items()}
    answer = server.client.post("/translate", **{kind: fields})
    assert answer.status_code == 200, answer.text
    plain = server.post("/translate", {"q": text, "source": "fr", "target": "en"})
    assert answer.json() == plain.json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": None}, "q: "),
        ({"target": None}, "target: is null: must be a valid string"),
        ({"target": "ja"}, "target: 'ja' is not supported; there are de, en, fr"),
        ({"format": "html"}, "format 'html' is not supported"),
        ({"format": "pdf"}, 'format: is "pdf"'),
        ({"alternatives": 16}, "alternatives: 16 is above the limit of 15"),
        ({"alternatives": -1}, "alternatives: is -1"),
        ({"alternatives": "many"}, 'alternatives: is "many"'),
        ({"q": "a" * 5001}, "5001 characters are above this server's limit of 5000"),
        ({"q": ["a"] * 65}, "65 entries are above this server's limit of 64"),
        ({"source": "en"}, "no model translates from 'en' into 'en'"),
    ],
)
def test_what_is_wrong_is_told_as_libretranslate_tells_it(
    server: Running, change: dict[str, Any], words: str
) -> None:
    answer = server.post("/translate", {"q": "chat", "source": "fr", "target": "en", **change})
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"q=%ff&source=fr&target=en", "application/x-www-form-urlencoded", "is not UTF-8"),
        (b"a&" * 200, "application/x-www-form-urlencoded", "more than 100 fields"),
        (b"no parts", "multipart/form-data", "name the boundary"),
        (b"<q/>", "text/xml", "send application/json or application/x-www-form-urlencoded"),
    ],
)
def test_forms_that_cannot_be_read(server: Running, content: bytes, kind: str, words: str) -> None:
    answer = server.client.post("/translate", content=content, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_a_form_is_read_as_it_was_written(fields: dict[str, str]) -> None:
    from urllib.parse import urlencode

    try:
        written = urlencode(fields).encode()
    except UnicodeEncodeError:
        return
    assert parse_form(written) == fields


def test_of_several_fields_of_one_name_the_first_counts() -> None:
    assert parse_form(b"q=a&q=b&r=") == {"q": "a", "r": ""}
    with pytest.raises(Problem):
        parse_form(b"\xff=1")


def test_health_and_settings(server: Running) -> None:
    assert server.client.get("/health").json() == {"status": "ok"}
    told = server.client.get("/frontend/settings").json()
    assert told["charLimit"] == 5000
    assert told["keyRequired"] is False
    assert told["language"]["source"] == {"code": "fr", "name": "French"}
    answer = server.client.delete("/translate")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert list(answer.json()) == ["error"]


def test_detection_is_among_the_languages_that_are_given() -> None:
    text = "Das ist ein Haus, und dort steht ein Baum."
    assert detect(text, ["fr", "de", "en"])[0].language == "de"
    assert {one.language for one in detect(text, ["fr", "en"])} == {"fr", "en"}
    assert detect(text, ["qq"])[0].confidence == 0
    known, unknown = detect(text, ["qq", "zh-Hans"])
    assert (known.language, known.confidence, unknown.language) == ("zh-Hans", 100, "qq")
    assert len(detect("", ["fr", "en"])) == 2


def test_languages_have_names() -> None:
    assert language_name("de") == "German"
    assert language_name("zh-Hans") == "Chinese"
    assert language_name("tlh") == "tlh"


def test_get_with_a_body_is_read(server: Running) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/languages", body=b"a=b")
    assert connection.getresponse().status == 200
    connection.close()


def test_alternatives_keep_to_the_widest_beam_and_need_one() -> None:
    assert _search(SearchConfig(beam=1), 1, most=2) == SearchConfig(beam=2, n_best=2)
    assert _search(SearchConfig(beam=1), 1, most=16).beam == 4
    assert _search(SearchConfig(method="greedy"), 2, most=16) == SearchConfig(beam=4, n_best=3)
    greedy = SearchConfig(method="greedy")
    assert _search(greedy, 0, most=16) is greedy
