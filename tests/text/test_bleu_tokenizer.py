from __future__ import annotations

import pytest

from translucid.text.languages import bleu_tokenizer


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [
        ("en", "13a"),
        (None, "13a"),
        ("zh", "zh"),
        ("zh-Hant", "zh"),
        ("ZH_tw", "zh"),
        ("ja", "char"),
        ("th", "char"),
        ("zhx", "13a"),
    ],
)
def test_the_tokenizer_of_a_language(language: str | None, tokenizer: str) -> None:
    assert bleu_tokenizer(language) == tokenizer
