"""Learning a BPE or unigram vocabulary with sentencepiece: the same text gives the same file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

import sentencepiece

from translucid.errors import InputError
from translucid.text.interface import (
    BOS,
    EOS,
    FIRST_PIECE,
    PAD,
    PLACEHOLDERS,
    TAG_PIECES,
    UNK,
    utf8,
)
from translucid.text.sentencepiece_model import BYTE_PIECES

# Characters that together make up less than a hundred-thousandth of the text get no piece of
# their own and are encoded as bytes.
CHARACTER_COVERAGE = 0.99999

# sentencepiece leaves out sentences that are too long and aborts the process at a word of 65,536
# characters, so longer text is handed over in parts. Each part begins with the mark of the space,
# which is therefore never too rare for a piece of its own.
LONGEST_PART = 1_000

_RESERVED = "\u2585"  # sentencepiece leaves out sentences with this character


class _Feed:
    """Hands sentences to sentencepiece, and keeps an exception that C++ cannot pass on."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = sentences
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for sentence in self._sentences:
                text = sentence.replace(_RESERVED, " ")
                for start in range(0, len(text), LONGEST_PART):
                    yield utf8(text[start : start + LONGEST_PART])
        except BaseException as error:
            self.error = error
            raise


def train_sentencepiece(
    sentences: Iterable[str], *, kind: str, vocab_size: int, placeholders: bool
) -> bytes:
    """Learn a vocabulary of at most ``vocab_size`` pieces and return sentencepiece's file.

    With `placeholders` it has a piece for each character of `PLACEHOLDERS`.

    One thread only: the sums of unigram training depend on how many threads share them.
    """
    feed = _Feed(sentences)
    file = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(feed),
            model_writer=file,
            model_type=kind,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=CHARACTER_COVERAGE,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            split_digits=True,  # a number is read and copied digit by digit
            max_sentence_length=4 * LONGEST_PART,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            control_symbols=list(TAG_PIECES),
            user_defined_symbols=list(PLACEHOLDERS) if placeholders else [],
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as failure:
        if feed.error is not None:
            raise feed.error from None
        least = re.search(r"smaller than required_chars\D*\d+ vs (\d+)", str(failure))
        if least is None:
            raise
        specials = FIRST_PIECE + placeholders * len(PLACEHOLDERS)
        raise _too_small(vocab_size, int(least[1]), specials) from failure
    return file.getvalue()


def _too_small(vocab_size: int, least: int, specials: int) -> InputError:
    """Return the error for a vocabulary that cannot hold every character of the text."""
    characters = least - specials - len(BYTE_PIECES)
    return InputError(
        f"a vocabulary of {vocab_size} pieces is too small for this text: it needs at least "
        f"{least} ({specials} special pieces, {len(BYTE_PIECES)} bytes and {characters} "
        f"characters), and some more to hold parts of words.\n"
        f"  Use a larger vocabulary; 8000 is usual for a small corpus."
    )
