"""Which tokens make a word, for every kind of tokenizer and any text; heads between words."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_heads import built_translator
from small_tokenizers import small_tokenizer
from small_traces import random_translator
from small_translators import write_random_model
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.interpret import TraceToken, explain
from translucid.interpret.network import AttentionHead
from translucid.interpret.word_attention import (
    HeadRow,
    WordAttention,
    WordQuestion,
    find_tokens,
    find_word_heads,
    measure_word_attention,
    rank_across,
    word_groups,
)
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, UNK, Tokenizer
from translucid.text.word_and_character import WordTokenizer
from translucid.translator import Translator, load

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


# ---- from word to word --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built() -> Translator:
    return built_translator()


@pytest.fixture(scope="module")
def babbling(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_random_model(tmp_path_factory.mktemp("heads") / "model"))


def test_heads_that_look_from_one_word_to_another(built: Translator) -> None:
    trace = explain(built, "chat noir dort", given="cat black sleeps", level="light")
    before, *_ = measure_word_attention(trace, "noir", "chat")
    assert (before.where.head, before.where.row) == (AttentionHead("encoder", 0, 0), "reads")
    assert before.weight == pytest.approx(1.0, abs=1e-4)
    assert before.even == pytest.approx(1 / 4)
    across, *_ = measure_word_attention(trace, "black", "noir", rival="dort")
    assert str(across.where) == "cross 1.1, reads"
    assert across.margin == pytest.approx(1.0, abs=1e-4)
    back = {str(one.where): one for one in measure_word_attention(trace, "sleeps", "black")}
    sure = [name for name, one in back.items() if one.weight > 0.99]
    # The row that predicts "sleeps" reads "black", so there the head that looks at itself finds it.
    assert set(sure) == {"decoder 1.1, reads", "decoder 1.2, reads", "decoder 1.3, predicts"}
    assert back["decoder 1.1, reads"].even == pytest.approx(1 / 4)
    assert back["decoder 1.3, predicts"].even == pytest.approx(1 / 3)


def test_weights_are_means_of_rows_and_sums_of_columns(babbling: Translator) -> None:
    trace = explain(babbling, "Le chat voit le chat.", given="The cat sees the cat.", level="light")
    froms = find_tokens(trace.source, trace.source_tokens, "le")
    tos = find_tokens(trace.source, trace.source_tokens, "chat")
    assert len(tos) >= 2
    for one in measure_word_attention(trace, "le", "chat"):
        weights = trace.attention("encoder", one.where.head.layer)[one.where.head.head]
        by_cell = sum(float(weights[i, j]) for i in froms for j in tos) / len(froms)
        assert one.weight == pytest.approx(by_cell, abs=1e-6)
        assert one.rival is None


def test_rows_that_predict_come_one_before_those_that_read(babbling: Translator) -> None:
    trace = explain(babbling, "Le chat dort.", given="It sleeps.", level="light")
    found = {one.where: one.weight for one in measure_word_attention(trace, "sleeps", "chat")}
    reads = find_tokens(trace.translation, trace.target_tokens, "sleeps")
    columns = find_tokens(trace.source, trace.source_tokens, "chat")
    for where, weight in found.items():
        rows = [row - (where.row == "predicts") for row in reads]
        weights = trace.attention("cross", where.head.layer)[where.head.head]
        assert where.head.side == "cross"
        expected = float(weights[rows][:, columns].sum() / len(rows))
        assert weight == pytest.approx(expected, abs=1e-6)


def test_even_attention_counts_only_what_the_decoder_sees(built: Translator) -> None:
    trace = explain(built, "chat", given="cat black cat sleeps cat", level="light")
    decoder = [
        one
        for one in measure_word_attention(trace, "black", "cat")
        if one.where.head.side == "decoder"
    ]
    assert {one.where.row: one.even for one in decoder} == {
        "predicts": pytest.approx(1 / 2),  # sees <s> cat
        "reads": pytest.approx(1 / 3),  # sees <s> cat black
    }


def test_a_rival_that_the_decoder_cannot_see_yet_is_none(built: Translator) -> None:
    trace = explain(built, "chat", given="cat black sleeps", level="light")
    assert measure_word_attention(trace, "black", "cat")
    with pytest.raises(InputError, match="the decoder looks back only"):
        measure_word_attention(trace, "black", "cat", rival="sleeps")
    seen = measure_word_attention(trace, "sleeps", "cat", rival="black")
    assert {one.where.row for one in seen} == {"predicts", "reads"}


def test_those_come_first_that_do_it_in_all_sentences(built: Translator) -> None:
    first = WordQuestion("chat noir dort", "noir", "chat", rival="dort")
    second = WordQuestion("dort eau noir chat", "noir", "eau", rival="chat")
    best, *others = find_word_heads(built, [first, second]).rows
    assert [one.where.head for one in best] == [AttentionHead("encoder", 0, 0)] * 2
    assert all(one.attends for one in best)
    assert not any(all(one.attends for one in row) for row in others)
    leads = [min(one.margin for one in row) for row in others]
    assert leads == sorted(leads, reverse=True)
    assert rank_across([]) == ()


@pytest.mark.parametrize(
    ("weight", "rival", "points"),
    [(0.4, 0.3, True), (0.4, 0.4, False), (0.2, 0.0, False), (0.4, None, True), (0.2, None, False)],
)
def test_a_head_points_if_it_looks_there_more_than_evenly_and_more_than_to_the_rival(
    weight: float, rival: float | None, points: bool
) -> None:
    where = HeadRow(AttentionHead("encoder", 0, 0), "reads")
    assert WordAttention(where, weight, rival, even=0.25).attends == points


def test_words_are_found_in_whole(babbling: Translator) -> None:
    trace = explain(babbling, "L'animal et les animaux.", given="x", level="light")
    pieces = [
        trace.source_tokens[n] for n in find_tokens(trace.source, trace.source_tokens, "Animal")
    ]
    covered = trace.source[min(t.start for t in pieces) : max(t.end for t in pieces)]
    assert "animal" in covered
    assert "animaux" not in covered
    with pytest.raises(InputError, match="no attention goes from 'chien' to 'animal'"):
        measure_word_attention(trace, "chien", "animal")
