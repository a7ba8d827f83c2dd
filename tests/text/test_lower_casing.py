from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import small_tokenizer
from translucid.text.interface import KINDS
from translucid.text.lower_casing import LowerCasing
from translucid.text.normalize import lower_cased


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_read_as_the_inner_tokenizer_reads_it_in_lower_case(kind: str, text: str) -> None:
    inner = small_tokenizer(kind)
    tokenizer = LowerCasing(inner)
    ids = inner.encode(lower_cased(text))
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode_batch([text, text]) == [ids, ids]
    assert tokenizer.sample(text, seed=1, strength=0) == ids
    assert tokenizer.decode(ids) == inner.decode(ids)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_offsets_are_those_of_the_text_given(kind: str, text: str) -> None:
    found = LowerCasing(small_tokenizer(kind)).encode_with_offsets(text)
    inner = small_tokenizer(kind).encode_with_offsets(lower_cased(text))
    assert found == inner
    assert all(0 <= start <= end <= len(text) for start, end in found.offsets)


def test_it_is_the_same_vocabulary_and_can_be_sent_to_another_process() -> None:
    inner = small_tokenizer("bpe")
    tokenizer = pickle.loads(pickle.dumps(LowerCasing(inner)))
    assert tokenizer.fingerprint == inner.fingerprint
    assert tokenizer.vocab_size == inner.vocab_size
    assert tokenizer.kind == "bpe"
    assert tokenizer.encode("LE CHAT") == inner.encode("le chat")
