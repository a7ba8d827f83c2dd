from __future__ import annotations

from small_tokenizers import SENTENCES, small_tokenizer
from translucid.text.tokenizer import FIRST_PIECE, UNK


def test_every_character_is_a_token() -> None:
    tokenizer = small_tokenizer("char")
    assert tokenizer.vocab_size == FIRST_PIECE + len(set("".join(SENTENCES)))
    encoding = tokenizer.encode_with_offsets("Le  chat ")
    assert encoding.pieces == list("Le  chat ")
    assert encoding.offsets == [(i, i + 1) for i in range(9)]
    assert tokenizer.decode(encoding.ids) == "Le  chat "


def test_an_unknown_character_is_unk_and_shows_in_the_decoded_text() -> None:
    tokenizer = small_tokenizer("char")
    assert tokenizer.encode("ж") == [UNK]
    assert tokenizer.decode(tokenizer.encode("a ж b")) == "a ⁇ b"
