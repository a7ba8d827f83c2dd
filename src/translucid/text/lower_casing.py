"""A tokenizer for text in lower case: whatever it is given, it reads in lower case.

What stands around a network that was trained on such text (`translucid prepare --lowercase`) need
not think of it: texts, prefixes and terms become tokens here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from translucid.text.interface import Encoding, Tokenizer
from translucid.text.normalize import lower_cased


class LowerCasing(Tokenizer):
    """Another tokenizer, with every text brought into lower case first.

    Offsets are still those of the text given, because no character becomes two.
    """

    def __init__(self, inner: Tokenizer) -> None:
        super().__init__(inner._data, inner._pieces)
        self.kind = inner.kind
        self._inner = inner

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._inner,)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text in lower case."""
        return self._inner.encode(lower_cased(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text in lower case."""
        return self._inner.encode_batch([lower_cased(text) for text in texts])

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return ids, pieces and the span of the text that each piece stands for."""
        return self._inner.encode_with_offsets(lower_cased(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids."""
        return self._inner.decode(ids)

    def within(self, size: int) -> Tokenizer:
        """Return a tokenizer for lower case that has the first `size` ids only."""
        return LowerCasing(self._inner.within(size))

    def sample(self, text: str, *, seed: int, strength: float) -> list[int]:
        """Return the ids of one random segmentation of a text in lower case."""
        return self._inner.sample(lower_cased(text), seed=seed, strength=strength)
