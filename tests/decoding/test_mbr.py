"""Minimum Bayes risk: against a brute-force computation in which sacrebleu scores every pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from probability_tables import END, Table, build_request, random_table, seeds, start
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.mbr import mbr_search, pairwise_chrf
from translucid.decoding.sampling import sampling_search
from translucid.decoding.tree import Recorder
from translucid.errors import InputError

WORDS = ["", "", "the", "cat", "sat", "cats", "a", "hat"]  # the first two are symbols
DRAWN = SearchConfig(method="mbr", samples=12, n_best=1)


def text_of(tokens: tuple[int, ...]) -> str:
    return " ".join(WORDS[token] for token in tokens)


def best_of(tables: Sequence[Table], limit: int, settings: SearchConfig) -> list[list[Hypothesis]]:
    request = replace(build_request([limit] * len(tables)), decode=text_of)
    return mbr_search(start(tables), request, settings, None)


def brute_force(samples: Sequence[Hypothesis]) -> dict[str, float]:
    """Every sample against every sample, one call of sacrebleu each; equal texts are not merged."""
    chrf, texts = CHRF(), [text_of(hypothesis.tokens) for hypothesis in samples]
    return {
        text: sum(chrf.sentence_score(text, [other]).score for other in texts) / len(texts)
        for text in texts
    }


@given(seeds, st.integers(1, 12))
def test_the_choice_is_that_of_a_brute_force_computation(seed: int, samples: int) -> None:
    tables = [random_table(seed + number, len(WORDS)) for number in range(2)]
    settings = DRAWN.replace(samples=samples, n_best=samples, seed=seed)
    every = sampling_search(
        start(tables), build_request([5, 5]), settings.replace(method="sampling"), None
    )
    for found, drawn in zip(best_of(tables, 5, settings), every, strict=True):
        expected = brute_force(drawn)
        assert {text_of(h.tokens): h.score for h in found} == pytest.approx(expected)
        assert found[0].score == pytest.approx(max(expected.values()))
        assert found == sorted(found, key=lambda h: -h.score)


def test_the_answer_may_differ_from_the_most_probable_sample() -> None:
    """Three ways to say nearly the same outvote a single sentence that each of them is below."""
    chances = {
        (): {2: 0.62, 6: 0.38},
        (2,): {3: 0.4, 5: 0.35, 7: 0.25},
        (6,): {END: 1.0},
    }

    def following(prefix: tuple[int, ...]) -> list[float]:
        given_chances = chances.get(prefix, {END: 1.0})
        return [given_chances.get(token, 0.0) for token in range(len(WORDS))]

    settings = DRAWN.replace(samples=300, n_best=4, length_penalty=0.0)
    found = best_of([Table(following)], 5, settings)[0]
    assert text_of(max(found, key=lambda h: h.log_prob).tokens) == "a"
    assert text_of(found[0].tokens) in {"the cat", "the cats"}


texts = st.lists(st.text(alphabet="ab é\t\n日", max_size=12), min_size=1, max_size=6)


@given(texts)
@example(["", ""])
@example(["", "a"])
@example([" ", "a b"])
@example(["aaaa", "aa", "aaaaaaaaaa"])
def test_chrf_is_sacrebleus(strings: list[str]) -> None:
    chrf, found = CHRF(), pairwise_chrf(strings)
    expected = [[chrf.sentence_score(text, [other]).score for other in strings] for text in strings]
    for row, scores in zip(found.tolist(), expected, strict=True):
        assert row == pytest.approx(scores, abs=1e-9)


def test_no_text_comes_twice_and_its_best_sample_stands_for_it() -> None:
    """With a decoder that tells nothing apart, one hypothesis is left: the most probable."""
    tables = [random_table(number, 6) for number in range(6)]
    request = replace(build_request([4] * 6), decode=lambda _: "same")
    settings = DRAWN.replace(n_best=5)
    by_lot = settings.replace(method="sampling")
    for found, drawn in zip(
        mbr_search(start(tables), request, settings, None),
        sampling_search(start(tables), request, by_lot, None),
        strict=True,
    ):
        assert [replace(h, score=0.0) for h in found] == [replace(drawn[0], score=0.0)]
        assert found[0].score == pytest.approx(100.0)


def test_a_job_that_cannot_make_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"compares texts.*decode = the tokenizer's function"):
        mbr_search(start([random_table(1, 6)]), build_request([4]), DRAWN, None)


def test_the_recorded_tree_ends_at_the_results() -> None:
    recorder, tables = Recorder(), [random_table(number, 6) for number in range(2)]
    request, settings = replace(build_request([5, 5]), decode=text_of), DRAWN.replace(n_best=3)
    found = mbr_search(start(tables), request, settings, recorder)
    assert found == mbr_search(start(tables), request, settings, None)
    for tree, hypotheses in zip(recorder.trees(), found, strict=True):
        paths = [[tree.nodes[n].token for n in tree.path(end)] for end in tree.results]
        assert paths == [[*h.tokens, END] for h in hypotheses]
        assert tree.stopped in ("end", "limit")
