"""Which engine computes what, and that both find the same translations."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import translucid.engines
from small_translators import (
    reversed_translation,
    sentences,
    write_random_model,
    write_taught_model,
)
from translucid.checkpoint.model_directory import (
    WEIGHTS,
    load_model,
    named_weights,
    save_precision,
)
from translucid.checkpoint.store import write_tensors
from translucid.checksums import write_checksums
from translucid.decoding.config import SearchConfig
from translucid.engines.base import SearchOptions
from translucid.engines.ctranslate2 import _cut
from translucid.errors import DataError, InputError, MissingPackageError
from translucid.text.spans import SpanFinder
from translucid.translator import PartialTranslation, Translator, load

GREEDY = SearchConfig(method="greedy", extra_length=5)
BOTH_WAYS = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_taught_model(tmp_path_factory.mktemp("taught") / "taught")


@pytest.fixture(scope="module")
def random_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that was never trained: it repeats itself and ignores placeholders."""
    path = tmp_path_factory.mktemp("random") / "random"
    return write_random_model(path, placeholders=True, generation=BOTH_WAYS, tying="none")


@pytest.fixture
def no_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engines believe that PyTorch is not installed; loading it fails the test."""
    monkeypatch.setattr(translucid.engines, "_has_pytorch", lambda: False)
    monkeypatch.setattr(
        "translucid.engines.Engines.pytorch", property(lambda _: pytest.fail("PyTorch was asked"))
    )


def texts_of(count: int, seed: int) -> list[str]:
    words = ["The", "cat", "sat", "on", "mat", "Où", "est", "l'eau", "été", "?"]
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(count)]


def test_auto_takes_the_fast_engine(folder: Path) -> None:
    assert load(folder).engines.description == "ctranslate2 float32"
    assert load(folder, precision="int8").engines.description == "ctranslate2 int8"
    assert load(folder, engine="pytorch").engines.description == "pytorch"


def test_a_model_says_how_precise_its_weights_must_be(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    save_precision(path, "int8")
    assert load(path).engines.description == "ctranslate2 int8"
    assert load(path, precision="float32").engines.description == "ctranslate2 float32"


@pytest.mark.parametrize("search", [GREEDY, SearchConfig(beam=4)], ids=["greedy", "beam"])
def test_both_engines_find_the_same(folder: Path, search: SearchConfig) -> None:
    sources = sentences(200, seed=7)
    fast, slow = (
        load(folder, engine=engine).translate(sources, search=search, token_scores=True)
        for engine in ("ctranslate2", "pytorch")
    )
    for one, other in zip(fast, slow, strict=True):
        assert one.tokens == other.tokens
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


@pytest.mark.parametrize("form", ["paper", "plain"])
def test_hypotheses_are_ranked_by_our_penalty(folder: Path, form: Any) -> None:
    options: dict[str, Any] = {"beam": 4, "n_best": 4, "length_penalty": 2.0, "length_form": form}
    for one in load(folder, engine="ctranslate2").translate(sentences(30, seed=2), **options):
        scores = [candidate.score for candidate in one.n_best]
        assert scores == sorted(scores, reverse=True)
        for candidate in one.n_best:
            n = candidate.length
            penalty = ((5 + n) / 6) ** 2 if form == "paper" else n**2
            assert candidate.score == pytest.approx(candidate.log_prob / penalty, abs=1e-5)


def test_greedy_tokens_are_identical_for_a_network_that_knows_nothing(random_folder: Path) -> None:
    sources = texts_of(60, seed=3)
    fast, slow = (
        load(random_folder, engine=engine).translate(sources, target="en", search=GREEDY)
        for engine in ("auto", "pytorch")
    )
    assert [one.tokens for one in fast] == [one.tokens for one in slow]
    assert [one.flags for one in fast] == [one.flags for one in slow]


def test_what_the_fast_engine_cannot_do_is_done_by_pytorch(folder: Path) -> None:
    translator = load(folder)
    assert "tree" in translator.translate("chat noir", terms={"chat": "tree"}).text
    assert translator.translate("chat noir", method="diverse", beam=2).text == "black cat"
    assert translator.translate("chat noir", coverage_penalty=0.1).text == "black cat"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"terms": {"chat": "tree"}}, "terms"),
        ({"method": "mbr", "samples": 2}, "the method 'mbr'"),
        ({"no_repeat_ngram": 2}, "the setting no_repeat_ngram"),
        ({"max_length": 5000}, "texts or translations of more than 1024 tokens"),
    ],
)
def test_what_it_cannot_do_is_refused_where_nothing_else_may(
    folder: Path, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=f"engine = 'ctranslate2' cannot do this: {named}"):
        load(folder, engine="ctranslate2").translate("chat", **options)


def test_forbidden_words_change_no_probability(folder: Path) -> None:
    """Whether or not those of the tokens were asked for, and with either engine."""
    scores = []
    for engine, token_scores in (("auto", False), ("auto", True), ("pytorch", False)):
        translator = load(folder, engine=engine)  # type: ignore[arg-type]
        one = translator.translate("chat noir", forbidden=["black"], token_scores=token_scores)
        scores.append((one.text, pytest.approx(one.log_prob, abs=1e-3)))
    assert scores[0] == scores[1] == scores[2]


def test_an_engine_that_was_chosen_is_not_left(folder: Path) -> None:
    translator = load(folder, engine="ctranslate2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "translucid.engines.Engines.pytorch", property(lambda _: pytest.fail("PyTorch asked"))
        )
        assert translator.translate("chat noir dort", max_length=2).flags.truncated
        with pytest.raises(InputError, match="scores up to 1024 tokens, and a pair has 1502"):
            translator.score(["chat " * 1501], ["cat"])


def test_a_loop_inside_a_finished_translation_is_seen() -> None:
    options = SearchOptions(SearchConfig(), (), (), (), str)
    assert _cut((*[7, 4, 5] * 12, 9, 9), 100, options)[1] == "loop"
    assert _cut((*[7, 4, 5] * 4, 9, 9), 100, options)[1] == "end"


def test_a_model_that_it_cannot_compute_is_refused_or_left_to_pytorch(tmp_path: Path) -> None:
    odd = write_random_model(tmp_path / "odd", d_k=4, d_v=8)
    assert load(odd).engines.description == "pytorch"
    with pytest.raises(InputError, match="cannot be used: its heads have d_k = 4 and d_v = 8"):
        load(odd, engine="ctranslate2")
    with pytest.raises(InputError, match="it averages no ensembles"):
        load(odd, odd, engine="ctranslate2")


def test_engines_that_do_not_exist_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match="engine = 'ctranslate'; did you mean 'ctranslate2'"):
        load(folder, engine="ctranslate")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="precision = 'int4'; did you mean 'int8'"):
        load(folder, precision="int4")  # type: ignore[arg-type]


def test_a_model_that_was_replaced_is_not_mixed_with_its_successor(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    translator, other = load(path), load(path)
    assert translator.translate("chat noir").text == "black cat"
    write_random_model(path)
    assert translator.hash == other.hash == load(folder).hash != load(path).hash
    if sys.platform == "linux":  # where a file that is open can be read although it was replaced
        terms = {"chat": "tree"}
        same = load(folder).translate("chat noir", terms=terms)
        assert translator.translate("chat noir", terms=terms) == same
    else:
        with pytest.raises(DataError, match="was replaced or removed since it was loaded"):
            translator.translate("chat noir", terms={"chat": "tree"})


def test_weights_that_were_overwritten_are_not_mixed_with_those_before(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    translator = load(path)
    shutil.copyfile(write_random_model(tmp_path / "other") / WEIGHTS, path / WEIGHTS)
    with pytest.raises(DataError, match="was replaced or removed since it was loaded"):
        translator.translate("chat noir", terms={"chat": "tree"})


def test_the_hash_does_not_depend_on_the_engine(folder: Path) -> None:
    assert load(folder).hash == load(folder, engine="pytorch").hash


def test_the_hash_is_of_what_was_read_and_reads_nothing_again(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(folder, path)
    translator = load(path)
    shutil.rmtree(path)
    assert translator.hash == load(folder).hash


def test_a_worker_that_loads_pytorch_keeps_to_its_thread(folder: Path) -> None:
    """Files are translated in threads that begin before PyTorch is loaded, if it ever is."""
    probe = f"""
import sys, threading
from translucid.machine import set_thread_count, thread_count
from translucid.translator import load
from translucid.translator.search import map_in_threads
set_thread_count(2)
translator = load({str(folder)!r})
both = threading.Barrier(2)
assert "torch" not in sys.modules

def work(number):
    both.wait(60)  # so that each item has a worker of its own, and none of them PyTorch yet
    translator.translate("chat noir", terms={{"chat": "tree"}})
    import torch
    return torch.get_num_threads()

print(*map_in_threads(work, [0, 1]), thread_count())
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "2"]


@pytest.mark.parametrize("prefix", ["", "red", "red old"])
def test_prefixes(folder: Path, prefix: str) -> None:
    sources = sentences(30, seed=9)
    fast, slow = (
        load(folder, engine=engine).translate(sources, search=GREEDY, prefix=prefix)
        for engine in ("ctranslate2", "pytorch")
    )
    assert [one.tokens for one in fast] == [one.tokens for one in slow]
    for one, other in zip(fast, slow, strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


def test_a_greedy_stream_grows_and_ends_as_the_translation(folder: Path) -> None:
    translator = load(folder, engine="ctranslate2")
    source = "chat noir\nlivre rouge dort"
    partials = list(translator.stream(source, search=GREEDY))
    stable = [partial.stable for partial in partials]
    assert len(set(stable)) > 4
    assert all(b.startswith(a) for a, b in itertools.pairwise(stable))
    assert partials[-1].translation is not None
    assert partials[-1].translation.text == translator.translate(source, search=GREEDY).text


# ---- without PyTorch ----------------------------------------------------------------------------

SPANS = st.sampled_from(["{a}", "https://x.org/y", "<br/>", "😀", "%s", "12:30"])
WORDS = st.sampled_from(["The cat", "sat on", "the mat.", "Où est l'eau ?", "été"])
TAGGED = st.lists(SPANS | WORDS, min_size=1, max_size=3).map(lambda one: f"<b>{' '.join(one)}</b>")


@settings(max_examples=40, deadline=None)
@given(st.lists(SPANS | WORDS | TAGGED, min_size=1, max_size=8).map(" ".join), st.booleans())
def test_spans_come_out_once_without_pytorch_too(
    random_folder: Path, text: str, streamed: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translucid.engines, "_has_pytorch", lambda: False)
        translator = load(random_folder)
        found = translator.translate(text, target="en", search=GREEDY)
        for span, count in Counter(one.text for one in SpanFinder().find(text)).items():
            assert found.text.count(span) == count, found.text
        if streamed:
            *_, last = translator.stream(text, target="en", search=GREEDY)
            assert last.stable == found.text


@pytest.mark.usefixtures("no_pytorch")
def test_loops_and_limits_are_flagged_without_pytorch(random_folder: Path) -> None:
    translator = load(random_folder)
    limited = translator.translate("The cat sat", target="en", method="greedy", max_length=4)
    assert limited.flags.truncated
    assert len(limited.tokens) == 4


@pytest.mark.usefixtures("no_pytorch")
@pytest.mark.parametrize("search", [SearchConfig(method="greedy"), SearchConfig(beam=3)])
def test_circles_are_ended_without_pytorch(
    random_folder: Path, tmp_path: Path, search: SearchConfig
) -> None:
    """A network whose every state is the bias of the last norm, and so writes one token forever."""
    model = load_model(random_folder)
    with torch.no_grad():
        norm = cast("nn.LayerNorm", model.decoder.norm)
        norm.weight.zero_()
        norm.bias.copy_(torch.randn(norm.bias.shape, generator=torch.Generator().manual_seed(1)))
        model.output_projection.weight[100] = 10 * norm.bias
    path = tmp_path / "endless"
    shutil.copytree(random_folder, path)
    write_tensors(path / "new", named_weights(model))
    (path / "new").replace(path / "model.safetensors")
    write_checksums(path)
    found = load(path).translate("The cat sat", target="en", search=search)
    assert found.flags.looped
    assert found.n_best[0].ending == "loop"
    assert len(set(found.tokens)) == 1


@pytest.mark.usefixtures("no_pytorch")
def test_translating_scoring_and_aligning_need_no_pytorch(folder: Path) -> None:
    translator = load(folder)
    sources = sentences(40, seed=1)
    found = translator.translate(sources, alignment=True, n_best=2)
    assert [one.text for one in found] == list(map(reversed_translation, sources))
    assert all(one.alignment is not None for one in found)
    scored = translator.score(sources, [one.text for one in found])
    for one, score in zip(found, scored, strict=True):
        assert score.log_prob == pytest.approx(one.log_prob, abs=1e-4)


def test_what_needs_pytorch_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translucid.engines, "_has_pytorch", lambda: False)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    translator = load(folder)
    with pytest.raises(MissingPackageError, match=r"terms.*\n.*translucid\[train\]"):
        translator.translate("chat", terms={"chat": "tree"})


def last_of(partials: list[PartialTranslation]) -> str:
    return partials[-1].stable


@pytest.mark.usefixtures("no_pytorch")
def test_a_beam_is_streamed_in_one_piece_without_pytorch(folder: Path) -> None:
    translator: Translator = load(folder)
    partials = list(translator.stream("chat noir", beam=3))
    assert len(partials) == 1
    assert last_of(partials) == "black cat"
