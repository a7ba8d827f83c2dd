"""Who may call the server: keys, names, other sites, headers; and what the log says of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import Running, serving
from translucid.errors import DataError, InputError
from translucid.serving.auth import Access, Keys, allowed_hosts, host_name, is_loopback, read_keys
from translucid.serving.middleware import CONTENT_SECURITY_POLICY

KEY, OTHER = "a-key-of-enough-length", "another-key-of-some-length"
ORIGIN = "https://example.org"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    access = Access(
        keys=Keys([KEY, OTHER]),
        hosts=allowed_hosts("127.0.0.1", ["translate.example.org"]),
        origins=(ORIGIN,),
        log_text=True,
    )
    with serving(access=access) as running:
        yield running


def test_keys_are_accepted_in_any_order_and_nothing_else_is() -> None:
    keys = Keys([KEY, OTHER, KEY])
    assert len(keys) == 2
    assert keys.accepts(KEY)
    assert keys.accepts(OTHER)
    for wrong in ("", KEY[:-1], KEY + " ", KEY.upper(), f"{KEY},{OTHER}", "\ud800"):
        assert not keys.accepts(wrong)
    assert KEY not in repr(vars(keys))
    assert not Keys(()).accepts("")


def test_keys_come_from_a_file_and_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# the office\n{KEY}\n\n  {OTHER}  \n")
    monkeypatch.setenv("TRANSLUCID_API_KEYS", "one-more-key-of-16, ")
    keys = read_keys(file)
    assert [keys.accepts(key) for key in (KEY, OTHER, "one-more-key-of-16")] == [True] * 3
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("short\n", "line 1: a key has at least 16 characters"),
        (f"{KEY}\nwith a space in between\n", "line 2: a key has at least 16 characters"),
        ("# nothing\n", "has no keys"),
    ],
)
def test_a_file_without_sound_keys_is_refused_without_telling_one(
    tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    with pytest.raises((InputError, DataError), match=words) as caught:
        read_keys(file)
    assert "secrets.token_urlsafe" in str(caught.value)
    assert "space in between" not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_keys(tmp_path / "keys")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_keys(tmp_path / "bytes")


def test_a_wrong_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLUCID_API_KEYS", f"{KEY},short")
    with pytest.raises(InputError, match="TRANSLUCID_API_KEYS, 2"):
        read_keys(None)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.9.1", "[::1]"])
def test_an_own_address_has_own_names(host: str) -> None:
    assert is_loopback(host)
    more = {host} if host == "127.8.9.1" else set()
    assert allowed_hosts(host, []) == {"localhost", "127.0.0.1", "[::1]", *more}


def test_an_open_address_has_any_name_until_names_are_given() -> None:
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    assert allowed_hosts("0.0.0.0", []) is None
    own = {"localhost", "127.0.0.1", "[::1]"}
    for open_to_all in ("0.0.0.0", "::"):
        assert allowed_hosts(open_to_all, ["Box.local:8443"]) == {*own, "box.local"}
    assert allowed_hosts("192.168.1.5", ["box.local"]) == {*own, "192.168.1.5", "box.local"}
    assert allowed_hosts("fe80::1", ["box.local"]) == {*own, "[fe80::1]", "box.local"}


@pytest.mark.parametrize(
    ("header", "name"),
    [("LocalHost:80", "localhost"), ("[::1]:8000", "[::1]"), ("a.b", "a.b"), ("", "")],
)
def test_a_host_header_is_a_name_and_a_port(header: str, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "no API key was sent"),
        ({"Authorization": "Basic abc"}, "no API key was sent"),
        ({"Authorization": "Bearer wrong"}, "the API key is not one of this server's"),
        ({"Authorization": f"Bearer {KEY}x"}, "the API key is not one of this server's"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/v1/nothing"])
def test_without_a_key_the_api_is_closed(
    server: Running, headers: dict[str, str], words: str, path: str
) -> None:
    answer = server.client.get(path, headers=headers)
    detail = server.problem(answer, 401, "wrong-key")
    assert words in detail
    assert "Authorization: Bearer KEY" in detail
    assert "wrong" not in detail
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_with_a_key_it_is_open(server: Running, key: str) -> None:
    headers = {"Authorization": f"bearer {key}"}
    assert server.client.get("/v1/models", headers=headers).status_code == 200
    assert server.client.get("/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path", ["/health/live", "/health/ready", "/health", "/docs", "/openapi.json", "/languages"]
)
def test_what_tells_nothing_is_open_to_all(server: Running, path: str) -> None:
    assert server.client.get(path).status_code in (200, 503)


def test_libretranslate_clients_send_the_key_in_the_body(server: Running) -> None:
    body = {"q": "chat", "source": "fr", "target": "en"}
    refused = server.post("/translate", body)
    assert refused.status_code == 403
    assert "api_key" in refused.json()["error"]
    for sent in ({"json": {**body, "api_key": KEY}}, {"data": {**body, "api_key": KEY}}):
        assert server.client.post("/translate", **sent).json() == {"translatedText": "cat"}
    headers = {"Authorization": f"Bearer {KEY}"}
    assert server.post("/translate", body, headers=headers).status_code == 200
    assert server.client.get("/detect", params={"q": "chat"}).status_code == 403
    assert server.client.get("/detect", params={"q": "chat", "api_key": KEY}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[::2]:80", ""])
def test_a_name_that_was_pointed_here_is_refused(server: Running, host: str) -> None:
    answer = server.client.get("/health/live", headers={"Host": host})
    detail = server.problem(answer, 421, "wrong-host")
    assert "--allow-host NAME" in detail
    assert "translate.example.org" in detail


NO_HOSTS = (
    *("localhost@evil.example", "localhost:80@evil.example", "user:word@localhost", "[::1]evil"),
    *(
        "[::1]:80evil",
        "[::1",
        "localhost:80:80",
        "localhost/x",
        "localhost:x",
        "a b",
        "[x]",
        "\xe9",
    ),
)


@pytest.mark.parametrize("host", NO_HOSTS)
def test_a_host_header_with_anything_else_in_it_is_refused(server: Running, host: str) -> None:
    answer = server.client.get("/health/live", headers={"Host": host.encode("latin-1")})
    assert "a port" in server.problem(answer, 400, "bad-request")
    assert answer.headers["connection"] == "close"


def test_so_it_is_where_the_server_has_any_name() -> None:
    with serving(access=Access(hosts=None)) as server:
        for host in NO_HOSTS:
            answer = server.client.get("/health/live", headers={"Host": host.encode("latin-1")})
            server.problem(answer, 400, "bad-request")
        assert server.client.get("/health/live", headers={"Host": "any.name:1"}).status_code == 200


def test_a_name_to_allow_is_a_name() -> None:
    with pytest.raises(InputError, match="--allow-host box/local: give a host name"):
        allowed_hosts("127.0.0.1", ["box/local"])


@pytest.mark.parametrize("host", ["localhost", "[::1]:9", "TRANSLATE.example.org:443"])
def test_names_of_the_server_are_accepted(server: Running, host: str) -> None:
    assert server.client.get("/health/live", headers={"Host": host}).status_code == 200


def test_pages_of_other_sites_may_not_post(server: Running) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    answer = server.client.post("/translate", data={"q": "chat"}, headers=headers)
    assert answer.status_code == 403
    assert "https://evil.example" in answer.json()["error"]
    answer = server.client.post("/v1/translate", headers=headers)
    assert "--allow-origin" in server.problem(answer, 403, "wrong-origin")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},  # a picture of that address
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Origin": "http://127.0.0.1:1"},
        {"Origin": "https://evil.example"},  # over plain HTTP, that is all that browsers send
        {"Origin": "null"},
    ],
)
def test_nor_may_they_make_the_server_work_otherwise(
    server: Running, headers: dict[str, str]
) -> None:
    sent = {**headers, "Authorization": f"Bearer {KEY}"}
    for path in ("/v1/models", "/v1/trace/x/lens"):
        answer = server.client.get(path, headers=sent)
        server.problem(answer, 403, "wrong-origin")
    assert server.client.get("/detect", params={"q": "chat"}, headers=sent).status_code == 403
    answer = server.client.post("/v1/translate", json={"texts": ["chat"]}, headers=sent)
    server.problem(answer, 403, "wrong-origin")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},  # a link was followed
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://behind-a-proxy.example"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://LOCALHOST:9", "Host": "localhost:9"},
    ],
)
def test_links_and_the_own_page_are_no_pages_of_other_sites(
    server: Running, headers: dict[str, str]
) -> None:
    assert server.client.get("/health/live", headers=headers).status_code == 200


def test_pages_of_a_site_that_is_allowed_may(server: Running) -> None:
    asking = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    preflight = server.client.options("/v1/translate", headers=asking)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == ORIGIN
    sent = {"Authorization": f"Bearer {KEY}", "Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}
    answer = server.client.post("/v1/translate", json={"texts": ["chat"]}, headers=sent)
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "cross-origin-resource-policy" not in answer.headers
    other = server.client.options("/v1/translate", headers={**asking, "Origin": "https://x.y"})
    assert "access-control-allow-origin" not in other.headers


def test_without_origins_there_is_no_cors_and_every_answer_has_the_headers() -> None:
    with serving() as server:
        for path in ("/health/live", "/docs", "/nothing", "/v1/models", "/"):
            answer = server.client.get(path, headers={"Origin": ORIGIN})
            assert "access-control-allow-origin" not in answer.headers
            assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cross-origin-opener-policy"] == "same-origin"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert "permissions-policy" in answer.headers
            assert "server" not in answer.headers
            assert "cache-control" in answer.headers


def test_the_log_has_text_only_if_asked_and_never_a_key(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "petit arbre vieux"
    with caplog.at_level(logging.INFO, "translucid.serving"), serving() as quiet:
        quiet.post("/v1/translate", {"texts": [secret]})
        quiet.client.get(f"/v1/models/{secret}/vocabulary?q={secret}")
        quiet.client.get(f"/{secret}")
    assert "POST /v1/translate 200" in caplog.text
    assert "GET /v1/models/{name:path}/vocabulary 404" in caplog.text
    assert "GET (no route) 404" in caplog.text
    assert "petit" not in caplog.text
    with caplog.at_level(logging.INFO, "translucid.serving"):
        headers = {"Authorization": f"Bearer {KEY}"}
        server.post("/v1/translate", {"texts": [secret]}, headers=headers)
        server.post("/v1/translate/stream", {"text": secret}, headers=headers)
        server.client.get("/detect", params={"q": "chat", "api_key": KEY})
    assert caplog.text.count("text 'petit arbre vieux' became 'old tree small'") == 2
    assert KEY not in caplog.text


def test_texts_are_logged_where_that_was_asked_for(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="translucid.serving")
    headers = {"Authorization": f"Bearer {KEY}"}
    for path, body in (
        ("/v1/translate", {"texts": ["chat"]}),
        ("/v1/trace", {"text": "chat"}),
        ("/v1/score", {"sources": ["chat"], "targets": ["cat"]}),
    ):
        caplog.clear()
        assert server.post(path, body, headers=headers).is_success
        assert "text 'chat' became 'cat'" in caplog.text, path
