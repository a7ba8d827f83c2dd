"""Models that plain SentencePiece has trained, converted to Translucid's layout of ids."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import pytest
import sentencepiece

from small_tokenizers import SENTENCES, TRAINING, small_tokenizer
from translucid.text.sentencepiece import SentencePieceTokenizer
from translucid.text.sentencepiece_model import convert_model
from translucid.text.tokenizer import PLACEHOLDERS, BrokenFileError


@cache
def plain_model(**options: Any) -> bytes:
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING),
        model_writer=file,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"vocab_size": 150, "model_type": "bpe", **options},
    )
    return file.getvalue()


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize("options", [{}, {"byte_fallback": True, "vocab_size": 420, "pad_id": 3}])
@pytest.mark.parametrize("placeholders", [True, False])
def test_text_is_segmented_as_by_the_original(
    model_type: str, options: dict[str, Any], placeholders: bool
) -> None:
    data = plain_model(model_type=model_type, **options)
    original = sentencepiece.SentencePieceProcessor(model_proto=data)
    tokenizer = SentencePieceTokenizer(convert_model(data, placeholders=placeholders))
    assert tokenizer.kind == model_type
    assert tokenizer.has_placeholders is placeholders
    for sentence in TRAINING:
        text = " ".join(sentence.split())
        pieces = original.encode(text, out_type=str)
        if "<unk>" in original.id_to_piece(original.encode(text)):
            continue
        assert [tokenizer.piece(token) for token in tokenizer.encode(text)] == pieces
    for sentence in SENTENCES:
        assert tokenizer.decode(tokenizer.encode(sentence)) == sentence


def test_placeholders_are_pieces_of_a_converted_model() -> None:
    tokenizer = SentencePieceTokenizer(convert_model(plain_model(), placeholders=True))
    ids = tokenizer.encode(f"a {PLACEHOLDERS[0]} b")
    assert "<word0>" in [tokenizer.piece(token) for token in ids]


def test_a_file_of_translucid_stays_as_it_is(tmp_path: Any) -> None:
    small_tokenizer("bpe").save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    assert convert_model(data, placeholders=True) == data


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model_type": "word", "vocab_size": 60}, "neither BPE nor unigram"),
        ({"user_defined_symbols": ["<sep>"]}, "user-defined pieces"),
        ({"split_by_whitespace": False, "model_type": "unigram"}, "pieces that cross a space"),
        ({"add_dummy_prefix": False}, "does not begin a text with a space"),
        ({"treat_whitespace_as_suffix": True}, "pieces that cross a space"),
    ],
)
def test_what_cannot_be_represented_is_refused(options: dict[str, Any], problem: str) -> None:
    options = {key: tuple(v) if isinstance(v, list) else v for key, v in options.items()}
    data = plain_model(**options)
    with pytest.raises(BrokenFileError, match=problem):
        convert_model(data, placeholders=False)
