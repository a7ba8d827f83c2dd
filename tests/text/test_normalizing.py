from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import small_tokenizer
from translucid.text.normalization import NormalizingTokenizer, lowercase, plain_typography
from translucid.text.tokenizer import Tokenizer, tokenizer_kinds


def lower_casing(inner: Tokenizer) -> Tokenizer:
    return NormalizingTokenizer(inner, lowercase=True, plain_typography=False)


@pytest.mark.parametrize("kind", tokenizer_kinds())
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_read_as_the_inner_tokenizer_reads_it_in_lower_case(kind: str, text: str) -> None:
    inner = small_tokenizer(kind)
    tokenizer = lower_casing(inner)
    ids = inner.encode(lowercase(text))
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode_batch([text, text]) == [ids, ids]
    assert tokenizer.sample(text, seed=1, strength=0) == ids
    assert tokenizer.decode(ids) == inner.decode(ids)


@pytest.mark.parametrize("kind", tokenizer_kinds())
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_offsets_are_those_of_the_text_given(kind: str, text: str) -> None:
    found = lower_casing(small_tokenizer(kind)).encode_with_offsets(text)
    inner = small_tokenizer(kind).encode_with_offsets(lowercase(text))
    assert found == inner
    assert all(0 <= start <= end <= len(text) for start, end in found.offsets)


def test_it_is_the_same_vocabulary_and_can_be_sent_to_another_process() -> None:
    inner = small_tokenizer("bpe")
    tokenizer = pickle.loads(pickle.dumps(lower_casing(inner)))
    assert tokenizer.fingerprint == inner.fingerprint
    assert tokenizer.vocab_size == inner.vocab_size
    assert tokenizer.kind == "bpe"
    assert tokenizer.encode("LE CHAT") == inner.encode("le chat")


@pytest.mark.parametrize("kind", tokenizer_kinds())
@given(text=st.text(st.sampled_from("ab é.'’“«»… \u00a0\u202f-‑")))
def test_typography_is_read_as_a_keyboard_writes_it(kind: str, text: str) -> None:
    inner = small_tokenizer(kind)
    tokenizer = NormalizingTokenizer(inner, lowercase=False, plain_typography=True)
    plain = plain_typography(text)
    assert tokenizer.encode(text) == inner.encode(plain)
    assert pickle.loads(pickle.dumps(tokenizer)).encode(text) == inner.encode(plain)
    found = tokenizer.encode_with_offsets(text)
    starts, ends = [start for start, _ in found.offsets], [end for _, end in found.offsets]
    assert (starts, ends) == (sorted(starts), sorted(ends))
    assert not text or (starts[0], ends[-1]) == (0, len(text))
    read = [plain_typography(text[start:end]) for start, end in found.offsets]
    written = [plain[a:b] for a, b in inner.encode_with_offsets(plain).offsets]
    if "…" not in text and "«" not in text and "»" not in text:  # else some span is empty
        assert read == written
