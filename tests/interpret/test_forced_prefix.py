"""A translation that is forced to begin with some tokens: the search finds the rest."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from small_traces import SENTENCE, random_translator, taught_trace, taught_translator
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Event, Progress
from translucid.interpret import Trace, explain, trace_bytes
from translucid.interpret.ablation import ablate
from translucid.interpret.explain import TraceTooLargeError, check_prefix, encode_prefix
from translucid.interpret.figures.beam_tree import beam_tree
from translucid.interpret.lens import decoder_lens
from translucid.interpret.network import AttentionHead
from translucid.text.tokenizer import EOS, FIRST_PIECE, UNK
from translucid.translator import Translator

SEARCHES = {
    "greedy": SearchConfig(method="greedy"),
    "beam": SearchConfig(beam=3, n_best=2),
    "diverse": SearchConfig(method="diverse", beam=4, groups=2),
    "coverage": SearchConfig(beam=3, coverage_penalty=0.2),
    "sampling": SearchConfig(method="sampling", samples=3, top_k=5, seed=7),
    "mbr": SearchConfig(method="mbr", samples=4, seed=3),
}
WORDS = {"taught": ("chat noir dort", "old cat"), "random": ("Où est l'eau ?", "The wat")}


def translator_of(kind: str) -> Translator:
    return taught_translator() if kind == "taught" else random_translator()


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("name", SEARCHES)
def test_the_trace_is_of_the_translation_that_the_model_gives_with_this_prefix(
    name: str, kind: str
) -> None:
    translator, (text, begin) = translator_of(kind), WORDS[kind]
    search = SEARCHES[name].replace(extra_length=12)
    prefix = tuple(translator.tokenizer.encode(begin))
    trace = explain(translator, text, search=search, prefix=prefix, level="light")
    (translation,) = translator.translate([text], prefix=[begin], search=search)
    best = translation.n_best[0]
    assert (trace.translation, trace.flags) == (best.text, translation.flags)
    assert trace.log_prob == pytest.approx(best.log_prob, abs=1e-5)
    assert trace.score == pytest.approx(best.score, abs=1e-5)
    assert [step.log_prob for step in trace.steps] == pytest.approx(best.log_probs, abs=1e-5)
    assert trace.prefix == prefix
    assert trace.prefix_length == len(prefix)
    assert tuple(step.token.id for step in trace.steps[: len(prefix)]) == prefix
    assert trace.origin == "search"


@pytest.mark.parametrize("name", ["greedy", "beam", "sampling"])
def test_the_tree_has_the_forced_tokens_and_nothing_beside_them(name: str) -> None:
    prefix = encode_prefix(taught_translator(), "old cat")
    trace = explain(taught_translator(), SENTENCE, search=SEARCHES[name], prefix=prefix)
    assert trace.tree is not None
    nodes = trace.tree.nodes
    forced = [node for node in nodes if 1 <= node.step <= len(prefix)]
    assert [node.token for node in forced] == list(prefix)
    assert {node.status for node in forced} == {"kept"}
    log_probs_TV = trace.tensor("log_probs")
    for row, node in enumerate(forced):
        assert node.log_prob == pytest.approx(float(log_probs_TV[row, node.token]), abs=1e-5)
    path = [nodes[number].token for number in trace.tree.path(trace.tree.results[0])]
    assert path == [step.token.id for step in trace.steps]


def test_the_cache_accounts_for_the_forced_steps_too() -> None:
    prefix = encode_prefix(taught_translator(), "old cat")
    trace = explain(taught_translator(), SENTENCE, search=SEARCHES["greedy"], prefix=prefix)
    assert [step.rows for step in trace.cache.steps] == [1] * len(trace.steps)
    assert [step.reused for step in trace.cache.steps] == list(range(len(trace.steps)))
    beam = explain(taught_translator(), SENTENCE, search=SEARCHES["beam"], prefix=prefix)
    assert beam.tree is not None
    assert len(beam.cache.steps) == max(node.step for node in beam.tree.nodes)


def test_a_prefix_that_the_search_would_have_taken_changes_nothing() -> None:
    free = taught_trace()
    ids = [step.token.id for step in free.steps]
    for length in range(1, len(ids)):
        trace = explain(taught_translator(), SENTENCE, prefix=ids[:length])
        assert trace.translation == free.translation
        assert trace.score == pytest.approx(free.score, abs=1e-5)
        for name, tensor in free.tensors.items():
            assert torch.equal(trace.tensors[name], tensor)


@pytest.mark.parametrize("begin", ["dog sleeps", ""])
def test_a_prefix_with_the_end_symbol_is_the_whole_translation(begin: str) -> None:
    translator = taught_translator()
    prefix = (*translator.tokenizer.encode(begin), EOS)
    trace = explain(translator, SENTENCE, prefix=prefix)
    assert (trace.translation, trace.origin, trace.tree) == (begin, "given", None)
    assert trace.prefix == prefix
    assert [step.rows for step in trace.cache.steps] == [1] * len(prefix)
    assert not trace.flags.truncated
    if begin:
        (scored,) = translator.score([SENTENCE], [begin])
        assert [step.log_prob for step in trace.steps] == pytest.approx(scored.log_probs, abs=1e-5)


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ([1000], "prefix[0] = 1000 is no token: ids are whole numbers from 0 to"),
        ([-1], "prefix[0] = -1 is no token"),
        ([25, "cat"], "prefix[1] = 'cat' is no token"),
        ([True], "prefix[0] = True is no token"),
        ([25, 4, 25], "prefix[1] = 4 is '<tag0>', which no translation can have there"),
        ([UNK], "prefix[0] = 1 is '<unk>', which no translation can have there: take tokens of "),
        ([25, EOS, 25], "prefix[1] = 3 is '</s>'"),
    ],
)
def test_tokens_that_cannot_begin_a_translation_are_named(prefix: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        explain(taught_translator(), SENTENCE, prefix=prefix)


def test_a_line_break_cannot_be_forced() -> None:
    translator = random_translator()
    (space, line_break) = translator.tokenizer.encode("\n")
    assert check_prefix(translator, [space]) == (space,)
    with pytest.raises(InputError, match=r"prefix\[0\] = \d+ is '<0x0A>', which no translation"):
        explain(translator, "Le chat", prefix=[line_break])


def test_a_prefix_that_does_not_fit_is_refused() -> None:
    ids = [FIRST_PIECE + 1] * 30
    with pytest.raises(InputError, match=r"prefix of 30 tokens .* translation of at most 12"):
        explain(taught_translator(), SENTENCE, prefix=ids, search=SearchConfig(max_length=12))
    learned = random_translator(positions="learned", max_positions=20)
    with pytest.raises(InputError, match=r"prefix of 30 tokens .* translation of at most 19"):
        explain(learned, "Le chat", prefix=ids)
    with pytest.raises(InputError, match=r"31 tokens with its end symbol, .* can write at most 20"):
        explain(learned, "Le chat", prefix=[*ids, EOS])


def test_given_and_prefix_do_not_go_together() -> None:
    with pytest.raises(InputError, match="given = 'cat' is a whole translation, so its beginning"):
        explain(taught_translator(), SENTENCE, given="cat", prefix=[FIRST_PIECE])


def test_the_text_of_a_prefix_is_read_as_the_translator_reads_it() -> None:
    translator = taught_translator()
    assert encode_prefix(translator, " old  ") == tuple(translator.tokenizer.encode("old"))
    assert encode_prefix(translator, "") == ()
    for text in ("old\ncat", "giraffe"):
        with pytest.raises(InputError, match="cannot begin a translation: it has several lines"):
            encode_prefix(translator, text)


def test_the_room_that_a_caller_sets_is_kept_and_told() -> None:
    size = taught_trace().bytes
    assert explain(taught_translator(), SENTENCE, max_bytes=size).bytes == size
    with pytest.raises(TraceTooLargeError) as refusal:
        explain(taught_translator(), SENTENCE, max_bytes=size - 1)
    found = refusal.value
    assert (found.bytes, found.limit, found.level) == (size, size - 1, "full")
    assert found.light == trace_bytes(taught_trace().model, 4, 4, "light")
    assert found.source_tokens == 4
    prefix = (*[FIRST_PIECE + 1] * 40, EOS)
    with pytest.raises(TraceTooLargeError, match=r"about .* if the translation is as long") as long:
        explain(taught_translator(), SENTENCE, prefix=prefix, max_bytes=size)
    assert long.value.bytes == trace_bytes(taught_trace().model, 4, 41, "full")


def test_a_listener_is_told_of_each_step_and_may_end_the_search() -> None:
    told: list[Event] = []
    trace = explain(taught_translator(), SENTENCE, search=SEARCHES["greedy"], on_event=told.append)
    steps = range(len(trace.steps))
    assert told == [Progress("search", step, None, "steps") for step in steps]

    class Enough(Exception):  # noqa: N818
        pass

    def stop(event: Event) -> None:
        if isinstance(event, Progress) and event.done == 2:
            raise Enough

    with pytest.raises(Enough):
        explain(taught_translator(), SENTENCE, on_event=stop)


def test_heads_and_lenses_are_judged_with_the_same_prefix() -> None:
    translator = taught_translator()
    prefix = encode_prefix(translator, "old")
    trace = explain(translator, SENTENCE, prefix=prefix)
    found = ablate(translator, trace, [AttentionHead("cross", 1, 0), AttentionHead("cross", 0, 2)])
    assert found.translation.split()[0] == found.translation_without.split()[0] == "old"
    readings = decoder_lens(translator, trace)
    assert all(reading.translation.startswith("old") for reading in readings)
    assert readings[-1].translation == trace.translation
    whole = explain(translator, SENTENCE, prefix=(*prefix, EOS))
    assert decoder_lens(translator, whole)[-1].translation == taught_trace().translation


def test_the_picture_of_the_tree_says_what_was_forced() -> None:
    ids = encode_prefix(taught_translator(), "old cat")
    for length, words in ((1, "Step 0 was forced"), (2, "Steps 0 to 1 were forced")):
        trace = explain(taught_translator(), SENTENCE, prefix=ids[:length])
        assert words in beam_tree(trace).body
    assert "forced" not in beam_tree(taught_trace()).body


def mentioned(trace: Trace) -> set[int]:
    """All ids in a trace, found in its JSON by name."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            yield from (value[key] for key in ("id", "token") if isinstance(value.get(key), int))
            yield from itertools.chain.from_iterable(map(walk, value.values()))
        elif isinstance(value, (list, tuple)):
            yield from itertools.chain.from_iterable(map(walk, value))

    return set(walk(trace.to_json()))


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("name", ["greedy", "beam", "sampling"])
def test_a_trace_spells_every_token_that_it_mentions(name: str, kind: str, tmp_path: Path) -> None:
    translator, (text, begin) = translator_of(kind), WORDS[kind]
    prefix = translator.tokenizer.encode(begin)
    search = SEARCHES[name].replace(extra_length=6)
    trace = explain(translator, text, prefix=prefix, level="light", search=search)
    assert set(trace.pieces) == mentioned(trace)
    assert all(piece == translator.tokenizer.piece(one) for one, piece in trace.pieces.items())
    with pytest.raises(TypeError):
        trace.pieces[3] = "x"  # type: ignore[index]
    trace.save(tmp_path / "trace.safetensors")
    read = Trace.load(tmp_path / "trace.safetensors")
    assert (read.pieces, read.prefix) == (trace.pieces, trace.prefix)
    assert beam_tree(read).body == beam_tree(trace, translator).body
    assert not re.search(r">#\d", beam_tree(read).body)
