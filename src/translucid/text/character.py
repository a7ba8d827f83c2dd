"""Single characters: the smallest vocabulary and the longest sequences."""

from __future__ import annotations

from translucid.text.interface import UNKNOWN_TEXT
from translucid.text.piece_list import PieceListTokenizer


class CharacterTokenizer(PieceListTokenizer):
    """Every Unicode character is a token; one that training has not seen is UNK."""

    kind = "char"
    always = ()
    unknown = UNKNOWN_TEXT

    @staticmethod
    def split(text: str) -> list[str]:
        """Cut a text into its characters."""
        return list(text)
