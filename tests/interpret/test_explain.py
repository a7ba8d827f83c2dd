"""explain: the translation of the served model, and everything that led to it."""

from __future__ import annotations

import importlib
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import translucid
from networks import POSITIONS
from small_traces import SENTENCE, given_trace, random_translator, taught_trace, taught_translator
from small_translators import reversed_translation, sentences
from translucid.decoding.config import SearchConfig
from translucid.engines import Engines
from translucid.errors import InputError
from translucid.interpret import Trace, explain, model_hash, trace_bytes
from translucid.text.tokenizer import BOS, EOS
from translucid.translator import Translator

SEARCHES = {
    "greedy": SearchConfig(method="greedy"),
    "beam": SearchConfig(beam=3, n_best=2),
    "diverse": SearchConfig(method="diverse", beam=4, groups=2),
    "coverage": SearchConfig(beam=3, coverage_penalty=0.2),
    "sampling": SearchConfig(method="sampling", samples=3, top_k=5, seed=7),
    "mbr": SearchConfig(method="mbr", samples=4, seed=3),
    "too short": SearchConfig(method="beam", max_length=2),
}
SHORT = SearchConfig(method="greedy", max_length=12)
LONG = " ".join(["Le chat dort dans la maison."] * 100)


def check_against_the_search(trace: Trace, translator: Translator, search: SearchConfig) -> None:
    """Hold a trace against the translation of the served model."""
    (translation,) = translator.translate([trace.source], search=search)
    best = translation.n_best[0]
    assert trace.translation == best.text
    assert trace.log_prob == pytest.approx(best.log_prob, abs=1e-5)
    assert trace.score == pytest.approx(best.score, abs=1e-5)
    assert [step.log_prob for step in trace.steps] == pytest.approx(best.log_probs, abs=1e-5)
    assert tuple(step.token.piece for step in trace.steps)[: len(best.tokens)] == best.tokens
    assert trace.flags == translation.flags


@pytest.mark.parametrize("name", SEARCHES)
def test_the_trace_is_of_the_translation_that_the_model_gives(name: str) -> None:
    translator, search = taught_translator(), SEARCHES[name]
    for text in sentences(4, seed=5):
        trace = explain(translator, text, search=search)
        check_against_the_search(trace, translator, search)
        assert trace.search == search
        assert trace.origin == "search"
        if name in {"greedy", "beam"}:
            assert trace.translation == reversed_translation(text)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", ["greedy", "beam", "sampling"])
def test_an_endless_or_odd_translation_is_traced_too(name: str, positions: str) -> None:
    translator = random_translator(positions=positions)
    search = SEARCHES[name].replace(extra_length=30)
    trace = explain(translator, "Où est l'eau ?", search=search, level="light")
    check_against_the_search(trace, translator, search)


@pytest.mark.parametrize("name", ["greedy", "beam", "sampling", "mbr"])
def test_the_tree_ends_in_the_steps_of_the_trace(name: str) -> None:
    trace = explain(taught_translator(), SENTENCE, search=SEARCHES[name])
    assert trace.tree is not None
    path = [trace.tree.nodes[number] for number in trace.tree.path(trace.tree.results[0])]
    assert [node.token for node in path] == [step.token.id for step in trace.steps]
    assert [node.log_prob for node in path] == pytest.approx(
        [step.log_prob for step in trace.steps], abs=1e-5
    )
    if name != "mbr":  # which ranks samples by how much they are like the others
        assert path[-1].score == pytest.approx(trace.score, abs=1e-5)


@pytest.mark.parametrize("given", ["sleeps black cat", "cat", "dog dog house sleeps"])
def test_a_given_translation_has_the_scores_that_the_model_gives_it(given: str) -> None:
    trace = given_trace(given)
    (scored,) = taught_translator().score([SENTENCE], [given])
    assert trace.origin == "given"
    assert trace.tree is None
    assert trace.translation == given
    assert [step.log_prob for step in trace.steps] == pytest.approx(scored.log_probs, abs=1e-5)
    assert trace.log_prob == pytest.approx(scored.log_prob, abs=1e-5)
    assert [step.rows for step in trace.cache.steps] == [1] * len(trace.steps)


def test_a_given_translation_that_the_search_found_has_the_score_of_the_search() -> None:
    searched, given = taught_trace(), given_trace(taught_trace().translation)
    assert given.score == pytest.approx(searched.score, abs=1e-5)
    assert given.target_tokens == searched.target_tokens
    assert all(torch.equal(given.tensors[n], tensor) for n, tensor in searched.tensors.items())


def test_the_score_of_a_given_translation_has_its_coverage() -> None:
    search = SearchConfig(beam=2, coverage_penalty=1.0)
    searched = explain(taught_translator(), SENTENCE, search=search)
    given = explain(taught_translator(), SENTENCE, given=searched.translation, search=search)
    assert given.score == pytest.approx(searched.score, abs=1e-5)
    assert given.score < given.log_prob - 0.1  # coverage costs, and log P alone is not the score


def test_tokens_are_what_the_network_read_and_wrote() -> None:
    trace = taught_trace()
    assert trace.source_tokens[-1].id == EOS
    assert trace.target_tokens[0].id == BOS
    assert trace.steps[-1].token.id == EOS
    assert trace.target_tokens[1:] == tuple(step.token for step in trace.steps[:-1])
    for token in (trace.source_tokens[-1], trace.target_tokens[0], trace.steps[-1].token):
        assert token.start == token.end
    assert [step.rank for step in trace.steps] == [1] * 4
    assert all(step.top[0].id == step.token.id for step in trace.steps)
    assert all(step.top[0].log_prob == step.log_prob for step in trace.steps)


@pytest.mark.parametrize("text", ["Où est l'eau ?", "naïve — 日本 🙂", "a"])
@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_the_characters_of_tokens_cover_both_texts(text: str, kind: str) -> None:
    translator = random_translator(kind=kind)
    trace = explain(translator, f"  {text}\n", search=SHORT, level="light")
    assert trace.source == text
    written = [step.token for step in trace.steps]
    for whole, tokens in ((trace.source, trace.source_tokens), (trace.translation, written)):
        covered = {place for token in tokens for place in range(token.start, token.end)}
        assert covered == set(range(len(whole)))
        assert [token.start for token in tokens] == sorted(token.start for token in tokens)


def test_a_tag_is_read_first_and_stands_for_no_text() -> None:
    generation = {"directions": [("fr", "en"), ("fr", "de")], "tags": {"en": 4, "de": 5}}
    translator = random_translator_tagged(generation)
    trace = explain(translator, "Le chat", target="de", search=SHORT)
    first = trace.source_tokens[0]
    assert (first.id, first.start, first.end) == (5, 0, 0)
    assert trace.tensor("source.embedding").size(0) == len(trace.source_tokens)
    with pytest.raises(InputError, match="translates into en, de: say which"):
        explain(translator, "Le chat")


def random_translator_tagged(generation: Mapping[str, Any]) -> Translator:
    plain = random_translator()
    changed = plain.generation.replace(**generation)
    return Translator("tagged", plain.tokenizer, plain.engines, changed)


def test_the_alignment_is_the_translators() -> None:
    (translation,) = taught_translator().translate([SENTENCE], alignment=True)
    assert translation.alignment is not None
    expected = torch.tensor(translation.alignment.weights)
    assert torch.allclose(taught_trace().alignment(), expected, rtol=0, atol=1e-5)
    assert taught_trace("light").alignment().shape == expected.shape


def test_an_unknown_word_and_a_cut_are_flagged() -> None:
    assert explain(taught_translator(), "chat inconnu", level="light").flags.unknown
    cut = explain(taught_translator(), SENTENCE, search=SEARCHES["too short"], level="light")
    assert cut.flags.truncated
    assert not taught_trace().flags.truncated


def test_a_translation_in_circles_has_no_end_symbol() -> None:
    translator = random_translator()
    search = SearchConfig(method="greedy", extra_length=200)
    trace = explain(translator, "Le chat dort.", search=search, level="light")
    assert trace.flags.looped  # this network repeats itself for ever
    assert trace.steps[-1].token.id != EOS
    assert len(trace.steps) == len(trace.target_tokens)
    check_against_the_search(trace, translator, search)


def test_translations_are_the_same_while_traces_run_in_another_thread() -> None:
    translator, texts = taught_translator(), sentences(40, seed=9)
    alone = translator.translate(texts, alignment=True, batch_size=8)
    traced: list[Trace] = []
    over = threading.Event()

    def trace_on() -> None:
        while not over.is_set():
            traced.append(explain(translator, texts[len(traced) % len(texts)]))

    thread = threading.Thread(target=trace_on)
    thread.start()
    try:
        together = [translator.translate(texts, alignment=True, batch_size=8) for _ in range(5)]
        while not traced and thread.is_alive():
            together.append(translator.translate(texts, alignment=True, batch_size=8))
    finally:
        over.set()
        thread.join()
    assert traced
    assert all(translations == alone for translations in together)
    for trace, text, translation in zip(traced, texts, alone, strict=False):
        assert (trace.source, trace.translation) == (text, translation.text)


class LiveMemory(TorchDispatchMode):
    """The most bytes that tensors made under it took at one time."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._live: dict[StorageWeakRef, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                self._live[StorageWeakRef(storage)] = storage.nbytes()
        self._live = {ref: size for ref, size in self._live.items() if not ref.expired()}
        self.peak = max(self.peak, sum(self._live.values()))
        return made


def test_a_light_trace_of_400_tokens_takes_little_more_than_itself() -> None:
    translator = random_translator()
    text = LONG[:900]
    with LiveMemory() as memory:
        trace = explain(translator, text, search=SHORT, level="light")
    length = len(trace.source_tokens)
    assert length >= 400
    assert not trace.flags.split
    one_attention = 4 * trace.model.heads * length**2
    assert trace.bytes == trace_bytes(trace.model, length, len(trace.target_tokens), "light")
    assert memory.peak > trace.bytes
    assert memory.peak < trace.bytes + 4 * one_attention


def test_a_full_trace_of_400_tokens_is_refused_with_its_size_unless_forced() -> None:
    translator = random_translator()
    text = LONG[:900]
    config = translator.members[0].model.config
    length = len(translator.tokenizer.encode(text)) + 1
    with pytest.raises(InputError, match=r"force=True") as refusal:
        explain(translator, text, search=SHORT)
    megabytes = trace_bytes(config, length, length, "full") / 1e6
    assert f"{length} source tokens would take about {megabytes:,.0f} MB" in str(refusal.value)
    assert "'light' (about" in str(refusal.value)
    assert explain(translator, text, search=SHORT, force=True).level == "full"


def test_a_trace_that_is_too_large_is_refused_once_its_size_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = importlib.import_module("translucid.interpret.explain")
    size = taught_trace().bytes
    monkeypatch.setattr(module, "MAX_BYTES", size - 1)
    with pytest.raises(InputError, match=r"with the 4 tokens of the translation\. Without"):
        explain(taught_translator(), SENTENCE)
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(InputError, match=r"a 'light' trace of 4 source tokens would take about"):
        explain(taught_translator(), SENTENCE, level="light")
    assert explain(taught_translator(), SENTENCE, force=True).bytes == size
    monkeypatch.setattr(module, "MAX_BYTES", size)
    assert explain(taught_translator(), SENTENCE).bytes == size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": " \n"}, "the text is blank, ' \\n': give a sentence"),
        ({"text": "chat\ndort"}, "the text has 2 lines, and a trace shows one sentence"),
        ({"text": 3}, "the text is 3, int: give a string"),
        ({"text": "chat", "given": "\t"}, "the given translation is blank, '\\t'"),
        ({"text": "chat", "given": "a\nb\nc"}, "the given translation has 3 lines"),
        ({"text": "chat", "level": "deep"}, "level = 'deep': must be one of light, full"),
        ({"text": "chat", "target": "de"}, "does not translate into 'de' but into en"),
    ],
)
def test_what_cannot_be_traced_is_refused_by_name(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        explain(taught_translator(), **arguments)


def test_a_network_that_cannot_read_or_write_so_much_is_named() -> None:
    translator = random_translator(positions="learned", max_positions=20)
    with pytest.raises(InputError, match=r"this network can read 20 \(max_positions\)"):
        explain(translator, LONG[:100])
    with pytest.raises(InputError, match=r"this network can write at most 20 \(max_positions\)"):
        explain(translator, "Le chat", given=LONG[:100])


def test_an_ensemble_is_refused() -> None:
    one = taught_translator()
    both = Translator("a + b", one.tokenizer, Engines.of(one.members * 2), one.generation)
    with pytest.raises(InputError, match="a \\+ b is an ensemble of 2 models"):
        explain(both, SENTENCE)


def test_it_is_offered_by_the_package() -> None:
    trace = translucid.explain(taught_translator(), SENTENCE, level="light")
    assert isinstance(trace, translucid.Trace)
    assert {"explain", "Trace"} <= set(dir(translucid))
    assert trace.model_name == "taught"
    assert trace.model_hash == model_hash(taught_translator())


def test_a_trace_keeps_no_network_alive() -> None:
    plain = taught_translator()
    copy = Translator("copy", plain.tokenizer, plain.engines, plain.generation)
    gone = weakref.ref(copy)
    trace = explain(copy, SENTENCE)
    del copy
    assert gone() is None
    assert trace.translation == "sleeps black cat"


def test_a_trace_shows_placeholders_and_the_text_has_the_spans() -> None:
    translator = random_translator(placeholders=True)
    text = "<p>The {x} cat sat on %s.</p>"
    settings = SearchConfig(method="greedy", extra_length=4)
    trace = explain(translator, text, search=settings)
    assert (trace.source, trace.translation[:3], trace.translation[-4:]) == (text, "<p>", "</p>")
    assert trace.translation.count("{x}") == trace.translation.count("%s") == 1
    for tokens, whole in ((trace.source_tokens, text), (trace.target_tokens, trace.translation)):
        stands = {token.piece: whole[token.start : token.end] for token in tokens}
        assert (stands["<word0>"], stands["<word1>"]) == ("{x}", "%s")
    again = explain(translator, text, given=trace.translation, search=settings)
    assert [token.piece for token in again.target_tokens].count("<word0>") == 1
    assert again.translation == trace.translation
