"""IBM model 1 finds which tokens translate which."""

from __future__ import annotations

import random

import numpy as np
import pytest

from translucid.text import word_alignment
from translucid.text.word_alignment import ITERATIONS, SURE, SureLink, sure_links


def corpus(count: int, seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Target token 100 + s for each source token s, in random order; a word without counterpart."""
    draw = random.Random(seed)
    sources = [draw.sample(range(20), draw.randint(1, 6)) for _ in range(count)]
    targets = []
    for source in sources:
        target = [100 + token for token in source]
        draw.shuffle(target)
        targets.append([*target, 99])
    return sources, targets


def test_finds_the_lexicon() -> None:
    sources, targets = corpus(300, seed=1)
    links = sure_links(sources, targets)
    pairs = [(sources[link.pair][link.source], targets[link.pair][link.target]) for link in links]
    assert len(links) > 0.95 * sum(map(len, sources))
    assert np.mean([target == 100 + source for source, target in pairs]) > 0.99


def test_a_word_that_stands_twice_is_never_sure() -> None:
    sources, targets = corpus(200, seed=2)
    sources.append([3, 3])
    targets.append([103])
    assert not [link for link in sure_links(sources, targets) if link.pair == 200]


def naive(sources: list[list[int]], targets: list[list[int]]) -> set[tuple[int, int, int]]:
    """Model 1 as the paper writes it, with dictionaries."""
    table: dict[tuple[int, int], float] = {}
    shares: dict[tuple[int, int, int], float] = {}
    for _ in range(ITERATIONS + 1):
        counts: dict[tuple[int, int], float] = {}
        totals: dict[int, float] = {}
        for pair, (source, target) in enumerate(zip(sources, targets, strict=True)):
            for t, written in enumerate(target):
                origins = [-1, *source]
                total = sum(table.get((origin, written), 1.0) for origin in origins)
                for s, origin in enumerate(origins):
                    share = table.get((origin, written), 1.0) / total
                    shares[pair, s - 1, t] = share
                    counts[origin, written] = counts.get((origin, written), 0.0) + share
                    totals[origin] = totals.get(origin, 0.0) + share
        table = {(o, w): count / totals[o] for (o, w), count in counts.items()}
    return {link for link, share in shares.items() if share > SURE and link[1] >= 0}


@pytest.mark.parametrize("seed", [1, 2])
def test_equals_a_naive_one(seed: int) -> None:
    draw = random.Random(seed)
    sources = [[draw.randrange(8) for _ in range(draw.randint(1, 5))] for _ in range(25)]
    targets = [[draw.randrange(9) for _ in range(draw.randint(1, 5))] for _ in range(25)]
    backward = {(pair, s, t) for pair, t, s in naive(targets, sources)}
    expected = naive(sources, targets) & backward
    assert set(sure_links(sources, targets)) == {SureLink(*link) for link in expected}
    assert expected


def test_of_many_cells_only_the_first_pairs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words against two and nothing are six cells a pair; 60 of them are ten pairs."""
    draw = random.Random(1)
    sources = [tuple(draw.sample(range(5), 2)) for _ in range(50)]
    targets = [tuple(10 + word for word in source) for source in sources]
    whole = sure_links(sources[:10], targets[:10])
    assert whole
    monkeypatch.setattr(word_alignment, "MAX_LINKS", 60)
    assert sure_links(sources, targets) == whole
