"""Which tokens make a word, for every kind of tokenizer and any text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import small_tokenizer
from small_traces import random_translator
from translucid.decoding.settings import SearchConfig
from translucid.interpret import TraceToken, explain
from translucid.interpret.word_groups import word_groups
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, UNK, Tokenizer
from translucid.text.word_and_character import WordTokenizer

SHORT = SearchConfig(method="greedy", max_length=14)


def pieces(*parts: tuple[str, int, int]) -> list[TraceToken]:
    """Tokens of text, by piece and span; what has `<…>` for a piece is a symbol."""
    symbols = {"<s>": BOS, "</s>": EOS, "<tag0>": 4, "<unk>": UNK}
    return [
        TraceToken(symbols.get(piece, FIRST_PIECE + place), piece, start, end)
        for place, (piece, start, end) in enumerate(parts)
    ]


def test_pieces_of_a_word_are_together_and_symbols_alone() -> None:
    tokens = pieces(
        ("<tag0>", 0, 0), ("▁Le", 0, 2), ("▁chat", 2, 7), ("on", 7, 9), ("▁dort", 9, 14),
        (".", 14, 15), ("</s>", 15, 15),
    )  # fmt: skip
    assert word_groups("Le chaton dort.", tokens) == ((0, 1), (1, 2), (2, 4), (4, 6), (6, 7))


def test_a_space_of_its_own_goes_with_the_word_after_it() -> None:
    tokens = pieces(("▁", 0, 0), ("c", 0, 1), ("▁", 1, 2), ("d", 2, 3), ("</s>", 3, 3))
    assert word_groups("c d", tokens) == ((0, 2), (2, 4), (4, 5))


def test_of_several_spaces_only_the_last_goes_with_the_word() -> None:
    tokens = pieces(("▁a", 0, 1), ("▁", 1, 2), ("▁", 2, 3), ("▁b", 3, 5), ("▁", 5, 6))
    assert word_groups("a   b ", tokens) == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
    characters = pieces(("a", 0, 1), (" ", 1, 2), (" ", 2, 3), ("b", 3, 4))
    assert word_groups("a  b", characters) == ((0, 1), (1, 2), (2, 4))


def test_an_unknown_word_is_a_word() -> None:
    tokens = pieces(("<s>", 0, 0), ("<unk>", 0, 1), ("<unk>", 1, 3))
    assert word_groups("⁇ ⁇", tokens) == ((0, 1), (1, 2), (2, 3))


def test_the_bytes_of_a_character_are_one_word() -> None:
    tokenizer = small_tokenizer("bpe")
    encoded = tokenizer.encode_with_offsets("ab 日 c")
    tokens = [
        TraceToken(i, p, *span)
        for i, p, span in zip(encoded.ids, encoded.pieces, encoded.offsets, strict=True)
    ]
    groups = word_groups("ab 日 c", tokens)
    inside = [["<0x" in tokens[k].piece for k in range(a, b)] for a, b in groups]
    assert sum(any(one) for one in inside) == 1
    (found,) = (one for one in inside if any(one))
    assert sum(found) == 3


def test_where_a_script_has_no_spaces_a_token_is_a_word() -> None:
    tokens = pieces(("▁日本", 0, 2), ("語", 2, 3), ("が", 3, 4), ("▁cat", 4, 8))
    assert word_groups("日本語が cat", tokens) == ((0, 1), (1, 2), (2, 3), (3, 4))


def tokens_of(tokenizer: Tokenizer, text: str) -> list[TraceToken]:
    encoded = tokenizer.encode_with_offsets(text)
    spans = zip(encoded.ids, encoded.pieces, encoded.offsets, strict=True)
    end = TraceToken(EOS, "</s>", len(text), len(text))
    return [*(TraceToken(i, piece, *span) for i, piece, span in spans), end]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
@given(text=st.text(alphabet="abé.'日 ", max_size=20).map(str.strip).filter(bool))
def test_groups_cover_all_tokens_and_words_stay_whole(kind: str, text: str) -> None:
    tokens = tokens_of(small_tokenizer(kind), text)
    groups = word_groups(text, tokens)
    assert [groups[0][0], groups[-1][1]] == [0, len(tokens)]
    assert all(before[1] == after[0] for before, after in pairwise(groups))
    assert all(first < last for first, last in groups)
    said = [text[tokens[first].start : tokens[last - 1].end].strip() for first, last in groups]
    assert all(len(words.split()) <= 1 for words in said)
    if "日" not in text:
        assert [words for words in said if words] == text.split()


def test_words_of_the_word_tokenizer_are_its_tokens() -> None:
    tokenizer = WordTokenizer.train(["le chat dort"], vocab_size=100)
    tokens = tokens_of(tokenizer, "le chat inconnu dort")
    assert word_groups("le chat inconnu dort", tokens) == tuple((k, k + 1) for k in range(5))


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_groups_of_a_real_trace_cover_both_sides(kind: str) -> None:
    trace = explain(random_translator(kind=kind), "Où est l'eau ?", search=SHORT, level="light")
    for text, tokens in (
        (trace.source, trace.source_tokens),
        (trace.translation, trace.target_tokens),
    ):
        groups = word_groups(text, tokens)
        assert [place for group in groups for place in range(*group)] == list(range(len(tokens)))
    first = word_groups(trace.translation, trace.target_tokens)[0]
    assert first == (0, 1)  # <s>
