"""Normalising by a table, inside SentencePiece, is normalising by our functions."""

from __future__ import annotations

import itertools
import tempfile
import unicodedata
from functools import cache
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st

from small_tokenizers import small_tokenizer
from translucid.text.normalization import NormalizingTokenizer, nfc, normalization_table
from translucid.text.sentencepiece_model import add_normalization

BPE = small_tokenizer("bpe")
WAYS = [(False, False), (True, False), (False, True), (True, True)]
LETTERS = st.sampled_from("aEéÉçœŒßİıǅΣςЙйẤ각한ｱﬁÅ'’“”«»…\u00a0\u202f\u2009 -‑.1😀")
TEXTS = st.text(LETTERS | st.characters(exclude_categories=["Cs", "Cn", "Co"]), max_size=20)


@cache
def normalizing(lower: bool, plain: bool) -> sentencepiece.SentencePieceProcessor:
    with tempfile.TemporaryDirectory() as folder:
        BPE.save(Path(folder) / "bpe.model")
        data = (Path(folder) / "bpe.model").read_bytes()
    table = normalization_table(lower=lower, plain=plain)
    return sentencepiece.SentencePieceProcessor(model_proto=add_normalization(data, table))


@pytest.mark.parametrize(("lower", "plain"), WAYS)
@given(text=TEXTS, form=st.sampled_from(["NFC", "NFD"]))
def test_a_tokenizer_with_a_table_reads_as_ours_does(
    lower: bool, plain: bool, text: str, form: str
) -> None:
    composed = nfc(text.replace("▁", "").replace("\0", ""))
    marks = [unicodedata.combining(c) for c in unicodedata.normalize("NFD", composed)]
    several = any(one and other for one, other in itertools.pairwise(marks))
    assume(not several)  # marks of one letter, which may be in another order than the table's
    ours = NormalizingTokenizer(BPE, lowercase=lower, plain_typography=plain)
    given_text = unicodedata.normalize(form, composed)
    assert normalizing(lower, plain).encode(given_text, out_type=int) == ours.encode(composed)


def test_the_table_composes_letters_and_nothing_else_unless_asked() -> None:
    table = normalization_table(lower=False, plain=False)
    assert table["e\u0301"] == "é"
    assert table["\u212b"] == "Å"
    assert table["A\u0302\u0301"] == table["\u00c2\u0301"] == "Ấ"
    assert all(nfc(key) == value != key for key, value in table.items())
    assert not {"ﬁ", "½", "É", "’"} & table.keys()
    plain = normalization_table(lower=True, plain=True)
    assert plain["« "] == plain["\u202f»"] == plain["“"] == '"'
    assert plain["É"] == plain["E\u0301"] == "é"
