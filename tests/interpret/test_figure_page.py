"""The page and the PNG: whole, self-contained, and readable without a script."""

from __future__ import annotations

import re
import struct
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from drawn_traces import babbling, cut, long_trace, short_trace, taught

from translucid.errors import InputError
from translucid.interpret.explain import explain
from translucid.interpret.figures import png as drawn_png
from translucid.interpret.figures.drawing import Drawing, text
from translucid.interpret.figures.page import notebook, page, panel_page
from translucid.interpret.figures.page_words import SECTIONS, told
from translucid.interpret.figures.panels import Choice, Material, draw
from translucid.interpret.figures.png import rasterised
from translucid.text.tokenizer import EOS

VOID = {"meta", "br"}


class Checker(HTMLParser):
    """Follows the tags of a page: every one closed, ids unique, nothing loaded from anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        values = dict(attrs)
        if found := values.get("id"):
            self.ids.append(found)
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
        self.loads += [f"{tag} {name}" for name in ("src", "srcset", "data") if name in values] + [
            tag for tag in [tag] if tag in ("link", "iframe", "object", "img", "base")
        ]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    assert not checker.loads
    assert all(link.startswith("#") and link[1:] in checker.ids for link in checker.links)
    outside = re.sub(r"http://www\.w3\.org/2000/svg", "", html)
    assert "http:" not in outside
    assert "https:" not in outside
    assert "url(" not in outside
    assert "@import" not in outside
    return checker


def titles(html: str) -> list[str]:
    return re.findall(r'role="img"><title>([^<]*)</title>', html)


def test_the_page_of_a_full_trace_has_all_panels_in_the_order_of_the_network() -> None:
    html = page(short_trace(), Material(short_trace(), taught()))
    checked(html)
    found = titles(html)
    beginnings = [
        "What enters the encoder", "Positional encoding", "Positional encoding: single",
        "Similarity of positions", "Self-attention of the encoder, layer 0, head 0: what",
        "Self-attention of the encoder, layer", "Self-attention of the encoder: all heads",
        "Residual stream", "Feed-forward of the encoder", "Attention rollout",
        "Masked self-attention of the decoder, layer", "Masked self-attention of the decoder: all",
        "Cross-attention, layer", "Cross-attention: all heads", "Cross-attention, layer",
        "Alignment", "Logit lens", "Decoder lens", "Steps", "Softmax", "Search tree", "Cache",
    ]  # fmt: skip
    assert len(found) == len(beginnings)
    for title, beginning in zip(found, beginnings, strict=True):
        assert title.startswith(beginning)
    assert "prefers-color-scheme: dark" in html
    assert "sleeps black cat" in html


def test_every_picture_of_the_page_is_sound_svg() -> None:
    html = page(short_trace(), Material(short_trace(), taught()))
    pictures = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(pictures) == len(titles(html))
    for svg in pictures:
        ElementTree.fromstring(svg)


@pytest.mark.parametrize("positions", ["none", "relative", "learned", "rotary"])
def test_a_page_can_be_made_whatever_the_positions(positions: str) -> None:
    html = page(long_trace(positions), choice=Choice(layer=1, head=3, step=2))
    checked(html)
    assert any("layer 1, head 3" in title for title in titles(html))


def test_light_traces_and_long_ones_have_a_page() -> None:
    light = page(explain(taught(), "chat noir", level="light"))
    checked(light)
    assert "record it with the level full" in light
    text = cut(babbling(), 200)
    long = page(explain(babbling(), text, given=text, level="light"))
    checked(long)
    assert len(long) < 6_000_000


@pytest.mark.parametrize("positions", ["none", "relative", "learned", "rotary"])
def test_a_light_trace_has_a_page_whatever_the_positions(positions: str) -> None:
    translator = babbling(positions)
    light = explain(translator, "a", given="b", level="light")
    checked(page(light, Material(light, translator)))


def test_a_translation_of_nothing_has_a_page() -> None:
    empty = explain(taught(), "chat", prefix=[EOS])
    checked(page(empty, Material(empty, taught())))


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        ("sinusoidal", "slow and fast waves"),
        ("learned", "a vector that was learned for each position"),
        ("rotary", "queries and keys are turned"),
        ("relative", "every score gets a bias"),
        ("none", "nothing tells it in this network"),
    ],
)
def test_the_page_tells_of_the_positions_that_the_network_has(positions: str, said: str) -> None:
    html = page(long_trace(positions))
    assert said in html
    assert ("waves" in html) == (positions == "sinusoidal")


def test_the_page_tells_where_the_norm_stands() -> None:
    pre, (section,) = short_trace(), [words for words in SECTIONS if words.anchor == "residuals"]
    assert "before, the sum is left as it is." in page(pre)
    post = pre.model.replace(norm="post")
    assert "and the sum is brought to a standard size." in told(section, post)


def test_a_layer_that_neither_stack_has_is_refused() -> None:
    trace = short_trace()
    assert trace.model.encoder_layers < trace.model.decoder_layers == 2
    titles_of = titles(page(trace, choice=Choice(layer=1)))
    assert any(title.startswith("Cross-attention, layer 1") for title in titles_of)
    with pytest.raises(InputError, match="layer 2: this network's deeper stack has 2, counted"):
        page(trace, choice=Choice(layer=2))


def test_a_text_cannot_break_out_of_the_page() -> None:
    evil = '</script><script>alert(1)</script><img src=x> & "quoted"'
    html = page(explain(babbling(), evil, given=evil, level="light"))
    checked(html)
    assert "<script>alert" not in html
    assert html.count("<script>") == 1


def test_a_panel_by_itself_and_a_notebook() -> None:
    html = panel_page(draw("cross", Material(short_trace()), Choice()))
    checked(html)
    assert len(titles(html)) == 1
    framed = notebook(short_trace())
    assert framed.startswith("<iframe srcdoc=")
    assert framed.count("<") == 2  # all of the page is inside the attribute


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_png_has_the_size_of_the_drawing_times_the_scale() -> None:
    drawing = draw("cross", Material(short_trace()), Choice(layer=0, head=0))
    for scale in (1.0, 2.0):
        width, height = size_of(drawn_png(drawing, scale=scale))
        assert abs(width - drawing.width * scale) <= 1
        assert abs(height - drawing.height * scale) <= 1


def test_png_has_its_words() -> None:
    empty = Drawing(60, 30, "t", "d", "")
    written = Drawing(60, 30, "t", "d", text(5, 20, "word"))
    assert drawn_png(empty) != drawn_png(written)


def test_a_png_that_would_be_huge_is_refused() -> None:
    with pytest.raises(InputError, match="PNG may have 100 million: write SVG"):
        rasterised("<svg/>", 30_000, 20_000, scale=2)
