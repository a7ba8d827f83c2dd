"""From the hypotheses of parts to the translation of a text."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from small_tokenizers import small_tokenizer
from translucid.decoding.hypothesis import Hypothesis
from translucid.text.spans import SpanFinder
from translucid.text.tokenizer import UNK, Tokenizer
from translucid.translator.assembly import best_combinations, build_candidate, find_flags
from translucid.translator.segmentation import SegmentedText, Segmenter

TOKENIZER = small_tokenizer("bpe")


def hypothesis(score: float, ending: str = "end", tokens: tuple[int, ...] = ()) -> Hypothesis:
    return Hypothesis(tokens, (score,), ending, score)  # type: ignore[arg-type]


HYPOTHESES = st.builds(
    hypothesis, st.sampled_from([-4.0, -2.0, -1.0, -0.5]), st.sampled_from(["end", "limit", "loop"])
)


@given(st.lists(st.lists(HYPOTHESES, min_size=1, max_size=3), max_size=4), st.integers(1, 5))
def test_the_best_combinations_are_those_of_all(found: list[list[Hypothesis]], n_best: int) -> None:
    def rank(way: tuple[Hypothesis, ...]) -> tuple[int, float]:
        return sum(h.ending == "loop" for h in way), -math.fsum(h.score for h in way)

    ranks = sorted(map(rank, itertools.product(*found)))
    assert list(map(rank, best_combinations(found, n_best))) == ranks[:n_best]


@given(st.lists(st.lists(HYPOTHESES, min_size=1, max_size=3), max_size=4))
def test_the_best_takes_the_first_of_every_part(found: list[list[Hypothesis]]) -> None:
    ranked = [sorted(part, key=lambda h: (h.ending == "loop", -h.score)) for part in found]
    assert best_combinations(ranked, 1) == [tuple(part[0] for part in ranked)]


def test_thousands_of_parts_are_no_deep_recursion() -> None:
    part = [hypothesis(-1.0), hypothesis(-2.0)]
    best = best_combinations([part] * 5000, 2)
    assert [math.fsum(h.score for h in way) for way in best] == [-5000.0, -5001.0]


def segment(tokenizer: Tokenizer, text: str) -> SegmentedText:
    return Segmenter(tokenizer.encode, 100, SpanFinder(), placeholders=False).segment(text)


def test_tokens_are_joined_and_scores_are_summed() -> None:
    text = segment(TOKENIZER, "Le chat.\n\nLe tapis.")
    texts = ["The cat.", "The mat."]
    chosen = [
        Hypothesis(tuple(TOKENIZER.encode(t)), (-1.0, -0.5), "end", score)
        for t, score in zip(texts, (-1.0, -0.25), strict=True)
    ]
    found = build_candidate(text, chosen, TOKENIZER)
    assert found.text == "The cat.\n\nThe mat."
    assert "".join(found.tokens).replace("▁", " ") == " The cat. The mat."
    assert found.log_probs == (-1.0, -0.5, -1.0, -0.5)
    assert (found.log_prob, found.score, found.ending) == (-3.0, -1.25, "end")


def test_the_worst_ending_of_all_parts_is_that_of_the_text() -> None:
    text = segment(TOKENIZER, "a\nb\nc")
    chosen = [hypothesis(-1.0, ending) for ending in ("end", "loop", "limit")]
    assert build_candidate(text, chosen, TOKENIZER).ending == "loop"
    found = find_flags(text, chosen)
    assert (found.truncated, found.looped, found.unknown, found.split) == (True, True, False, False)


def test_a_character_that_the_vocabulary_cannot_spell_is_flagged() -> None:
    words = small_tokenizer("word")
    text = segment(words, "The cat 猫")
    assert UNK in text.segments[0].tokens
    assert find_flags(text, [hypothesis(-1.0)]).unknown
