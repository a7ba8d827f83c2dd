from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from small_tokenizers import SENTENCES, SUBWORD_KINDS, small_tokenizer
from translucid.errors import DataError
from translucid.text.sentencepiece_model import FEWEST_PIECES, read_model
from translucid.text.tokenizer import load_tokenizer

subwords = pytest.mark.parametrize("kind", SUBWORD_KINDS)


def saved(kind: str, folder: Path) -> bytes:
    small_tokenizer(kind).save(folder / "good.model")
    return (folder / "good.model").read_bytes()


def by_another_program(**changes: Any) -> bytes:
    """Train as someone else might, with our layout of ids unless changed."""
    settings: dict[str, Any] = {
        "model_type": "bpe",
        "vocab_size": 500,
        "hard_vocab_limit": False,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": 2,
        "eos_id": 3,
        "control_symbols": [f"<tag{slot}>" for slot in range(16)],
        "sentences": SENTENCES,
        "minloglevel": 2,
    } | changes
    file = io.BytesIO()
    sentences = iter(settings.pop("sentences"))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences, model_writer=file, **settings
    )
    return file.getvalue()


def refusal(data: bytes, folder: Path) -> str:
    path = folder / "tokenizer.model"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"make it with `translucid prepare`") as caught:
        load_tokenizer(path)
    return caught.value.problem


@subwords
def test_the_model_says_what_sentencepiece_says(kind: str, tmp_path: Path) -> None:
    data = saved(kind, tmp_path)
    model = read_model(data)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    ids = range(processor.vocab_size())
    assert model.kind == kind
    assert list(model.pieces) == [processor.id_to_piece(token) for token in ids]
    assert list(model.scores) == [processor.get_score(token) for token in ids]
    assert [processor.is_byte(token) for token in ids].index(False, 20) == FEWEST_PIECES


def test_a_model_with_our_layout_made_elsewhere_is_welcome(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(by_another_program())
    assert load_tokenizer(path).kind == "bpe"


@subwords
def test_every_truncated_file_is_refused(kind: str, tmp_path: Path) -> None:
    data = saved(kind, tmp_path)
    lengths = [*range(1, len(data), 97), *range(len(data) - 210, len(data), 3)]
    for length in lengths:
        problem = refusal(data[:length], tmp_path)
        assert "it is cut off" in problem or "the end of the model is missing" in problem


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pad_id": -1, "unk_id": 0, "bos_id": 1, "eos_id": 2}, "its first ids are not <pad>, "),
        ({"byte_fallback": False}, "its first ids are not <pad>, <unk>, <s>, </s>, 16 tags and"),
        ({"control_symbols": ["<2fr>"]}, "its first ids are not"),
        ({"user_defined_symbols": ["cat"]}, "its first ids are not"),
        ({"normalization_rule_name": "nmt_nfkc"}, "it normalises the text"),
        ({"add_dummy_prefix": False}, "it normalises the text"),
        ({"remove_extra_whitespaces": True}, "it normalises the text"),
        ({"split_by_whitespace": False}, "it has pieces that cross a space"),
        ({"treat_whitespace_as_suffix": True}, "it has pieces that cross a space"),
        ({"sentences": ["ab" * 2000]}, "it has no piece for the space"),
    ],
)
def test_a_model_that_behaves_otherwise_is_refused(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    assert problem in refusal(by_another_program(**changes), tmp_path)


def field(number: int, value: bytes) -> bytes:
    """Return a field of a protocol buffer whose value is shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    data = saved("bpe", tmp_path)
    the = field(1, "▁the".encode())[2:]
    one, two = field(1, b"en"), field(1, b"es")
    trainer = data.index(b"\x18\x02\x20", len(data) - 250)  # model_type 2, then vocab_size
    fallback = data.index(b"\x98\x02\x01", trainer)  # byte_fallback true
    assert the in data
    assert one in data
    assert two in data
    problems = {
        "announces 420 pieces and has 419": data[2 + data[1] :],
        "a piece occurs twice": data.replace(one, two),
        "a piece is not valid UTF-8": data.replace(one, field(1, b"\xff\xff")),
        "neither BPE nor unigram": data[: trainer + 1] + b"\x03" + data[trainer + 2 :],
        "SentencePiece cannot load it": data[: fallback + 2] + b"\x00" + data[fallback + 3 :],
        "it has user-defined pieces": data[: -len(_tail(data))]
        + field(1, field(1, b"zz") + b"\x18\x04")
        + _tail(data).replace(b"\x20\xa4\x03", b"\x20\xa5\x03"),
        "it is not a SentencePiece model": data + b"\x0b",
    }
    for problem, damaged in problems.items():
        assert problem in refusal(damaged, tmp_path)


def _tail(data: bytes) -> bytes:
    """Return what follows the pieces."""
    position = 0
    while data[position] == 0x0A:
        position += 2 + data[position + 1]
    return data[position:]


@pytest.mark.parametrize(
    "data",
    [
        b"\x08\x01",  # a field that should be a message is a number
        b"\x0a\x02\x08\x01",  # a piece whose text is a number
        b"\x0a\x02\x10\x01",  # a score that is no float
        b"\x0a\x05\x1d\0\0\0\0",  # a type that is not a number
        b"\xff" * 11,  # a number that does not end
    ],
)
def test_other_protocol_buffers_are_refused(data: bytes, tmp_path: Path) -> None:
    assert "it is not a SentencePiece model" in refusal(data, tmp_path)
