from __future__ import annotations

from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import (
    SENTENCES,
    SUBWORD_KINDS,
    small_tokenizer,
    tokenizer_with_placeholders,
)
from translucid.errors import InputError
from translucid.text.tokenizer import (
    FIRST_PIECE,
    PLACEHOLDER_PIECES,
    PLACEHOLDERS,
    UNK,
    train_tokenizer,
)

subwords = pytest.mark.parametrize("kind", SUBWORD_KINDS)

HARD = [
    "",
    " ",
    "  two  spaces  ",
    "\0",
    "a\0b",
    "tab\tnew\nline\r\n",
    "▁",
    "a▁b ▁ ▁▁c",
    "▁\U0010ffff▁\U0010fffe",
    "\u2585\u2028\u2029\u0085\ufeff",
    "\ufffd\ufffe\uffff",
    "👩‍👩‍👧‍👦 👍🏽 🇫🇷",
    "e\u0301 \u0301",
    "שלום עליכם مرحبا",
    "中文かな",
    "<s></s><unk><pad><tag0><0x41>",
]


@subwords
@pytest.mark.parametrize("text", HARD)
def test_hard_texts_come_back_exactly(kind: str, text: str) -> None:
    tokenizer = small_tokenizer(kind)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert UNK not in ids
    assert tokenizer.encode_batch([text, "x", text]) == [ids, tokenizer.encode("x"), ids]


@subwords
def test_other_programs_read_the_file_alike(kind: str, tmp_path: Path) -> None:
    """A ▁ of the text is the exception: sentencepiece reads it as a space, but decodes ours."""
    path = tmp_path / "tokenizer.model"
    tokenizer = small_tokenizer(kind)
    tokenizer.save(path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for text in [*SENTENCES, *HARD]:
        if "▁" not in text:
            assert processor.encode(text) == tokenizer.encode(text)
        assert processor.decode(tokenizer.encode(text)) == text


@subwords
def test_offsets_agree_with_those_of_sentencepiece(kind: str, tmp_path: Path) -> None:
    """sentencepiece gives the bytes of a character to the last of them; ours share the span."""
    path = tmp_path / "tokenizer.model"
    tokenizer = small_tokenizer(kind)
    tokenizer.save(path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for text in [*SENTENCES, *(hard for hard in HARD if "▁" not in hard)]:
        encoding = tokenizer.encode_with_offsets(text)
        theirs = processor.encode(text, out_type="offset_mapping")
        assert encoding.pieces == theirs["pieces"]
        assert [end for _, end in encoding.offsets if end] == sorted(
            (end for _, end in encoding.offsets if end)
        )
        for piece, ours, other in zip(
            encoding.pieces, encoding.offsets, theirs["offsets"], strict=True
        ):
            if not piece.startswith("<0x"):
                assert ours == tuple(other)


@subwords
def test_offsets_by_hand(kind: str) -> None:
    encoding = small_tokenizer(kind).encode_with_offsets(" é😀 a▁b")
    spans = [text for text in (" é😀 a▁b"[start:end] for start, end in encoding.offsets) if text]
    assert "".join(dict.fromkeys(spans).keys()).startswith(" ")
    assert spans.count("😀") == 4
    assert spans.count("▁") == 3
    assert encoding.offsets[0] == (0, 0)


@subwords
def test_a_stand_in_for_the_mark_never_meets_the_vocabulary(kind: str, tmp_path: Path) -> None:
    """The characters that first come to mind as stand-ins are pieces here."""
    text = ["\U0010ffff \U0010fffe \U0010fffd"] * 9
    tokenizer = train_tokenizer(text, kind=kind, vocab_size=400, path=tmp_path / "t")
    for hard in ("▁\U0010ffff▁\U0010fffc", "\U0010fffe▁"):
        assert tokenizer.decode(tokenizer.encode(hard)) == hard


@subwords
def test_bytes_that_are_no_text_show_as_replacement_characters(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    lead = tokenizer.encode("😀")[-4]
    assert tokenizer.piece(lead) == "<0xF0>"
    assert tokenizer.decode([lead, *tokenizer.encode("x")]).startswith("\ufffd")


@subwords
def test_unk_shows(kind: str) -> None:
    """Encoding never gives it, but a model could."""
    assert small_tokenizer(kind).decode([UNK]) == "⁇"


@subwords
@pytest.mark.parametrize("text", ["\ud800", "fine \udfff fine", "\ud83d\ude00"])
def test_a_lone_surrogate_is_refused(kind: str, text: str) -> None:
    tokenizer = small_tokenizer(kind)
    for call in (
        tokenizer.encode,
        tokenizer.encode_with_offsets,
        lambda t: tokenizer.encode_batch(["fine", t]),
        lambda t: tokenizer.sample(t, seed=1, strength=0.1),
    ):
        with pytest.raises(InputError, match=r"lone surrogate U\+D[89A-F]\w\w, .*\n  Text: '") as e:
            call(text)
        assert "Remove it, or repair the text where it was read" in str(e.value)


@pytest.mark.parametrize(
    ("kind", "strength", "message"),
    [
        ("bpe", 1.5, r"\(dropout of bpe\) is 1.5; it must be from 0 to 1"),
        ("bpe", float("nan"), r"must be from 0 to 1"),
        ("unigram", float("inf"), r"\(alpha of unigram\) is inf; it must be 0 or more"),
        ("unigram", -1.0, r"must be 0 or more. 0.1 is usual, 0 turns it off"),
    ],
)
def test_an_impossible_strength(kind: str, strength: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        small_tokenizer(kind).sample("a", seed=1, strength=strength)


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
@given(
    text=st.text(st.sampled_from("the cat, é▁" + PLACEHOLDERS), max_size=30),
    strength=st.sampled_from([0.0, 0.3]),
)
def test_placeholders_are_pieces_wherever_they_stand(kind: str, text: str, strength: float) -> None:
    tokenizer = tokenizer_with_placeholders(kind)
    ids = tokenizer.sample(text, seed=3, strength=strength)
    assert tokenizer.decode(ids) == text
    found = [token for token in ids if tokenizer.piece(token) in PLACEHOLDER_PIECES]
    wanted = [FIRST_PIECE + PLACEHOLDERS.index(c) for c in text if c in PLACEHOLDERS]
    assert found == wanted
    encoding = tokenizer.encode_with_offsets(text)
    assert [
        text[a:b] for (a, b), t in zip(encoding.offsets, encoding.ids, strict=True) if t in wanted
    ] == [c for c in text if c in PLACEHOLDERS]


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
def test_without_placeholders_their_characters_are_bytes(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    assert tokenizer_with_placeholders(kind).has_placeholders
    assert not tokenizer.has_placeholders
    assert tokenizer.decode(tokenizer.encode(PLACEHOLDERS)) == PLACEHOLDERS
    assert len(tokenizer.encode(PLACEHOLDERS)) == 4 * len(PLACEHOLDERS) + 1
