"""A tokenizer that normalises every text as the training text was: lower case, plain typography.

What stands around a network that was trained on such text (`translucid prepare --lowercase`,
`--plain-typography`) need not think of it: texts, prefixes and terms become tokens here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from translucid.text.interface import Encoding, Tokenizer
from translucid.text.normalize import lower_cased, plain_places, plain_typography


class NormalizingTokenizer(Tokenizer):
    """Another tokenizer, with every text normalised first. Offsets are those of the text given."""

    def __init__(self, inner: Tokenizer, *, lowercase: bool, plain_typography: bool) -> None:
        super().__init__(inner._data, inner._pieces)
        self.kind = inner.kind
        self._inner = inner
        self._lowercase, self._plain = lowercase, plain_typography

    def __reduce__(self) -> tuple[object, ...]:
        return _normalizing, (self._inner, self._lowercase, self._plain)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self._inner.encode(self._normalized(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text."""
        return self._inner.encode_batch([self._normalized(text) for text in texts])

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece stands for."""
        encoding = self._inner.encode_with_offsets(self._normalized(text))
        if not self._plain:
            return encoding
        places = plain_places(text)
        offsets = [(places[start], places[end]) for start, end in encoding.offsets]
        return encoding._replace(offsets=offsets)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids."""
        return self._inner.decode(ids)

    def within(self, size: int) -> Tokenizer:
        """Return a tokenizer that normalises alike and has the first `size` ids only."""
        return _normalizing(self._inner.within(size), self._lowercase, self._plain)

    def sample(self, text: str, *, seed: int, strength: float) -> list[int]:
        """Return the ids of one random segmentation of a text."""
        return self._inner.sample(self._normalized(text), seed=seed, strength=strength)

    def _normalized(self, text: str) -> str:
        text = plain_typography(text) if self._plain else text
        return lower_cased(text) if self._lowercase else text


def _normalizing(inner: Tokenizer, lowercase: bool, plain: bool) -> NormalizingTokenizer:
    return NormalizingTokenizer(inner, lowercase=lowercase, plain_typography=plain)
