"""The distributions are computed a second time here, by listing every possibility."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

import pytest

from small_tokenizers import COMPOUNDS, SUBWORD_KINDS, small_tokenizer
from translucid.text import sentencepiece
from translucid.text.sentencepiece import (
    bpe_segmentation,
    uniforms,
    unigram_lattice,
    unigram_segmentation,
    unknown_score,
)

subwords = pytest.mark.parametrize("kind", SUBWORD_KINDS)
Distribution = Mapping[tuple[str, ...], float]

DRAWS = 6_000
# Scores as BPE training gives them: the earlier a merge was learned, the higher.
MERGES = {piece: -rank for rank, piece in enumerate(["ab", "bc", "abc", "cd", "abcd", "bcd"])}
# x is unknown; d is no piece by itself, but part of one.
LIKELIHOODS = {
    "a": -2.0,
    "b": -2.5,
    "c": -3.0,
    "ab": -1.5,
    "bc": -2.0,
    "abc": -2.2,
    "ca": -4.0,
    "bd": -3.5,
}


def bpe_distribution(symbols: tuple[str, ...], dropout: float) -> Distribution:
    """Return the probability of each outcome, over all ways in which merges can be dropped."""
    pairs = enumerate(itertools.pairwise(symbols))
    merges = [(-MERGES[a + b], i) for i, (a, b) in pairs if a + b in MERGES]
    outcome: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for dropped in itertools.product([True, False], repeat=len(merges)):
        chance = math.prod(dropout if drop else 1 - dropout for drop in dropped)
        left = [merge for merge, drop in zip(merges, dropped, strict=True) if not drop]
        if not left:
            outcome[symbols] += chance
        elif chance:
            i = min(left)[1]
            merged = (*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :])
            for pieces, share in bpe_distribution(merged, dropout).items():
                outcome[pieces] += chance * share
    return outcome


def unigram_distribution(word: str, alpha: float) -> Distribution:
    """Return the probability of each segmentation, from the list of all of them."""
    weights = {}
    lowest = min(LIKELIHOODS.values())
    for cuts in itertools.product([True, False], repeat=len(word) - 1):
        places = [0, *(i for i, cut in enumerate(cuts, 1) if cut), len(word)]
        pieces = tuple(word[a:b] for a, b in itertools.pairwise(places))
        if all(piece in LIKELIHOODS or len(piece) == 1 for piece in pieces):
            score = sum(LIKELIHOODS.get(piece, lowest - 10.0) for piece in pieces)
            weights[pieces] = math.exp(alpha * score)
    return {pieces: weight / sum(weights.values()) for pieces, weight in weights.items()}


def chi_squared(draws: Iterable[tuple[str, ...]], expected: Distribution) -> float:
    """Return Pearson's statistic in standard deviations from its mean, were the draws expected."""
    counts = Counter(draws)
    assert counts.keys() <= expected.keys()
    total = sum(counts.values())
    likely = {pieces: share for pieces, share in expected.items() if share * total >= 5}
    statistic = sum((counts[p] - s * total) ** 2 / (s * total) for p, s in likely.items())
    freedom = len(likely) - 1
    assert freedom > 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def streams() -> Iterable[Callable[[], float]]:
    return (uniforms(b"%d" % draw).__next__ for draw in range(DRAWS))


@pytest.mark.parametrize("word", ["abcd", "abcabcd", "xabcx"])
def test_bpe_dropout_has_the_distribution_of_the_paper(word: str) -> None:
    draws = [tuple(bpe_segmentation(word, MERGES, 0.3, uniform)) for uniform in streams()]
    assert abs(chi_squared(draws, bpe_distribution(tuple(word), 0.3))) < 4
    # The test can tell: a slightly different dropout fails it.
    assert chi_squared(draws, bpe_distribution(tuple(word), 0.35)) > 10


@pytest.mark.parametrize("word", ["abcab", "abcxca", "aabbcc", "abdcabd"])
def test_unigram_sampling_has_the_distribution_of_the_lattice(word: str) -> None:
    lattice = unigram_lattice(word, LIKELIHOODS, 3, unknown_score(LIKELIHOODS))
    draws = [tuple(unigram_segmentation(word, lattice, 0.4, uniform)) for uniform in streams()]
    assert abs(chi_squared(draws, unigram_distribution(word, 0.4))) < 4
    assert chi_squared(draws, unigram_distribution(word, 0.6)) > 10


def test_full_dropout_leaves_characters() -> None:
    assert bpe_segmentation("abcd", MERGES, 1.0, uniforms(b"").__next__) == list("abcd")


def test_a_long_word_is_segmented_in_logarithmic_steps() -> None:
    """A step that looked at the whole word again would take minutes here."""
    word = "abcd" * 25_000
    assert bpe_segmentation(word, MERGES, 0.0, uniforms(b"").__next__) == ["abcd"] * 25_000


def test_uniform_numbers() -> None:
    numbers = list(itertools.islice(uniforms(b"key"), 10_000))
    assert numbers == list(itertools.islice(uniforms(b"key"), 10_000))
    assert numbers[:8] != list(itertools.islice(uniforms(b"kez"), 8))
    assert all(0 <= number < 1 for number in numbers)
    assert len(set(numbers)) == len(numbers)
    tenths = Counter(int(10 * number) for number in numbers)
    assert all(abs(tenths[tenth] - 1000) < 5 * math.sqrt(900) for tenth in range(10))


@subwords
def test_sampling_is_a_pure_function(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered, in which order it was asked for and by which object must not matter."""
    calls = [(sentence, seed) for sentence in COMPOUNDS for seed in range(20)]
    tokenizer = small_tokenizer(kind)
    expected = [tokenizer.sample(text, seed=seed, strength=0.3) for text, seed in calls]
    monkeypatch.setattr(sentencepiece, "CACHE_SIZE", 10)
    forgetful = pickle.loads(pickle.dumps(tokenizer))
    backwards = [forgetful.sample(text, seed=seed, strength=0.3) for text, seed in calls[::-1]]
    assert backwards[::-1] == expected
    assert len({tuple(ids) for ids in expected}) > 0.9 * len(calls)


@subwords
def test_a_word_has_many_variants_in_one_sentence(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    ids = tokenizer.sample(" ".join(["loadcatver"] * 500), seed=1, strength=0.3)
    words = " ".join(tokenizer.piece(token) for token in ids).replace(" ▁", "\n▁").split("\n")
    assert 4 < len(set(words)) <= sentencepiece.VARIANTS


@subwords
def test_strength_is_what_it_says(kind: str) -> None:
    """More dropout cuts words smaller; so does a smaller alpha. Zero is no sampling."""
    tokenizer = small_tokenizer(kind)

    def length(strength: float) -> int:
        return sum(
            len(tokenizer.sample(text, seed=seed, strength=strength))
            for text in COMPOUNDS
            for seed in range(30)
        )

    plain = 30 * sum(map(len, tokenizer.encode_batch(COMPOUNDS)))
    assert length(0) == plain
    if kind == "bpe":
        assert plain < length(0.1) < length(0.5) < length(1.0)
    else:
        assert plain < length(2.0) < length(0.5) < length(0.1)
