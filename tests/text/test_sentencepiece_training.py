from __future__ import annotations

import re
from pathlib import Path

import pytest

from small_tokenizers import SENTENCES, SUBWORD_KINDS
from translucid.errors import InputError
from translucid.text.sentencepiece_model import FEWEST_PIECES, LONGEST_PART
from translucid.text.tokenizer import train_tokenizer

subwords = pytest.mark.parametrize("kind", SUBWORD_KINDS)


@subwords
def test_training_is_silent(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    train_tokenizer(SENTENCES * 50, kind=kind, vocab_size=500, path=tmp_path / "t")
    assert capfd.readouterr() == ("", "")


@subwords
def test_a_vocabulary_too_small_for_the_alphabet_says_the_smallest_possible(
    kind: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"vocabulary of 290 pieces is too small") as caught:
        train_tokenizer(SENTENCES, kind=kind, vocab_size=290, path=tmp_path / "t")
    found = re.search(r"at least (\d+) \(20 special pieces, 256 bytes and (\d+)", str(caught.value))
    assert found is not None
    least, characters = int(found[1]), int(found[2])
    # The space is written as a mark of its own.
    assert characters == len(set("".join(SENTENCES)))
    assert least == 20 + 256 + characters
    with pytest.raises(InputError, match=r"too small"):
        train_tokenizer(SENTENCES, kind=kind, vocab_size=least - 1, path=tmp_path / "t")
    assert not list(tmp_path.iterdir())
    tokenizer = train_tokenizer(SENTENCES, kind=kind, vocab_size=least, path=tmp_path / "t")
    assert tokenizer.vocab_size == least


@subwords
def test_the_size_is_an_upper_limit(kind: str, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["le chat"], kind=kind, vocab_size=8000, path=tmp_path / "t")
    assert FEWEST_PIECES + len(set("le chat")) <= tokenizer.vocab_size < 400
    assert tokenizer.decode(tokenizer.encode("le zèbre")) == "le zèbre"


@subwords
def test_the_space_has_a_piece_even_where_it_is_rare(kind: str, tmp_path: Path) -> None:
    """One space in 200,000 characters is outside the coverage; as bytes it would come back as ▁."""
    text = ["ab" * 100_000]
    tokenizer = train_tokenizer(text, kind=kind, vocab_size=400, path=tmp_path / "t")
    assert tokenizer.decode(tokenizer.encode(" a b ")) == " a b "


@subwords
@pytest.mark.parametrize(
    "sentence", ["x" * 70_000, "x y" * LONGEST_PART, "\u2585", "\u2585 a", "a\tb\0c", "\ufffd"]
)
def test_text_that_sentencepiece_would_abort_at_or_leave_out(
    kind: str, sentence: str, tmp_path: Path
) -> None:
    tokenizer = train_tokenizer([sentence], kind=kind, vocab_size=400, path=tmp_path / "t")
    assert tokenizer.decode(tokenizer.encode(sentence)) == sentence


@subwords
def test_digits_stand_alone(kind: str, tmp_path: Path) -> None:
    years = [f"in 1998 and in {year}" for year in range(1990, 2010)]
    tokenizer = train_tokenizer(years, kind=kind, vocab_size=500, path=tmp_path / "t")
    assert tokenizer.encode_with_offsets("in 1998").pieces[-4:] == ["1", "9", "9", "8"]
