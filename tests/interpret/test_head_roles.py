"""The table of heads: on heads built by hand, and against counting by hand on a random network."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from built_heads import CROSS, DECODER, ENCODER, built_translator
from small_translators import (
    LEXICON,
    reversed_translation,
    sentences,
    write_random_model,
    write_taught_model,
)
from translucid.errors import InputError
from translucid.events import Event, Notice, Progress
from translucid.interpret.ablation import disable_heads
from translucid.interpret.explain import explain
from translucid.interpret.head_roles import (
    KINDS,
    HeadMeasures,
    HeadStatistics,
    assign_role,
    build_labels,
    classify_role,
)
from translucid.interpret.head_statistics import measure_heads
from translucid.interpret.network import (
    SIDES,
    AttentionHead,
    all_heads,
    replace_network,
    single_network,
)
from translucid.interpret.trace import Side, Trace
from translucid.text.tokenizer import EOS, FIRST_PIECE
from translucid.translator import Translator, load

WORDS = [
    "chat noir chat dort", "petit chien mange petit arbre", "eau rouge", "vieux livre vieux maison",
    "dort chien noir arbre dort", "livre rouge mange eau noir",
]  # fmt: skip


def word_by_word(source: str) -> str:
    return " ".join(LEXICON[word] for word in source.split())


@pytest.fixture(scope="module")
def built() -> Translator:
    return built_translator()


@pytest.fixture(scope="module")
def statistics(built: Translator) -> dict[AttentionHead, HeadStatistics]:
    sources = [*WORDS, *sentences(60, seed=2)]
    found = measure_heads(built, sources, [word_by_word(text) for text in sources]).heads
    return {one.head: one for one in found}


@pytest.fixture(scope="module")
def babbling(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_random_model(tmp_path_factory.mktemp("heads") / "model"))


@pytest.mark.parametrize(
    ("side", "roles"), [("encoder", ENCODER), ("decoder", DECODER), ("cross", CROSS)]
)
def test_heads_built_for_a_role_are_given_that_role(
    statistics: dict[AttentionHead, HeadStatistics], side: Side, roles: tuple[str, ...]
) -> None:
    found = [one for head, one in statistics.items() if head.side == side]
    assert [one.role for one in found] == list(roles)
    names = {"previous token": "previous", "next token": "next", "same position": "same_position",
             "same word": "same_word", "first token": "first", "end of sentence": "end",
             "alignment": "alignment"}  # fmt: skip
    for one in found:
        if one.role == "broad":
            assert one.evenness == pytest.approx(1.0, abs=1e-6)
        else:
            assert getattr(one, names[one.role]) > 0.98, one
            assert "0.5 or more" in one.rule


def test_what_an_attention_cannot_do_is_none(
    statistics: dict[AttentionHead, HeadStatistics],
) -> None:
    def unknown(side: Side) -> set[str]:
        one = statistics[AttentionHead(side, 0, 0)]
        return {
            name for name in (*KINDS, "alignment", "alignment_row") if getattr(one, name) is None
        }

    assert unknown("encoder") == {"alignment", "alignment_row"}
    assert unknown("decoder") == {"next", "end", "alignment", "alignment_row"}
    assert unknown("cross") == {"previous", "next", "same_position", "same_word"}
    aligning = statistics[AttentionHead("cross", 0, 0)]
    assert (aligning.alignment_row, aligning.links > 100) == ("reads", True)


def test_distance_and_entropy_of_heads_built_by_hand(
    statistics: dict[AttentionHead, HeadStatistics],
) -> None:
    previous, itself = (statistics[AttentionHead("decoder", 0, head)] for head in (0, 2))
    assert previous.distance == pytest.approx(1.0, abs=1e-3)
    assert itself.distance == pytest.approx(0.0, abs=1e-3)
    assert max(previous.entropy, itself.entropy) < 1e-3


def by_hand(trace: Trace, head: AttentionHead) -> dict[str, Any]:
    """Return the sums of one head over one sentence, cell by cell: (sum, count) of each number."""
    side, layer, number = head
    weights = trace.attention(side, layer)[number].tolist()
    source = [token.id for token in trace.source_tokens]
    target = [token.id for token in trace.target_tokens]
    keys, queries = (
        (target if side == "decoder" else source),
        (source if side == "encoder" else target),
    )
    found: dict[str, list[float]] = {name: [] for name in (*KINDS, "entropy", "even", "distance")}
    for i, row in enumerate(weights):
        if side != "cross" and queries[i] < FIRST_PIECE:
            continue
        seen = range(i + 1) if side == "decoder" else range(len(keys))
        found["entropy"].append(-sum(row[j] * math.log(row[j]) for j in seen if row[j] > 0))
        found["even"].append(math.log(len(seen)))
        line = i * len(source) / len(target) if side == "cross" else i
        found["distance"].append(sum(row[j] * abs(j - line) for j in seen))
        wanted: dict[str, list[int]] = {
            "first": [0] if side == "cross" or i > 1 else [],
            "end": [j for j in seen if keys[j] == EOS and (side == "cross" or j != i + 1)],
        }
        if side == "cross":
            written = trace.steps[i].token.id
            wanted["same_word"] = [j for j in seen if keys[j] == written and written >= FIRST_PIECE]
        else:
            wanted["previous"] = [j for j in seen if j == i - 1]
            wanted["next"] = [j for j in seen if j == i + 1]
            wanted["same_position"] = [i]
            wanted["same_word"] = [j for j in seen if keys[j] == keys[i] and j != i]
        for kind, places in wanted.items():
            if places:
                found[kind].append(sum(row[j] for j in places))
    return found


def test_the_table_is_what_counting_cell_by_cell_gives(babbling: Translator) -> None:
    sources = ["Le chat le chat dort.", "Bonjour !", "Où est le chat ? Le chat est là."]
    targets = ["The cat, the cat sleeps.", "Hello !", "Le chat is there."]
    traces = [
        explain(babbling, source, given=target, level="light")
        for source, target in zip(sources, targets, strict=True)
    ]
    for one in measure_heads(babbling, sources, targets, batch_size=2).heads:
        parts = [by_hand(trace, one.head) for trace in traces]
        joined = {name: [v for part in parts for v in part[name]] for name in parts[0]}
        means = {name: sum(v) / len(v) if v else None for name, v in joined.items()}
        assert one.queries == len(joined["entropy"])
        assert one.entropy == pytest.approx(means["entropy"], abs=1e-5)
        assert one.evenness == pytest.approx(sum(joined["entropy"]) / sum(joined["even"]), abs=1e-5)
        assert one.distance == pytest.approx(means["distance"], abs=1e-4)
        for kind in KINDS:
            assert one.share(kind) == (
                None if means[kind] is None else pytest.approx(means[kind], abs=1e-5)
            ), (one.head, kind)


def test_batches_change_nothing_and_progress_is_told(babbling: Translator) -> None:
    sources, targets = ["Le chat.", "", "Bonjour le chat noir !", "Oui ?"], ["A", "", "B b", "C"]
    events: list[Event] = []
    one = measure_heads(babbling, sources, targets, batch_size=1, on_event=events.append).heads
    other = measure_heads(babbling, sources, targets, batch_size=8).heads
    for first, second in zip(one, other, strict=True):
        assert first.entropy == pytest.approx(second.entropy, abs=1e-6)
        assert first.first == pytest.approx(second.first, abs=1e-6)
    assert events[0] == Notice("1 of 4 lines are left out: blank, or more than 256 tokens")
    assert events[1:] == [Progress("measuring heads", done, 3, "sentences") for done in (1, 2, 3)]


def test_without_targets_the_translators_own_are_read(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    taught = load(write_taught_model(tmp_path_factory.mktemp("heads") / "taught"))
    sources = sentences(120, seed=3)
    own = measure_heads(taught, sources).heads
    given = measure_heads(taught, sources, [reversed_translation(text) for text in sources]).heads
    known = [one for one in given if one.alignment is not None]
    assert len(known) == 8
    assert [one.alignment for one in own] == pytest.approx(
        [one.alignment for one in given], abs=0.05
    )
    assert max(one.alignment or 0 for one in known) > 0.5
    assert "alignment" in [one.role for one in known]


def test_heads_of_a_network_without_some_heads_are_measured_without_them(
    babbling: Translator,
) -> None:
    off = AttentionHead("encoder", 0, 1)
    sources, targets = ["Le chat dort.", "Bonjour !"], ["The cat sleeps.", "Hello!"]
    model = copy.deepcopy(single_network(babbling))
    size = model.config.d_v
    with torch.no_grad():
        attention = model.encoder.layers[0].self_attention
        attention.w_o.weight[:, size : 2 * size] = 0  # type: ignore[union-attr, index]
    zeros = replace_network(babbling, model, "zeros")
    found = measure_heads(disable_heads(babbling, [off]), sources, targets).heads
    expected = measure_heads(zeros, sources, targets).heads
    assert [one.entropy for one in found] == pytest.approx([e.entropy for e in expected], abs=1e-6)
    whole = measure_heads(babbling, sources, targets).heads
    assert [one.entropy for one in found] != pytest.approx([w.entropy for w in whole], abs=1e-6)


def test_nothing_to_measure(babbling: Translator) -> None:
    with pytest.raises(InputError, match="none of 2 lines can be measured"):
        measure_heads(babbling, ["", " "], ["", ""])
    with pytest.raises(InputError, match="2 sources and 1 targets"):
        measure_heads(babbling, ["a", "b"], ["c"])


def test_what_a_row_writes() -> None:
    target = torch.tensor([[2, 21, 22, 23], [2, 24, 0, 0]])
    assert build_labels(target).tolist() == [[21, 22, 23, EOS], [24, EOS, 0, 0]]


NOTHING = HeadMeasures(
    head=AttentionHead("cross", 0, 0), entropy=1.0, evenness=0.5, distance=2.0, previous=None,
    next=None, same_position=None, same_word=None, first=0.1, end=0.3, alignment=0.2,
    alignment_row="reads", queries=9, links=5,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "role", "rule"),
    [
        ({}, "mixed", "no kind of token gets 0.5 of the attention; most: end of sentence 0.30"),
        ({"end": 0.5}, "end of sentence", "0.50 of the attention goes there, 0.5 or more"),
        ({"end": 0.5, "first": 0.6}, "first token", "0.60 of the attention"),
        ({"end": 0.7, "alignment": 0.5}, "alignment", "the source word of 0.50 of the words"),
        ({"end": 0.7, "alignment": None}, "end of sentence", "0.70"),
        ({"end": 0.7, "evenness": 0.9}, "broad", "entropy is 0.90 of even attention's"),
    ],
)
def test_the_first_rule_that_holds_names_the_role(
    changes: dict[str, Any], role: str, rule: str
) -> None:
    measures = replace(NOTHING, **changes)
    found = classify_role(measures)
    assert found[0] == role
    assert rule in found[1]
    named = assign_role(measures)
    assert (named.role, named.rule) == found
    assert named.end == measures.end


def test_heads_have_names() -> None:
    assert str(AttentionHead("cross", 2, 1)) == "cross 3.2"
    config = single_network(built_translator()).config
    assert len(set(all_heads(config))) == 21
    assert [head.side for head in all_heads(config)][::7] == list(SIDES)
