"""What holds for every tokenizer and any text at all."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import (
    ALL_KINDS,
    COMPOUNDS,
    SENTENCES,
    SUBWORD_KINDS,
    learned_scores,
    small_tokenizer,
)
from translucid.errors import InputError
from translucid.text.sentencepiece import (
    bpe_segmentation,
    uniforms,
    unigram_lattice,
    unknown_score,
)
from translucid.text.sentencepiece_model import FEWEST_PIECES
from translucid.text.tokenizer import FIRST_PIECE, UNK

every_kind = pytest.mark.parametrize("kind", ALL_KINDS)
subwords = pytest.mark.parametrize("kind", SUBWORD_KINDS)

# Any character, those with a meaning to a tokenizer more often, and whole words and sentences.
CHARACTERS = st.characters(codec="utf-8") | st.sampled_from(
    " ▁▅\t\n\0\u2028\u200d<>s/0xtag\U0010ffff"
)
TEXTS = st.lists(
    st.text(CHARACTERS, max_size=8)
    | st.sampled_from(
        [*SENTENCES, *COMPOUNDS, "<s>", "</s>", "<tag0>", "<0xE2>", "👩‍👩‍👧", "e\u0301", "שלום"]
    ),
    max_size=6,
).map("".join)


@subwords
@given(text=TEXTS)
def test_any_text_comes_back_exactly_and_nothing_is_unknown(kind: str, text: str) -> None:
    tokenizer = small_tokenizer(kind)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(token >= FIRST_PIECE for token in ids)


@every_kind
@given(text=TEXTS)
def test_no_text_becomes_a_special_id(kind: str, text: str) -> None:
    ids = small_tokenizer(kind).encode(text)
    assert all(token == UNK or token >= FIRST_PIECE for token in ids)
    assert bool(ids) == bool(text)


@every_kind
@given(text=TEXTS)
def test_the_spans_cover_the_text_in_order(kind: str, text: str) -> None:
    tokenizer = small_tokenizer(kind)
    encoding = tokenizer.encode_with_offsets(text)
    assert encoding.ids == tokenizer.encode(text)
    assert encoding.pieces == [tokenizer.piece(token) for token in encoding.ids]
    spans = [span for span, _ in itertools.groupby(encoding.offsets)]
    assert spans == sorted(spans)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans[1:])
    for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if token >= FIRST_PIECE and not (
            kind in SUBWORD_KINDS and FIRST_PIECE <= token < FEWEST_PIECES
        ):
            surface = tokenizer.piece(token)
            surface = surface.replace("▁", " ") if kind in SUBWORD_KINDS else surface
            assert text[start:end] in {surface, surface.removeprefix(" ")}


@subwords
@given(text=TEXTS)
def test_the_bytes_of_a_character_share_its_span(kind: str, text: str) -> None:
    encoding = small_tokenizer(kind).encode_with_offsets(text)
    by_span = itertools.groupby(
        zip(encoding.offsets, encoding.ids, strict=True), key=lambda item: item[0]
    )
    for (start, end), items in by_span:
        ids = [token for _, token in items]
        if FIRST_PIECE <= ids[0] < FEWEST_PIECES:
            assert bytes(token - FIRST_PIECE for token in ids) == text[start:end].encode()


@every_kind
@given(texts=st.lists(TEXTS, max_size=5))
def test_a_batch_is_its_texts_one_by_one(kind: str, texts: list[str]) -> None:
    tokenizer = small_tokenizer(kind)
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


@subwords
@given(text=TEXTS, seed=st.integers(), strength=st.floats(0, 1))
def test_every_segmentation_spells_the_text(
    kind: str, text: str, seed: int, strength: float
) -> None:
    tokenizer = small_tokenizer(kind)
    ids = tokenizer.sample(text, seed=seed, strength=strength)
    assert tokenizer.decode(ids) == text
    assert all(token >= FIRST_PIECE for token in ids)
    assert ids == tokenizer.sample(text, seed=seed, strength=strength)
    assert tokenizer.sample(text, seed=seed, strength=0) == tokenizer.encode(text)


@every_kind
@given(before=TEXTS, surrogate=st.characters(categories=["Cs"]), after=TEXTS)
def test_half_a_character_is_refused(kind: str, before: str, surrogate: str, after: str) -> None:
    with pytest.raises(InputError, match=rf"character {len(before) + 1} .* lone surrogate"):
        small_tokenizer(kind).encode(before + surrogate + after)


def spelled(piece: str, scores: Mapping[str, float]) -> list[int]:
    """Return the ids of a piece; what is not in the vocabulary is spelled in bytes."""
    if piece in scores:
        return [FEWEST_PIECES + list(scores).index(piece)]
    return [FIRST_PIECE + byte for byte in piece.encode()]


@given(text=TEXTS)
def test_our_bpe_without_dropout_is_sentencepieces(text: str) -> None:
    """The merges of BPE-dropout, with nothing dropped, are those of the encoder."""
    scores = learned_scores("bpe")
    ours: list[int] = []
    for word in text.split(" ") if text else []:
        for piece in bpe_segmentation(f" {word}", scores, 0.0, uniforms(b"").__next__):
            ours += spelled(piece, scores)
    assert ours == small_tokenizer("bpe").encode(text)


def two_best(word: str, scores: Mapping[str, float]) -> list[tuple[float, list[int]]]:
    """Return the score and the ids of the two best paths through the lattice (Viterbi)."""
    lattice = unigram_lattice(word, scores, max(map(len, scores)), unknown_score(scores))
    best: list[list[tuple[float, list[int]]]] = [[(0.0, [])]]
    for end, edges in enumerate(lattice[1:], 1):
        paths = [
            (total + score, [*ids, *spelled(word[start:end], scores)])
            for start, score in edges
            for total, ids in best[start]
        ]
        best.append(sorted(paths, reverse=True)[:2])
    return best[-1]


@given(words=st.lists(TEXTS.map(lambda text: text.replace(" ", "")), min_size=1, max_size=3))
def test_the_best_path_of_our_lattice_is_sentencepieces(words: list[str]) -> None:
    """Sampling sees the pieces, the scores and the unknown characters that the encoder sees.

    Where two paths are as good as equal, it may be either of them.
    """
    scores = learned_scores("unigram")
    tokenizer = small_tokenizer("unigram")
    for word in filter(None, words):
        paths = two_best(f" {word}", scores)
        assert tokenizer.encode(word) in [ids for total, ids in paths if total > paths[0][0] - 1e-3]
    best = [two_best(f" {word}", scores) for word in words]
    if all(len(paths) == 1 or paths[0][0] - paths[1][0] > 1e-2 for paths in best) and any(words):
        assert tokenizer.encode(" ".join(words)) == [i for paths in best for i in paths[0][1]]
