"""Alignments: rows sum to 1, they come from the served network's own numbers, links are right."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest
import torch

from small_tokenizers import small_tokenizer
from small_translators import reversed_translation, sentences, write_random_model
from translucid.decoding.config import SearchConfig
from translucid.engines import Engines
from translucid.engines.heads import AlignmentHeads, Head
from translucid.engines.pytorch import (
    AttendingSession,
    Member,
    pad,
    record_cross_attention,
    soft_alignments,
)
from translucid.model.decoder import DecoderLayer
from translucid.text.tokenizer import BOS, EOS
from translucid.translator import (
    Alignment,
    Translator,
    load,
)
from translucid.translator.alignment import TextSide, find_words
from translucid.translator.head_selection import find_alignment_heads

QUICK = SearchConfig(beam=2, max_length=8)


def aligned(translator: Translator, text: str, search: SearchConfig = QUICK) -> Alignment:
    (found,) = translator.translate([text], alignment=True, search=search)
    assert found.alignment is not None
    assert found.alignment.target_tokens == found.tokens
    return found.alignment


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_rows_sum_to_one(tmp_path: Path, kind: str) -> None:
    translator = load(write_random_model(tmp_path / kind, kind=kind))
    for text in ["The cat sat.", "a\n\n  Où est l'eau ?\n", "猫 😀 x", "", " \n"]:
        alignment = aligned(translator, text)
        weights = torch.tensor(alignment.weights)
        assert len(alignment.weights) == len(alignment.target_tokens)
        assert all(len(row) == len(alignment.source_tokens) for row in alignment.weights)
        if len(weights):
            assert torch.allclose(weights.sum(dim=1), torch.ones(len(weights)), atol=1e-5)
            assert bool((weights >= 0).all())


def test_parts_look_at_themselves_alone(babbling: Translator) -> None:
    one, two = aligned(babbling, "The cat."), aligned(babbling, "L'eau.")
    both = aligned(babbling, "The cat.\nL'eau.")
    assert both.source_tokens == one.source_tokens + two.source_tokens
    assert both.target_tokens == one.target_tokens + two.target_tokens
    weights = torch.tensor(both.weights)
    height, width = len(one.target_tokens), len(one.source_tokens)
    assert torch.allclose(weights[:height, :width], torch.tensor(one.weights), atol=1e-5)
    assert torch.allclose(weights[height:, width:], torch.tensor(two.weights), atol=1e-5)
    assert not weights[:height, width:].any()
    assert not weights[height:, :width].any()
    assert [(b.source_start, b.target_start) for b in both.blocks] == [(0, 0), (width, height)]


def layers(translator: Translator) -> list[DecoderLayer]:
    return cast("list[DecoderLayer]", list(translator.members[0].model.decoder.layers))


@torch.inference_mode()
def test_the_watched_twin_gives_the_same_logits(babbling: Translator) -> None:
    model = babbling.members[0].model
    kernels = [layer.cross_attention.kernel for layer in layers(babbling)]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    copy, record = record_cross_attention(model, [Head(0, 1), Head(1, 0), Head(1, 3)])
    source, target = torch.randint(20, 400, (3, 9)), torch.randint(20, 400, (3, 7))
    source[1, 5:] = 0
    assert torch.allclose(copy(source, target), model(source, target), atol=1e-5)
    assert record.weights_BLS.keys() == {(0, 1), (1, 0), (1, 3)}
    weights = torch.stack(list(record.weights_BLS.values()))
    assert torch.allclose(weights.sum(dim=-1), torch.ones(()), atol=1e-5)
    assert not weights[:, 1, :, 5:].any()
    assert [layer.cross_attention.kernel for layer in layers(babbling)] == kernels
    assert model.state_dict().keys() == before.keys()
    assert all(torch.equal(model.state_dict()[name], before[name]) for name in before)


def test_asking_for_alignments_does_not_touch_the_served_network(babbling: Translator) -> None:
    kernels = [layer.cross_attention.kernel for layer in layers(babbling)]
    plain = babbling.translate(["The cat sat."], search=QUICK)
    with_alignment = babbling.translate(["The cat sat."], search=QUICK, alignment=True)
    assert plain[0].n_best == with_alignment[0].n_best
    assert [layer.cross_attention.kernel for layer in layers(babbling)] == kernels


def test_threads_do_not_mix_their_alignments(babbling: Translator) -> None:
    texts = ["The cat sat on the mat.", "L'eau.", "Where is the water?", "a b c d e f"] * 3
    expected = [aligned(babbling, text).weights for text in texts]
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = list(pool.map(lambda text: aligned(babbling, text).weights, texts))
    assert found == expected


@torch.inference_mode()
def test_weights_are_softmax_of_queries_and_keys(babbling: Translator) -> None:
    """The alignment computed by hand from the network's own projections, for both rows."""
    model = babbling.members[0].model
    source, target = (21, 33, 47, EOS), (25, 60, 99)
    layer = layers(babbling)[1]
    seen = []
    hook = layer.cross_attention.w_q.register_forward_hook(lambda _, __, out: seen.append(out))
    source_BS, target_BT = torch.tensor([source]), torch.tensor([(BOS, *target)])
    memory = model.encode(source_BS)
    model.decode(target_BT, memory, source_BS)
    hook.remove()
    size = model.config.d_k
    queries = seen[0][0, :, 2 * size : 3 * size]
    keys = layer.cross_attention.w_k(memory)[0, :, 2 * size : 3 * size]
    expected = (queries @ keys.T / size**0.5).softmax(dim=-1)
    for row, rows in (("predicts", slice(0, 3)), ("reads", slice(1, 4))):
        heads = AlignmentHeads(heads=((1, 2),), row=row)  # type: ignore[arg-type]
        (found,) = soft_alignments([Member(model, heads)], [source], [target])
        assert torch.allclose(found, expected[rows], atol=1e-5)


@torch.inference_mode()
def test_a_session_tells_where_it_looks(babbling: Translator) -> None:
    """Step by step with two copies, rows reordered: what one pass over the whole target says."""
    member = babbling.members[0]
    sources = [(21, 33, 47, EOS), (50, EOS)]
    heads = (Head(0, 1), Head(1, 3))
    copy, record = record_cross_attention(member.model, heads)
    session = AttendingSession(copy.start(pad(sources, member.device), 2), record, heads)
    session.step(torch.tensor([BOS] * 4))
    session.reorder(torch.tensor([1, 0, 3, 3]))
    targets = [25, 60, 99, 70]
    session.step(torch.tensor(targets))
    assert session.attention_NS.shape == (4, 4)
    reading = AlignmentHeads(heads=((0, 1), (1, 3)), row="reads")
    expected = soft_alignments(
        [Member(member.model, reading)],
        [sources[0], sources[0], sources[1], sources[1]],
        [(token,) for token in targets],
    )
    for row, weights in zip(session.attention_NS, expected, strict=True):
        assert torch.allclose(row[: weights.size(1)], weights[0], atol=1e-5)
        assert not row[weights.size(1) :].any()


def test_links_are_the_known_alignment(taught: Translator) -> None:
    dev = sentences(200, seed=21)
    heads = find_alignment_heads(taught, [(text, reversed_translation(text)) for text in dev])
    member = Member(taught.members[0].model, heads)
    translator = Translator(taught.name, taught.tokenizer, Engines.of([member]), taught.generation)
    right, links = 0, 0
    for found in translator.translate(sentences(100, seed=22), alignment=True):
        assert found.alignment is not None
        count = len(found.source.split())
        right += sum(s + t == count - 1 for s, t in found.alignment.links)
        links += len(found.alignment.links)
        assert [t for _, t in sorted(found.alignment.links, key=lambda link: link[1])] == list(
            range(len(found.text.split()))
        )
    assert right / links > 0.95


def test_links_count_words_of_the_whole_text(taught: Translator) -> None:
    dev = sentences(200, seed=21)
    heads = find_alignment_heads(taught, [(text, reversed_translation(text)) for text in dev])
    member = Member(taught.members[0].model, heads)
    translator = Translator(taught.name, taught.tokenizer, Engines.of([member]), taught.generation)
    (found,) = translator.translate(["chat noir\n\n  livre"], alignment=True)
    assert found.text == "black cat\n\n  book"
    assert found.alignment is not None
    assert found.alignment.links == ((0, 1), (1, 0), (2, 2))


def side(text: str, kind: str = "bpe") -> TextSide:
    offsets = small_tokenizer(kind).encode_with_offsets(text).offsets
    return TextSide(text, (tuple(small_tokenizer(kind).encode(text)),), (tuple(offsets),))


def test_spaces_divide_words() -> None:
    text = " Le chat,\tl'eau\u3000ici\n"
    found = [text[a:b] for a, b in find_words(side(text))]
    assert found == ["Le", "chat,", "l'eau", "ici"]


def test_without_spaces_each_token_is_a_word() -> None:
    text = "cat 黒猫が OK"
    assert [text[a:b] for a, b in find_words(side(text, "char"))] == ["cat", "黒", "猫", "が", "OK"]
    assert [text[a:b] for a, b in find_words(side(text, "bpe"))] == ["cat", "黒", "猫", "が", "OK"]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_every_target_word_has_a_link_inside_both_texts(tmp_path: Path, kind: str) -> None:
    translator = load(write_random_model(tmp_path / kind, kind=kind))
    for text in ["The cat sat on the mat.", "Où est\nl'eau ?", "ß été\n\n\n x "]:
        (found,) = translator.translate([text], alignment=True, search=QUICK)
        assert found.alignment is not None
        linked = [target for _, target in found.alignment.links]
        assert len(set(linked)) == len(linked)
        assert all(source < len(text.split()) for source, _ in found.alignment.links)
        spaced = len(found.text.split())
        assert sorted(linked) == list(range(len(linked)))
        assert len(linked) >= spaced
