"""Turning heads off by the twin is setting what reads them in W^O to zero."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from networks import ragged
from small_translators import (
    reversed_translation,
    sentences,
    write_random_model,
    write_taught_model,
)
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Event, Progress
from translucid.interpret.ablation import ablate, disable_heads, measure_head_importance
from translucid.interpret.explain import explain
from translucid.interpret.network import (
    SIDES,
    AttentionHead,
    all_heads,
    named_attentions,
    replace_network,
    single_network,
)
from translucid.translator import Translator, load

SEARCH = SearchConfig(method="beam", beam=3, max_length=10)
SOURCES = sentences(12, seed=8)
TARGETS = [reversed_translation(source) for source in SOURCES]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_taught_model(tmp_path_factory.mktemp("ablation") / "taught"))


@pytest.fixture(scope="module", params=[{}, {"attention_bias": True, "positions": "relative"}])
def babbling(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Translator:
    folder = tmp_path_factory.mktemp("ablation") / "model"
    return load(write_random_model(folder, d_k=6, d_v=10, **request.param))


def with_zeros(translator: Translator, *heads: AttentionHead) -> Translator:
    """Return a translator with a copy of the network in which W^O reads nothing of the heads.

    PyTorch keeps W^O transposed, so the rows of the paper's W^O are columns.
    """
    model = copy.deepcopy(single_network(translator))
    size = model.config.d_v
    with torch.no_grad():
        for side, layer, attention in named_attentions(model):
            for head in heads:
                if (side, layer) == head[:2]:
                    attention.w_o.weight[:, head.head * size : (head.head + 1) * size] = 0
    return replace_network(translator, model, "with zeros")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("layer", "head"), [(0, 0), (1, 3)])
def test_a_head_that_is_off_is_a_head_that_w_o_does_not_read(
    babbling: Translator, side: Any, layer: int, head: int
) -> None:
    off = AttentionHead(side, layer, head)
    without, zeros = disable_heads(babbling, [off]), with_zeros(babbling, off)
    vocab = babbling.tokenizer.vocab_size
    source, target = ragged(4, 7, seed=1, vocab=vocab), ragged(4, 6, seed=2, vocab=vocab)
    with torch.inference_mode():
        whole, off_logits, zero_logits = (
            single_network(one)(source, target) for one in (babbling, without, zeros)
        )
    torch.testing.assert_close(off_logits, zero_logits, atol=1e-5, rtol=1e-5)
    assert (whole - off_logits).abs().max() > 1e-3


def test_the_search_and_its_cache_work_without_heads_too(babbling: Translator) -> None:
    heads = [
        AttentionHead("decoder", 0, 1),
        AttentionHead("cross", 1, 2),
        AttentionHead("encoder", 1, 0),
    ]
    texts = ["Le chat dort.", "Bonjour !"]
    found = disable_heads(babbling, heads).translate(texts, search=SEARCH)
    expected = with_zeros(babbling, *heads).translate(texts, search=SEARCH)
    assert [one.tokens for one in found] == [one.tokens for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


def test_parameters_are_shared_and_the_network_goes_on_as_before(taught: Translator) -> None:
    model = single_network(taught)
    kernels = [attention.kernel for *_, attention in named_attentions(model)]
    before = taught.score(SOURCES, TARGETS)
    without = disable_heads(taught, all_heads(model.config))
    own = dict(model.named_parameters())
    assert all(own[name] is p for name, p in single_network(without).named_parameters())
    assert without.score(SOURCES, TARGETS)[0].log_prob < before[0].log_prob - 1
    assert taught.score(SOURCES, TARGETS) == before
    assert [attention.kernel for *_, attention in named_attentions(model)] == kernels


def test_without_no_heads_nothing_changes(taught: Translator) -> None:
    changed, before = (
        disable_heads(taught, []),
        replace_network(taught, taught.members[0].model, ""),
    )
    assert changed.score(SOURCES, TARGETS) == before.score(SOURCES, TARGETS)


def test_importance_is_what_log_p_loses(taught: Translator) -> None:
    events: list[Event] = []
    found = measure_head_importance(taught, SOURCES, TARGETS, on_event=events.append)
    heads = all_heads(single_network(taught).config)
    assert [one.head for one in found] == list(heads)
    assert events[-1] == Progress("turning heads off", len(heads), len(heads), "heads")
    tokens = sum(len(target.split()) + 1 for target in TARGETS)
    whole = sum(one.log_prob for one in taught.score(SOURCES, TARGETS))
    for one in found:
        zeros = sum(s.log_prob for s in with_zeros(taught, one.head).score(SOURCES, TARGETS))
        assert one.tokens == tokens
        assert one.loss == pytest.approx((whole - zeros) / tokens, abs=1e-5)
    assert max(one.loss for one in found) > 0.1


def test_what_becomes_of_a_translation(taught: Translator) -> None:
    trace = explain(taught, "chat noir dort", level="light")
    cross = [head for head in all_heads(trace.model) if head.side == "cross"]
    lost = ablate(taught, trace, cross)
    assert (lost.translation, lost.heads) == ("sleeps black cat", tuple(cross))
    assert lost.log_prob == pytest.approx(trace.log_prob, abs=1e-4)
    (scored,) = with_zeros(taught, *cross).score([trace.source], [trace.translation])
    assert lost.log_prob_without == pytest.approx(scored.log_prob, abs=1e-4)
    assert lost.log_prob_without < lost.log_prob - 3
    assert lost.changed
    assert lost.translation_without != "sleeps black cat"
    assert not ablate(taught, trace, []).changed


def test_heads_stay_off_in_a_search_that_watches_where_it_looks(taught: Translator) -> None:
    """Coverage needs the weights of cross-attention, which another twin of the network shows."""
    cross = [head for head in all_heads(taught.members[0].model.config) if head.side == "cross"]
    watching = SearchConfig(beam=2, coverage_penalty=1e-9)
    trace = explain(disable_heads(taught, cross), "chat noir dort", search=watching)
    assert trace.log_prob == pytest.approx(sum(step.log_prob for step in trace.steps), abs=1e-4)
    plain = explain(disable_heads(taught, cross), "chat noir dort", search=SearchConfig(beam=2))
    assert trace.translation == plain.translation


def test_a_given_translation_is_not_what_the_network_would_have_written(taught: Translator) -> None:
    trace = explain(taught, "chat noir dort", given="dog", level="light")
    found = ablate(taught, trace, [])
    assert (found.translation, found.translation_without) == ("sleeps black cat",) * 2
    assert not found.changed
    assert found.log_prob == pytest.approx(trace.log_prob, abs=1e-4)


def test_heads_that_do_not_exist_are_named(taught: Translator) -> None:
    wrong = [AttentionHead("cross", 2, 0), AttentionHead("encoder", 0, -1)]
    with pytest.raises(InputError, match=r"no such head: cross 3\.1, encoder 1\.0\. .* 2 decoder"):
        disable_heads(taught, [AttentionHead("cross", 1, 3), *wrong])


def test_an_ensemble_is_refused(tmp_path: Path) -> None:
    folder = write_random_model(tmp_path / "one")
    with pytest.raises(InputError, match="ensemble of 2 models: look into each one separately"):
        disable_heads(load(folder, folder), [])


def test_pairs_without_text_measure_nothing(taught: Translator) -> None:
    with pytest.raises(InputError, match="2 pairs have no text in them"):
        measure_head_importance(taught, ["", " "], ["", ""])
