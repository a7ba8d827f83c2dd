"""A network that writes fewer pieces than it reads: whatever is told it, it can spell."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from small_tokenizers import SENTENCES
from small_translators import write_random_model
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import normalize_score
from translucid.errors import InputError
from translucid.interpret import explain
from translucid.interpret.explain import check_prefix, encode_prefix
from translucid.interpret.head_statistics import filter_pairs
from translucid.interpret.trace_file import read_trace, write_trace
from translucid.text.tokenizer import BOS, EOS
from translucid.translator import Reranker, Translator, load
from translucid.translator.head_selection import find_alignment_heads

WRITTEN = 340
QUICK = SearchConfig(beam=3, n_best=3, max_length=8)
TEXT = "Les chats se sont assis sur les tapis."
TARGET = "Untranslatable words, translated again: où est l'eau ?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("fewer") / "fewer", target_vocab_size=WRITTEN)


@pytest.fixture(scope="module")
def fewer(folder: Path) -> Translator:
    return load(folder)


def test_the_writer_is_another_only_where_fewer_are_written(
    fewer: Translator, babbling: Translator
) -> None:
    assert babbling.target_tokenizer is babbling.tokenizer
    assert fewer.target_tokenizer.vocab_size == WRITTEN < fewer.tokenizer.vocab_size
    assert (
        max(fewer.tokenizer.encode(TARGET)) >= WRITTEN > max(fewer.target_tokenizer.encode(TARGET))
    )


@pytest.mark.parametrize("method", ["greedy", "beam", "diverse", "sampling", "mbr"])
def test_every_search_writes_these_pieces_only(fewer: Translator, method: str) -> None:
    search = SearchConfig(method=method, max_length=8, beam=4, groups=2, samples=3)
    known = {fewer.target_tokenizer.piece(token) for token in range(WRITTEN)}
    for found in fewer.translate(SENTENCES, search=search):
        assert found.n_best[0].tokens
        assert set(found.n_best[0].tokens) <= known


def test_prefixes_and_terms_are_spelled_with_them(fewer: Translator) -> None:
    search = SearchConfig(beam=3, max_length=60)
    (found,) = fewer.translate([TEXT], prefix=[TARGET], search=search)
    assert found.text.startswith(TARGET)
    (found,) = fewer.translate([TEXT], terms={"chats": "Untranslatable"}, search=search)
    assert "Untranslatable" in found.text
    with pytest.raises(InputError, match="must become 'a again', and a word of that is forbidden"):
        fewer.translate(["a"], terms={"a": "a again"}, forbidden=["a"])


def test_a_score_is_the_sum_over_the_pieces_that_the_network_knows(fewer: Translator) -> None:
    (scored,) = fewer.score([TEXT], [TARGET])
    ids = fewer.target_tokenizer.encode(TARGET)
    source = torch.tensor([[*fewer.tokenizer.encode(TEXT), EOS]])
    with torch.no_grad():
        logits = fewer.members[0].model(source, torch.tensor([[BOS, *ids]]))[0]
    wanted = logits.log_softmax(-1)[range(len(ids) + 1), [*ids, EOS]]
    assert scored.log_prob == pytest.approx(float(wanted.sum()), abs=1e-4)
    assert scored.tokens == tuple(fewer.target_tokenizer.piece(token) for token in ids)


def test_it_reads_back(fewer: Translator, tmp_path: Path) -> None:
    there = load(write_random_model(tmp_path / "there", generation={"directions": [("en", "fr")]}))
    (plain,) = there.translate([TARGET], search=QUICK)
    (found,) = there.translate([TARGET], search=QUICK, rerank=Reranker(fewer, 0.5))
    before = {one.text: one.score for one in plain.n_best}
    back = fewer.score([one.text for one in found.n_best], [TARGET] * len(found.n_best))
    for one, read in zip(found.n_best, back, strict=True):
        added = normalize_score(read.log_prob, len(read.log_probs), QUICK)
        assert one.score == pytest.approx(before[one.text] + 0.5 * added, abs=1e-4)


def test_one_can_look_inside(fewer: Translator, tmp_path: Path) -> None:
    trace = explain(fewer, TEXT, given=TARGET)
    assert trace.translation == TARGET
    assert trace.model.target_vocab_size == WRITTEN
    write_trace(tmp_path / "trace.safetensors", trace)
    assert read_trace(tmp_path / "trace.safetensors", fewer).translation == TARGET
    assert max(encode_prefix(fewer, TARGET)) < WRITTEN
    with pytest.raises(InputError, match=f"ids are whole numbers from 0 to {WRITTEN - 1}"):
        check_prefix(fewer, [WRITTEN])


def test_its_heads_can_be_measured(fewer: Translator) -> None:
    pairs = list(zip(SENTENCES, SENTENCES[1:] + SENTENCES[:1], strict=True)) * 20
    assert find_alignment_heads(fewer, pairs).heads
    assert len(filter_pairs(fewer, *zip(*pairs, strict=True))) == len(pairs)
