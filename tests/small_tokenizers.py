"""Small tokenizers for tests, trained in a moment on a few sentences written here."""

from __future__ import annotations

import itertools
import tempfile
from functools import cache
from pathlib import Path

from translucid.text.sentencepiece_model import FEWEST_PIECES, read_model
from translucid.text.tokenizer import PLACEHOLDERS, Tokenizer, tokenizer_kinds, train_tokenizer

ALL_KINDS = tokenizer_kinds()
SUBWORD_KINDS = ("bpe", "unigram")

SENTENCES = [
    "The cat sat on the mat.",
    "The cats sat on the mats, and the dogs didn't.",
    "Le chat s'est assis sur le tapis.",
    "Les chats se sont assis sur les tapis ; les chiens non.",
    "Où est l'eau ? L'eau est ici, dans la bouteille.",
    "Where is the water? The water is here, in the bottle.",
    "In 1998 she translated 27 books; in 2003 she translated 31.",
    "En 1998 elle a traduit 27 livres ; en 2003 elle en a traduit 31.",
    "« Non », dit-il, « je n'ai rien vu. »",
    "“No”, he said, “I haven't seen anything.”",
    "Untranslatable words are translated again and again.",
    "Les mots intraduisibles sont traduits encore et encore.",
]
# Words made of shared parts, so that even so little text has parts to learn and to choose from.
_PARTS = ["un", "tra", "ver", "cat", "load", "ing"]
_WORDS = ["".join(parts) for parts in itertools.product(_PARTS, repeat=3)]
COMPOUNDS = [" ".join(_WORDS[start::24]) for start in range(24)]
TRAINING = [*SENTENCES * 2, *COMPOUNDS]
VOCAB_SIZE = 420


@cache
def small_tokenizer(kind: str) -> Tokenizer:
    """Return the tokenizer of this kind that TRAINING gives, trained once a process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.model"
        return train_tokenizer(TRAINING, kind=kind, vocab_size=VOCAB_SIZE, path=path)


@cache
def tokenizer_with_placeholders(kind: str) -> Tokenizer:
    """Return a tokenizer of TRAINING whose vocabulary has placeholders."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.model"
        size = VOCAB_SIZE + len(PLACEHOLDERS)
        return train_tokenizer(TRAINING, kind=kind, vocab_size=size, path=path, placeholders=True)


@cache
def learned_scores(kind: str) -> dict[str, float]:
    """Return the pieces of a subword tokenizer, spelled with the space itself, and their scores."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.model"
        small_tokenizer(kind).save(path)
        model = read_model(path.read_bytes())
    learned = zip(model.pieces[FEWEST_PIECES:], model.scores[FEWEST_PIECES:], strict=True)
    return {piece.replace("▁", " "): score for piece, score in learned}
