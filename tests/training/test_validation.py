"""Validation: the loss and the scores by other routes, and what it leaves as it was."""

from __future__ import annotations

import contextlib
import itertools
import math
from pathlib import Path

import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st

from networks import network, small_config
from shard_folders import BOTH_WAYS
from translucid.data.shards import PreparedData
from translucid.events import Sample
from translucid.model import Transformer
from translucid.text.tokenizer import BOS, EOS, Tokenizer, load_tokenizer, tag_id
from translucid.training.validation import (
    Validator,
    dev_loss,
    evaluation_mode,
    language_tag,
    score,
    spread,
    translate,
)
from word_data import word_data, word_pairs

PAIRS = [*word_pairs(23, seed=1), ("", "one"), ("un deux trois quatre cinq " * 9, "one")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    """A dev set in both directions, with an empty sentence and one that exceeds a batch alone."""
    return word_data(
        tmp_path_factory.mktemp("data"), {"dev": PAIRS}, directions=BOTH_WAYS, tagged=True
    )


@pytest.fixture(scope="module")
def tokenizer(data: PreparedData) -> Tokenizer:
    return load_tokenizer(data.tokenizer_path)


@pytest.fixture
def model(tokenizer: Tokenizer) -> Transformer:
    size = tokenizer.vocab_size
    return network(small_config(source_vocab_size=size, target_vocab_size=size, dropout=0.5))


def test_dev_loss_equals_the_loss_sentence_by_sentence(
    data: PreparedData, tokenizer: Tokenizer, model: Transformer
) -> None:
    total, tokens = 0.0, 0
    for direction, languages in enumerate(BOTH_WAYS):
        for pair in PAIRS:
            source, target = (tokenizer.encode(text) for text in pair[:: 1 - 2 * direction])
            tag = tag_id(data.manifest.languages[languages[1]])
            source_1S = torch.tensor([[tag, *source, EOS]])
            target_1T = torch.tensor([[BOS, *target]])
            log_probs_TV = model(source_1S, target_1T)[0].detach().log_softmax(-1)
            for place, label in enumerate([*target, EOS]):
                total -= float(log_probs_TV[place, label])
                tokens += 1
    assert dev_loss(model, data, max_tokens=30) == pytest.approx(total / tokens, abs=1e-5)


def test_scores_are_the_mean_of_the_directions(
    data: PreparedData, tokenizer: Tokenizer, model: Transformer
) -> None:
    found = Validator(data, tokenizer, sample_size=100, max_tokens=30)(model, 1)
    bleu, chrf = [], []
    for direction, (_, target) in enumerate(BOTH_WAYS):
        sources, references = (
            [pair[side] for pair in PAIRS] for side in (direction, 1 - direction)
        )
        written = translate(model, tokenizer, sources, tag=language_tag(data, target))
        bleu.append(sacrebleu.corpus_bleu(written, [references]).score)
        chrf.append(sacrebleu.corpus_chrf(written, [references]).score)
    assert found.bleu == pytest.approx(sum(bleu) / 2)
    assert found.chrf == pytest.approx(sum(chrf) / 2)
    assert bleu[0] != bleu[1] or chrf[0] != chrf[1]
    assert found.perplexity == pytest.approx(math.exp(found.loss))
    assert len(found.signatures) == 4
    assert all("version:" in signature for signature in found.signatures)


def test_the_same_three_pairs_are_shown_every_time(
    data: PreparedData, tokenizer: Tokenizer, model: Transformer
) -> None:
    validator = Validator(data, tokenizer, sample_size=9, max_tokens=30)
    first, later = (validator(model, step).samples for step in (1, 500))
    assert first == later
    assert len({sample.source for sample in first}) == 3
    for sample in first:
        assert (sample.source, sample.reference) in {*PAIRS, *(pair[::-1] for pair in PAIRS)}


def test_a_network_in_training_stays_in_training_and_validates_without_dropout(
    data: PreparedData, tokenizer: Tokenizer, model: Transformer
) -> None:
    validator = Validator(data, tokenizer, sample_size=5, max_tokens=30)
    quiet = validator(model, 1)
    model.train()
    assert validator(model, 1) == quiet
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    with contextlib.suppress(RuntimeError), evaluation_mode(model):
        assert not model.training
        raise RuntimeError
    assert model.training


def test_translations_come_in_order_whatever_else_is_in_the_batch(
    data: PreparedData, tokenizer: Tokenizer, model: Transformer
) -> None:
    sources = [fr for fr, _ in word_pairs(70, seed=2)] + ["", "  ", "un"]
    tag = language_tag(data, "en")
    together = translate(model, tokenizer, sources, tag=tag)
    assert together[70:72] == ["", ""]
    for source, translation in list(zip(sources, together, strict=True))[::9]:
        assert translate(model, tokenizer, [source], tag=tag) == [translation]
    assert together != translate(model, tokenizer, sources, tag=language_tag(data, "fr"))


def test_tags_only_where_the_data_has_them(data: PreparedData, tmp_path: Path) -> None:
    assert language_tag(data, "fr") == tag_id(1)
    assert language_tag(word_data(tmp_path, {"dev": PAIRS}), "en") is None


@pytest.mark.parametrize(
    ("language", "tokenization"), [("en", "13a"), ("zh", "zh"), ("zh-Hans", "zh"), ("ja", "char")]
)
def test_the_signature_says_how_bleu_takes_words_apart(language: str, tokenization: str) -> None:
    perfect = [Sample("a", "one two three four five", "one two three four five")]
    scores = score(perfect, language)
    assert scores.bleu == pytest.approx(100)
    assert scores.chrf == pytest.approx(100)
    assert f"tok:{tokenization}" in scores.signatures[0]
    assert scores.signatures[0].startswith("BLEU|")
    assert scores.signatures[1].startswith("chrF2|")


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_sample_is_spread_evenly(count: int, wanted: int) -> None:
    chosen = spread(count, wanted)
    assert len(chosen) == min(count, wanted)
    assert all(0 <= place < count for place in chosen)
    gaps = {after - before for before, after in itertools.pairwise(chosen)}
    assert max(gaps, default=1) - min(gaps, default=1) <= 1
