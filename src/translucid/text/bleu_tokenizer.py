"""Which of sacrebleu's tokenizers BLEU divides the words of a language with.

Training and evaluation score with the same one, so that their BLEU can be compared.
"""

from __future__ import annotations

import re

_WITHOUT_SPACES = {"zh": "zh", "ja": "char", "th": "char"}  # scripts without spaces; others: 13a


def bleu_tokenizer(language: str | None) -> str:
    """Return the tokenizer for a target language by its code; where it is not known, 13a.

    ``zh`` and ``char`` treat characters as words. sacrebleu's own for Japanese needs a package that
    is not always there, and a score must not depend on what happens to be installed.

    >>> bleu_tokenizer("de"), bleu_tokenizer("zh-Hant"), bleu_tokenizer("ja_JP")
    ('13a', 'zh', 'char')
    """
    if language is None:
        return "13a"
    return _WITHOUT_SPACES.get(re.split(r"[-_]", language.lower())[0], "13a")
