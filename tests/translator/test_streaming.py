"""A translation as it grows: what is stable never changes, and the last one is `translate`'s."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_tokenizers import SENTENCES, small_tokenizer
from small_translators import sentences, write_random_model
from translucid.decoding.config import SearchConfig
from translucid.engines.base import Snapshot
from translucid.engines.live_search import LiveTree, common_prefix
from translucid.errors import InputError
from translucid.text.spans import SpanFinder
from translucid.translator import PartialTranslation, Translator, load
from translucid.translator.segmentation import Segmenter
from translucid.translator.streaming import GrowingText, run_in_background

SEARCHES = [
    SearchConfig(method="greedy", max_length=12),
    SearchConfig(beam=4, max_length=12),
    SearchConfig(beam=3, n_best=3, max_length=12, length_penalty=1.0),
    SearchConfig(method="diverse", beam=4, groups=2, max_length=12),
    SearchConfig(method="sampling", samples=3, max_length=12),
    SearchConfig(method="mbr", samples=3, max_length=12),
    SearchConfig(beam=3, coverage_penalty=0.3, max_length=12),
]


def check_stream(partials: list[PartialTranslation], whole: str) -> None:
    for before, after in itertools.pairwise(partials):
        assert after.stable.startswith(before.stable)
        assert before != after
    assert [partial.done for partial in partials] == [False] * (len(partials) - 1) + [True]
    assert all(partial.translation is None for partial in partials[:-1])
    last = partials[-1]
    assert (last.stable, last.tail) == (whole, "")
    assert last.translation is not None
    assert last.translation.text == whole


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: f"{search.method}{search.beam}")
def test_the_last_one_is_the_translation(babbling: Translator, search: SearchConfig) -> None:
    for text in [*SENTENCES[:4], "One line.\n\n  Another: 😀\n", "", " \n"]:
        partials = list(babbling.stream(text, search=search))
        (whole,) = babbling.translate([text], search=search)
        check_stream(partials, whole.text)
        found = partials[-1].translation
        assert found is not None
        assert [c.text for c in found.n_best] == [c.text for c in whole.n_best]
        assert found.flags == whole.flags
        assert found.score == pytest.approx(whole.score, abs=1e-4)


@pytest.mark.parametrize("kind", ["unigram", "word", "char"])
def test_every_tokenizer(tmp_path: Path, kind: str) -> None:
    translator = load(write_random_model(tmp_path / kind, kind=kind))
    search = SearchConfig(beam=3, max_length=15)
    for text in SENTENCES[:3]:
        check_stream(
            list(translator.stream(text, search=search)),
            translator.translate([text], search=search)[0].text,
        )


def test_a_stream_says_something_before_the_end(taught: Translator) -> None:
    """Not all do: the first word may be in doubt to the end."""
    early = 0
    for text in sentences(20, seed=5):
        partials = list(taught.stream(text))
        check_stream(partials, taught.translate([text])[0].text)
        early += any(0 < len(each.stable) < len(partials[-1].stable) for each in partials)
    assert early > 2
    assert any(partial.tail for partial in partials)


def test_what_translate_can_do_stream_can_do(taught: Translator) -> None:
    text = "chat noir\nlivre"
    *_, last = taught.stream(text, terms={"chat": "tree"}, prefix="old", alignment=True)
    (whole,) = taught.translate([text], terms={"chat": "tree"}, prefix=["old"], alignment=True)
    assert last.translation is not None
    assert last.translation.alignment is not None
    assert last.translation.text == whole.text
    assert whole.alignment is not None
    assert last.translation.alignment.links == whole.alignment.links


def test_errors_come_at_once(taught: Translator) -> None:
    with pytest.raises(InputError, match="number 1 of texts is None"):
        taught.stream(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="does not translate into 'de'"):
        taught.stream("chat", target="de")
    with pytest.raises(InputError, match="text 1: its prefix of 3 tokens"):
        taught.stream("chat", prefix="old old old", search=SearchConfig(max_length=2))


def test_errors_of_the_search_reach_the_reader() -> None:
    def fail(tell: Callable[[int], None]) -> None:
        tell(1)
        raise InputError("the search cannot be done")

    stream = run_in_background(fail)
    assert next(stream) == 1
    with pytest.raises(InputError, match="the search cannot be done"):
        next(stream)


def test_a_stream_that_is_not_read_to_its_end_ends_its_search(babbling: Translator) -> None:
    stream = babbling.stream("The cat sat.", search=SearchConfig(loop_guard=False))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stream")]


def test_work_in_the_background_ends_when_nobody_listens() -> None:
    told = []

    def work(tell: Callable[[int], None]) -> None:
        for number in range(10_000_000):
            tell(number)
            told.append(number)

    generator = run_in_background(work)
    assert next(generator) == 0
    generator.close()
    assert len(told) < 10_000_000


ROWS = st.lists(st.lists(st.integers(0, 2), max_size=5).map(tuple), min_size=1)


@given(ROWS)
def test_common_prefix(rows: list[tuple[int, ...]]) -> None:
    found = common_prefix(rows)
    assert all(row[: len(found)] == found for row in rows)
    assert len({row[len(found) : len(found) + 1] for row in rows}) > 1 or len(found) == min(
        map(len, rows)
    )


def test_a_live_tree_knows_what_may_still_win() -> None:
    tree = LiveTree()
    root = tree.root(0, 2)
    first = tree.add(0, root, 7, -0.1, -0.1, "kept")
    second = tree.add(0, root, 8, -0.5, -0.5, "kept")
    tree.add(0, root, 9, -0.9, -0.9, "dropped")
    assert tree.contenders() == [(7,), (8,)]
    tree.add(0, first, 3, -0.9, -1.0, "finished")
    third = tree.add(0, second, 5, -0.2, -0.7, "kept")
    assert tree.contenders() == [(8, 5), (7,)]
    tree.cut(0, third, -0.1)  # what went in circles ranks below what has ended, whatever its score
    assert tree.contenders() == [(7,)]


def test_of_what_went_in_circles_the_best_stays_while_nothing_has_ended() -> None:
    tree = LiveTree()
    root = tree.root(0, 2)
    nodes = [tree.add(0, root, token, -1.0, -1.0, "kept") for token in (7, 8, 9)]
    tree.cut(0, nodes[0], -2.0)
    tree.cut(0, nodes[1], -1.0)
    assert tree.contenders() == [(9,), (8,)]
    tree.add(0, nodes[2], 3, -5.0, -6.0, "finished")
    assert tree.contenders() == [(9,)]


@settings(max_examples=60)
@given(st.text(alphabet="aé€😀 \n語.", max_size=12), st.text(alphabet="bñ↔👍 語。", max_size=12))
def test_the_text_of_stable_tokens_is_stable(source: str, target: str) -> None:
    """Token by token, bytes of characters among them: what is shown is never taken back."""
    tokenizer = small_tokenizer("bpe")
    parts = Segmenter(tokenizer.encode, 3, SpanFinder(), placeholders=False).segment(source)
    growing = GrowingText(parts.segments, tokenizer.decode)
    tokens = tuple(tokenizer.encode(target.strip()))
    shown = [""]
    for _ in parts.segments:
        for length in range(len(tokens) + 1):
            partial = growing.partial(Snapshot(tokens[:length], tokens))
            shown.append(partial.stable)
            assert "\ufffd" not in partial.stable + partial.tail
        growing.add(tokens)
    for before, after in itertools.pairwise(shown):
        assert after.startswith(before)


def test_streams_follow_the_search_that_is_asked_for(taught: Translator) -> None:
    sources = sentences(5, seed=2)
    for source in sources:
        *_, last = taught.stream(source, search=SearchConfig(method="greedy"))
        (whole,) = taught.translate([source], search=SearchConfig(method="greedy"))
        assert last.stable == whole.text
