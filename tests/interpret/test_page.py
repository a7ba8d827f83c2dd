"""The saved page: whole, self-contained, small enough, and with the numbers of its trace."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from drawn_traces import babbling, cut, long_trace, short_trace, taught

from saved_pages import saved_content, saved_tensors
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.interpret import page as page_module
from translucid.interpret.explain import explain
from translucid.interpret.film import record_frames
from translucid.interpret.lens import logit_lens
from translucid.interpret.network import AttentionHead
from translucid.interpret.page import STATIC, SavedRun, notebook, saved_page
from translucid.interpret.trace import Trace
from translucid.interpret.trace_json import summary_names, summary_tensor
from translucid.text.tokenizer import EOS

VOID = {"meta", "br", "link"}
KINDS = ["encoder", "decoder", "cross"]


class Checker(HTMLParser):
    """Follows the tags of a page: every one closed, ids unique, nothing loaded from anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append(values.get("type") or "")
        if found := values.get("id"):
            self.ids.append(found)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values.get("content") or ""
        links = [values.get(name) or "" for name in ("src", "srcset", "data", "href")]
        self.loads += [link for link in links if link and not link.startswith("data:")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> Checker:
    """Hold what must be true of every saved page."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    assert not checker.loads
    assert checker.scripts == ["module", "application/json", "application/octet-stream"]
    assert len(html) < 6_000_000
    return checker


def test_the_page_allows_its_own_script_and_style_alone() -> None:
    html = saved_page(short_trace()).html
    policy = checked(html).policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for tag, end in (('<script type="module">', "</script>"), ("<style>", "</style>")):
        start = html.index(tag) + len(tag)
        content = html[start : html.index(end, start)]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "connect-src" not in policy  # so nothing can be asked for


def test_the_page_has_the_numbers_of_its_trace_to_the_bit() -> None:
    trace = short_trace()
    saved = saved_page(trace, translator=taught(), target="en")
    assert saved.left_out == ()
    content, tensors = saved_content(saved.html), saved_tensors(saved.html)
    assert content["trace"]["translation"] == "sleeps black cat"
    assert set(content["trace"]["tensors"]) == set(trace.tensors)
    for name, tensor in trace.tensors.items():
        np.testing.assert_array_equal(tensors[name], tensor.numpy())
    for name in summary_names(trace):
        expected = summary_tensor(trace, name)
        assert expected is not None
        np.testing.assert_array_equal(tensors[name], expected.numpy())


def test_with_the_network_it_has_lenses_vocabulary_and_the_other_search() -> None:
    trace = short_trace()
    content = saved_content(saved_page(trace, translator=taught(), target="en").html)
    lens = logit_lens(taught(), trace)
    assert content["lens"]["logit"][1][2]["rank"] == lens.layers[1][2].rank
    assert len(content["lens"]["decoder"]) == trace.model.encoder_layers
    assert content["vocabulary"][EOS] == "</s>"
    assert len(content["vocabulary"]) == taught().tokenizer.vocab_size
    assert content["other"]["search"]["method"] == "greedy"
    assert content["other"]["tree"]["nodes"]
    assert content["model"]["directions"] == [["fr", "en"]]
    greedy = explain(taught(), "chat noir", search=SearchConfig(method="greedy"))
    other = saved_content(saved_page(greedy, translator=taught()).html)["other"]
    assert (other["search"]["method"], other["search"]["beam"]) == ("beam", 4)
    given = explain(taught(), "chat noir", given="cat black")
    assert saved_content(saved_page(given, translator=taught()).html)["other"] is None


def test_without_the_network_it_is_still_a_page() -> None:
    content = saved_content(saved_page(short_trace()).html)
    assert (content["lens"], content["vocabulary"], content["other"]) == (None, None, None)
    assert content["model"]["name"] == short_trace().model_name
    assert content["address"] == "#/explore/map"
    assert content["trace"]["id"] is None


def test_what_is_too_large_is_left_out_the_least_important_first() -> None:
    trace = long_trace()
    whole = saved_page(trace)
    assert whole.left_out == ()
    with pytest.MonkeyPatch.context() as patch:
        sizes = [page_module.MAX_NUMBERS, trace.bytes // 2, 1]
        found = []
        for size in sizes:
            patch.setattr(page_module, "MAX_NUMBERS", size)
            page = saved_page(trace)
            checked(page.html)
            assert saved_content(page.html)["left_out"] == list(page.left_out)
            tensors = saved_tensors(page.html)
            assert {f"rollout.{side}" for side in KINDS} <= set(tensors)
            assert [name for name in tensors if name.endswith(".weights")]
            assert set(saved_content(page.html)["trace"]["tensors"]) <= set(tensors)
            found.append(page.left_out)
    assert found[0] == ()
    assert len(found[1]) < len(found[2]) == 10
    assert "embeddings" not in found[1]


def test_light_traces_and_long_ones_have_a_page() -> None:
    light = explain(taught(), "chat noir", level="light")
    content = saved_content(saved_page(light, translator=taught()).html)
    assert content["lens"] is None
    assert all(name.endswith(".weights") for name in content["trace"]["tensors"])
    text = cut(babbling(), 200)
    checked(saved_page(explain(babbling(), text, given=text, level="light")).html)


@pytest.mark.parametrize("positions", ["none", "relative", "learned", "rotary"])
def test_a_page_can_be_made_whatever_the_positions(positions: str) -> None:
    checked(saved_page(long_trace(positions)).html)
    translator = babbling(positions)
    light = explain(translator, "a", given="b", level="light")
    checked(saved_page(light, translator=translator).html)


def test_a_translation_of_nothing_has_a_page() -> None:
    empty = explain(taught(), "chat", prefix=[EOS])
    checked(saved_page(empty, translator=taught()).html)


@pytest.mark.parametrize(
    "evil",
    [
        '</script><script>alert(1)</script><img src=x> & "quoted"',
        "<!--<script> --> ]]> </style></html>",
        "a\u2028b </SCRIPT >",
    ],
)
def test_a_text_cannot_break_out_of_the_page(evil: str) -> None:
    html = saved_page(explain(babbling(), evil, given=evil, level="light"), address=f"#{evil}").html
    checked(html)
    assert "<script>" not in html
    content = saved_content(html)
    assert content["trace"]["source"] == " ".join(evil.split(" ")).strip()
    assert content["address"] == f"#{evil}"
    after = html[html.index('id="saved">') + len('id="saved">') :]
    assert after.index("<") == after.index("</script>")


def test_a_run_brings_its_course_and_the_heads_of_every_frame() -> None:
    newest_first = [(200, taught()), (100, taught())]
    frames = tuple(record_frames(newest_first, "chat noir dort", target=None))[::-1]
    run = SavedRun({"name": "lesson"}, [{"event": "trained", "step": 100}], frames)
    html = saved_page(short_trace(), run=run).html
    content, tensors = saved_content(html), saved_tensors(html)
    assert content["run"]["run"]["name"] == "lesson"
    assert [frame["step"] for frame in content["run"]["frames"]] == [100, 200]
    assert content["run"]["source_tokens"][-1] == "</s>"
    for number, frame in enumerate(frames):
        expected = frame.trace.attention("cross", 1).numpy()
        np.testing.assert_array_equal(tensors[f"film.{number}.cross.1"], expected)


def test_heads_that_were_off_are_named() -> None:
    off = AttentionHead("cross", 0, 1)
    content = saved_content(saved_page(short_trace(), without=[off]).html)
    assert content["trace"]["without"] == [{"side": "cross", "layer": 0, "head": 1}]


def test_a_trace_saves_itself_as_a_page_and_shows_itself_in_a_notebook(tmp_path: Path) -> None:
    short_trace().save(tmp_path / "inside.html")
    html = (tmp_path / "inside.html").read_text(encoding="utf-8")
    assert html == saved_page(short_trace()).html
    short_trace().save(tmp_path / "inside.safetensors")
    assert Trace.load(tmp_path / "inside.safetensors").translation == "sleeps black cat"
    framed = notebook(short_trace())
    assert framed.startswith("<iframe srcdoc=")
    assert framed.count("<") == 2  # all of the page is inside the attribute


def test_the_built_page_is_one_script_and_one_style_sheet() -> None:
    names = sorted(path.name for path in (STATIC / "assets").iterdir())
    assert [re.sub(r"-[\w-]{8}\.", ".", name) for name in names] == ["index.js", "style.css"]
    for path in (STATIC / "assets").iterdir():
        assert not re.search(r"</(script|style)|<!--", path.read_text(encoding="utf-8"), re.I)


def test_where_the_page_is_not_built_other_files_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "STATIC", tmp_path)
    page_module._template.cache_clear()
    try:
        with pytest.raises(InputError, match="the explorer page is not built"):
            saved_page(short_trace())
    finally:
        page_module._template.cache_clear()
