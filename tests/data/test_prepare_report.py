"""Counts and examples do not depend on how a corpus was cut."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from translucid.data.cleaning import Reason
from translucid.data.prepare.report import MAX_EXAMPLES, PairExample, PairTallies


def tallies(names: list[str], first: int = 0) -> PairTallies:
    found = PairTallies()
    for line, name in enumerate(names, first):
        found.add(name, PairExample.from_pair(0, line, ("a", "b"), None))
    return found


@given(st.lists(st.sampled_from("xyz"), max_size=100), st.lists(st.integers(0, 100), max_size=5))
def test_findings_of_parts_are_those_of_the_whole(names: list[str], cuts: list[int]) -> None:
    merged = PairTallies()
    edges = [0, *sorted(min(cut, len(names)) for cut in cuts), len(names)]
    for begin, end in itertools.pairwise(edges):
        part = tallies(names[begin:end], begin)
        merged.merge(PairTallies.from_json(json.loads(json.dumps(part.to_json()))))
    assert merged == tallies(names)
    for name in set(names):
        lines = [line for line, other in enumerate(names) if other == name]
        assert merged.count(name) == len(lines)
        assert [e.line for e in merged.by_name[name].examples] == lines[:MAX_EXAMPLES]


def test_what_was_not_found_is_reported_with_zero() -> None:
    steps = [Reason.RATIO, Reason.EMPTY]
    entries = tallies(["ratio"]).describe(steps, total=4, names=["file"])
    assert [(e["name"], e["title"], e["pairs"], e["share"]) for e in entries] == [
        ("ratio", "length ratio", 1, 0.25),
        ("empty", "empty side", 0, 0.0),
    ]
    assert entries[0]["examples"] == [{"file": "file", "line": 0, "source": "a", "target": "b"}]
    assert tallies([]).describe(steps, total=0, names=[])[0]["share"] == 0.0


def test_long_and_impossible_text_can_be_shown() -> None:
    example = PairExample.from_pair(0, 1, ("a" * 1000, "\ud83d"), ("b", "c" * 301))
    assert (len(example.source), example.source[-1], example.target) == (301, "…", "\ufffd")
    assert example.became == ("b", "c" * 300 + "…")
    json.dumps(example.source).encode()
