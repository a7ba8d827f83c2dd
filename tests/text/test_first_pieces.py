"""A BPE tokenizer without its last pieces: what a network needs that writes fewer than it reads."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import SENTENCES, small_tokenizer
from translucid.errors import InputError
from translucid.text import sentencepiece_model
from translucid.text.normalization import NormalizingTokenizer
from translucid.text.sentencepiece import SIZE_MULTIPLE, SentencePieceTokenizer
from translucid.text.sentencepiece_model import FEWEST_PIECES, move_to_front, read_model
from translucid.text.tokenizer import Tokenizer

ENGLISH = [sentence for sentence in SENTENCES if "the" in sentence or "words" in sentence]
FRENCH = [sentence for sentence in SENTENCES if sentence not in ENGLISH]
UNUSED = b"\x18\x05"  # the field `type` of a piece, 5: sentencepiece undoes its merge


def bpe() -> SentencePieceTokenizer:
    tokenizer = small_tokenizer("bpe")
    assert isinstance(tokenizer, SentencePieceTokenizer)
    return tokenizer


def saved(tokenizer: Tokenizer, folder: Path) -> bytes:
    tokenizer.save(folder / "tokenizer.model")
    return (folder / "tokenizer.model").read_bytes()


def with_unused(data: bytes, first: int) -> bytes:
    """Return a sentencepiece file in which the pieces from an id on are marked as unused."""
    found, number = b"", 0
    for field, value, whole in sentencepiece_model._raw_fields(data):
        if field == 1 and isinstance(value, bytes):
            if number >= first:
                value += UNUSED
                whole = b"\n" + bytes([len(value)]) + value  # short pieces: one byte of length
            number += 1
        found += whole
    return found


@given(text=st.text() | st.sampled_from(SENTENCES), size=st.integers(FEWEST_PIECES, 420))
def test_every_text_comes_back_from_the_first_pieces_alone(text: str, size: int) -> None:
    tokenizer = bpe()
    fewer = tokenizer.within(min(size, tokenizer.vocab_size))
    ids = fewer.encode(text)
    assert fewer.vocab_size == min(size, tokenizer.vocab_size)
    assert all(token < fewer.vocab_size for token in ids)
    assert fewer.decode(ids) == text
    assert fewer.encode_batch([text, "x"]) == [ids, fewer.encode("x")]
    found = fewer.encode_with_offsets(text)
    assert found.ids == ids
    assert "".join(text[a:b] for a, b in dict.fromkeys(found.offsets)) == text
    sampled = fewer.sample(text, seed=3, strength=0.3)
    assert all(token < fewer.vocab_size for token in sampled)
    assert fewer.decode(sampled) == text


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_merges_are_undone_as_sentencepiece_undoes_them(share: float, tmp_path: Path) -> None:
    """Characters are known in both: sentencepiece would write an unused one all the same."""
    data = saved(bpe(), tmp_path)
    pieces = read_model(data).pieces
    single = [i for i, piece in enumerate(pieces) if len(piece) == 1]
    longer = [i for i in range(FEWEST_PIECES, len(pieces)) if len(pieces[i]) > 1]
    kept = {*single, *longer[:: 3 if share == 0.3 else 1][: int(share * len(longer))]}
    ordered = move_to_front(data, kept)
    size = FEWEST_PIECES + len(kept)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=with_unused(ordered, size))
    ours = SentencePieceTokenizer(ordered).within(size)
    for text in [*SENTENCES, "untracat verloading ununun"]:
        assert ours.encode(text) == theirs.encode(text)


def test_the_pieces_of_targets_come_first_and_mean_the_same() -> None:
    ordered, count = bpe().move_target_pieces_first([ENGLISH[:2], ENGLISH[2:]])
    assert count % SIZE_MULTIPLE == 0
    assert count < ordered.vocab_size == bpe().vocab_size
    writer = ordered.within(count)
    for text in SENTENCES:
        before = [bpe().piece(token) for token in bpe().encode(text)]
        assert [ordered.piece(token) for token in ordered.encode(text)] == before
    for text in ENGLISH:
        assert writer.encode(text) == ordered.encode(text)
    assert any(writer.encode(text) != ordered.encode(text) for text in FRENCH)


def test_all_characters_of_the_targets_can_be_written_as_such() -> None:
    """Also those that stand in longer pieces only: another text may have them elsewhere."""
    ordered, count = bpe().move_target_pieces_first([ENGLISH])
    writer = ordered.within(count)
    known = {ordered.piece(token) for token in range(FEWEST_PIECES, ordered.vocab_size)}
    written = {writer.piece(token) for token in range(FEWEST_PIECES, count)}
    characters = {*"".join(ENGLISH).replace(" ", ""), "▁"} & known
    inside = characters - {bpe().piece(t) for text in ENGLISH for t in bpe().encode(text)}
    assert inside
    assert characters <= written


def test_no_more_pieces_are_first_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translucid.text.sentencepiece.SIZE_MULTIPLE", 10_000)
    ordered, count = bpe().move_target_pieces_first([ENGLISH])
    assert count == ordered.vocab_size
    assert ordered.within(count) is ordered


def test_it_goes_through_pickle_and_keeps_its_file(tmp_path: Path) -> None:
    fewer = bpe().within(FEWEST_PIECES + 20)
    again = pickle.loads(pickle.dumps(fewer))
    assert again.vocab_size == FEWEST_PIECES + 20
    assert again.encode(FRENCH[0]) == fewer.encode(FRENCH[0])
    assert saved(fewer, tmp_path) == saved(bpe(), tmp_path)
    with pytest.raises(InputError, match="is not in the vocabulary; ids run from 0 to"):
        fewer.decode([FEWEST_PIECES + 20])


def test_text_in_lower_case_has_the_first_pieces_too() -> None:
    fewer = NormalizingTokenizer(bpe(), lowercase=True, plain_typography=False).within(
        FEWEST_PIECES + 20
    )
    assert fewer.encode("THE CAT") == bpe().within(FEWEST_PIECES + 20).encode("the cat")


@pytest.mark.parametrize("kind", ["unigram", "word", "char"])
def test_other_kinds_need_all_their_pieces(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    assert tokenizer.within(tokenizer.vocab_size) is tokenizer
    with pytest.raises(InputError, match=f"of kind {kind} cannot use only .*; one of kind bpe can"):
        tokenizer.within(tokenizer.vocab_size - 1)


@pytest.mark.parametrize("size", [0, FEWEST_PIECES - 1, 421])
def test_symbols_and_bytes_are_always_needed(size: int) -> None:
    with pytest.raises(InputError, match=f"cannot use only {size} of its"):
        bpe().within(size)
