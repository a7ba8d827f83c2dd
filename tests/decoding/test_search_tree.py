"""Recorded trees: they tell the same story as the result, and recording changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from probability_tables import (
    BEGIN,
    END,
    Table,
    build_request,
    exhaustive,
    penalty,
    random_table,
    seeds,
    start,
    written,
)
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Hypothesis
from translucid.decoding.request import SearchRequest
from translucid.decoding.search import search
from translucid.decoding.tree import Node, Recorder, SearchTree

METHODS: list[dict[str, Any]] = [
    {"beam": 3, "n_best": 2},
    {"beam": 1},
    {"method": "diverse", "beam": 4, "groups": 2, "n_best": 3},
    {"method": "greedy"},
    {"method": "sampling", "samples": 3, "n_best": 2},
]


def recorded(
    tables: list[Table], request: SearchRequest, wanted: SearchConfig
) -> tuple[list[list[Hypothesis]], tuple[SearchTree, ...]]:
    recorder = Recorder()
    return search(start(tables), request, wanted, recorder), recorder.trees()


def check(tree: SearchTree, table: Table, found: list[Hypothesis], wanted: SearchConfig) -> None:
    """Everything that must be true of a tree and its result."""
    root, *rest = tree.nodes
    assert root == Node(0, None, BEGIN, 0.0, 0.0, "kept")
    for number, node in enumerate(rest, start=1):
        assert node.parent is not None
        assert node.parent < number
        parent = tree.nodes[node.parent]
        assert parent.status == "kept"  # nothing grows on what was dropped or has ended
        assert node.step == parent.step + 1
        tokens = [tree.nodes[n].token for n in tree.path(number)]
        assert node.log_prob == pytest.approx(table.log_prob(tokens)[-1], abs=1e-6)
        if not wanted.coverage_penalty:
            score = sum(table.log_prob(tokens)) / penalty(len(tokens), wanted)
            assert node.score == pytest.approx(score, abs=1e-5)
        assert (node.status == "finished") <= (node.token == END)
        assert node.status != "cut"  # nothing here is long enough to go in circles
    assert len(tree.results) == len(found)
    for number, hypothesis in zip(tree.results, found, strict=True):
        nodes = [tree.nodes[n] for n in tree.path(number)]
        assert nodes[-1].status == "finished"
        assert nodes[-1].score == pytest.approx(hypothesis.score, abs=1e-9)
        assert [node.token for node in nodes] == [*hypothesis.tokens, END]
        assert [node.log_prob for node in nodes] == pytest.approx(list(hypothesis.log_probs))


@pytest.mark.parametrize("how", METHODS, ids=lambda how: str(how.get("method", how)))
@settings(max_examples=12, deadline=None)
@given(seed=seeds, beta=st.sampled_from([0.0, 0.3]), ties=st.booleans())
def test_a_tree_tells_the_story_of_its_result(
    how: dict[str, Any], seed: int, beta: float, ties: bool
) -> None:
    beta = beta if how.get("method", "diverse") == "diverse" else 0.0
    tables = [random_table(seed + i, 6, ties=ties) for i in range(3)]
    wanted = SearchConfig(**how, coverage_penalty=beta)
    request = build_request([6, 1, 4])
    found, trees = recorded(tables, request, wanted)
    assert found == search(start(tables), request, wanted, None)
    for tree, table, each in zip(trees, tables, found, strict=True):
        check(tree, table, each, wanted)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_terms_are_recorded_too(seed: int) -> None:
    table, wanted = random_table(seed, 6), SearchConfig(beam=2, n_best=2)
    request = SearchRequest(torch.tensor([7]), BEGIN, END, ((),), (((3, 4),),), ())
    [found], [tree] = recorded([table], request, wanted)
    check(tree, table, found, wanted)


def test_a_beam_keeps_and_drops_what_it_should() -> None:
    """By hand: two rows; in step 1 the third candidate falls, in step 2 both others end."""
    table = written(
        {
            (): {2: 0.5, 3: 0.3, 4: 0.2},
            (2,): {END: 0.9, 4: 0.1},
            (3,): {END: 0.8, 2: 0.2},
        },
        5,
    )
    _, [tree] = recorded([table], build_request([9]), SearchConfig(beam=2, n_best=2))
    after = {
        tuple(tree.nodes[n].token for n in tree.path(number)): node.status
        for number, node in enumerate(tree.nodes)
        if node.log_prob > -100
    }
    assert after == {
        (): "kept",
        (2,): "kept",
        (3,): "kept",
        (4,): "dropped",
        (2, END): "finished",
        (3, END): "finished",
        (2, 4): "kept",
        (3, 2): "kept",
    }
    assert tree.stopped == "bound"


def words_only(prefix: tuple[int, ...]) -> list[float]:
    return [0.0, 0.001, 0.999]


def test_why_a_search_stopped() -> None:
    plain = {"n_best": 1, "length_penalty": 0.0}
    sure = written({(): {END: 0.9, 2: 0.1}}, 4)
    two = written({(): {2: 0.6, 3: 0.4}}, 4)
    endless = Table(words_only)
    cases: list[tuple[Table, dict[str, Any], int, str]] = [
        (sure, {"beam": 2, **plain}, 9, "bound"),
        (sure, {"beam": 1, **plain}, 9, "end"),
        (two, {"beam": 2, "n_best": 2, "length_penalty": 0.0}, 9, "end"),
        (two, {"beam": 2, "n_best": 2, "length_penalty": 0.0}, 2, "end"),
        (two, {"beam": 2, "n_best": 2, "length_penalty": 0.0}, 1, "limit"),
        (endless, {"beam": 1, **plain}, 9, "limit"),
        (endless, {"beam": 2, **plain}, 9, "limit"),
        (endless, {"beam": 1, **plain}, 90, "loop"),
        (sure, {"method": "greedy"}, 9, "end"),
        (endless, {"method": "greedy"}, 9, "limit"),
        (two, {"method": "greedy"}, 2, "end"),
    ]
    for table, how, limit, reason in cases:
        _, [tree] = recorded([table], build_request([limit]), SearchConfig(**how))
        assert tree.stopped == reason, (how, limit)
        status = "cut" if reason == "loop" else "finished"
        assert tree.nodes[tree.results[0]].status == status


def test_a_full_beam_records_every_translation_there_is() -> None:
    table, wanted = random_table(5, 4), SearchConfig(beam=24, n_best=24, loop_guard=False)
    _, [tree] = recorded([table], build_request([4]), wanted)
    ended = {
        tuple(tree.nodes[n].token for n in tree.path(number))[:-1]
        for number, node in enumerate(tree.nodes)
        if node.status == "finished"
    }
    assert ended == {tokens for _, tokens in exhaustive(table, 4, 4, wanted)}


def test_a_tree_survives_json() -> None:
    _, [tree] = recorded([random_table(1, 5)], build_request([4]), SearchConfig(beam=2))
    back = json.loads(json.dumps(tree.to_json()))
    assert (
        SearchTree(
            tuple(Node(**node) for node in back["nodes"]), tuple(back["results"]), back["stopped"]
        )
        == tree
    )
