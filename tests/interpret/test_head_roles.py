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
from translucid.interpret.ablation import without_heads
from translucid.interpret.attention_head import SIDES, AttentionHead, heads_of
from translucid.interpret.explain import explain
from translucid.interpret.head_kinds import written_of
from translucid.interpret.head_roles import KINDS, HeadMeasures, HeadStatistics, role_of, with_role
from translucid.interpret.head_table import head_statistics
from translucid.interpret.network import network_of, with_network
from translucid.interpret.pointing import (
    Pointing,
    Way,
    find_pointing_heads,
    places_of,
    pointing_heads,
    pointing_in_all,
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
    found = head_statistics(built, sources, [word_by_word(text) for text in sources])
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
    for one in head_statistics(babbling, sources, targets, batch_size=2):
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
    one = head_statistics(babbling, sources, targets, batch_size=1, emit=events.append)
    other = head_statistics(babbling, sources, targets, batch_size=8)
    for first, second in zip(one, other, strict=True):
        assert first.entropy == pytest.approx(second.entropy, abs=1e-6)
        assert first.first == pytest.approx(second.first, abs=1e-6)
    assert events[0] == Notice("1 of 4 lines are left out: blank, or more than 256 tokens")
    assert events[1:] == [Progress("watching heads", done, 3, "sentences") for done in (1, 2, 3)]


def test_without_targets_the_translators_own_are_read(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    taught = load(write_taught_model(tmp_path_factory.mktemp("heads") / "taught"))
    sources = sentences(120, seed=3)
    own = head_statistics(taught, sources)
    given = head_statistics(taught, sources, [reversed_translation(text) for text in sources])
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
    model = copy.deepcopy(network_of(babbling))
    size = model.config.d_v
    with torch.no_grad():
        attention = model.encoder.layers[0].self_attention
        attention.w_o.weight[:, size : 2 * size] = 0  # type: ignore[union-attr, index]
    zeros = with_network(babbling, model, "zeros")
    found = head_statistics(without_heads(babbling, [off]), sources, targets)
    expected = head_statistics(zeros, sources, targets)
    assert [one.entropy for one in found] == pytest.approx([e.entropy for e in expected], abs=1e-6)
    whole = head_statistics(babbling, sources, targets)
    assert [one.entropy for one in found] != pytest.approx([w.entropy for w in whole], abs=1e-6)


def test_nothing_to_measure(babbling: Translator) -> None:
    with pytest.raises(InputError, match="none of 2 lines can be measured"):
        head_statistics(babbling, ["", " "], ["", ""])
    with pytest.raises(InputError, match="2 sources and 1 targets"):
        head_statistics(babbling, ["a", "b"], ["c"])


def test_what_a_row_writes() -> None:
    target = torch.tensor([[2, 21, 22, 23], [2, 24, 0, 0]])
    assert written_of(target).tolist() == [[21, 22, 23, EOS], [24, EOS, 0, 0]]


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
    found = role_of(measures)
    assert found[0] == role
    assert rule in found[1]
    named = with_role(measures)
    assert (named.role, named.rule) == found
    assert named.end == measures.end


def test_heads_have_names() -> None:
    assert str(AttentionHead("cross", 2, 1)) == "cross 2.1"
    config = network_of(built_translator()).config
    assert len(set(heads_of(config))) == 21
    assert [head.side for head in heads_of(config)][::7] == list(SIDES)


# ---- from word to word --------------------------------------------------------------------------


def test_heads_that_look_from_one_word_to_another(built: Translator) -> None:
    trace = explain(built, "chat noir dort", given="cat black sleeps", level="light")
    before, *_ = pointing_heads(trace, "noir", "chat")
    assert (before.way.head, before.way.row) == (AttentionHead("encoder", 0, 0), "reads")
    assert before.weight == pytest.approx(1.0, abs=1e-4)
    assert before.even == pytest.approx(1 / 4)
    across, *_ = pointing_heads(trace, "black", "noir", rival="dort")
    assert str(across.way) == "cross 0.0, reads"
    assert across.lead == pytest.approx(1.0, abs=1e-4)
    back = {str(one.way): one for one in pointing_heads(trace, "sleeps", "black")}
    sure = [name for name, one in back.items() if one.weight > 0.99]
    # The row that predicts "sleeps" reads "black", so there the head that looks at itself finds it.
    assert set(sure) == {"decoder 0.0, reads", "decoder 0.1, reads", "decoder 0.2, predicts"}
    assert back["decoder 0.0, reads"].even == pytest.approx(1 / 4)
    assert back["decoder 0.2, predicts"].even == pytest.approx(1 / 3)


def test_weights_are_means_of_rows_and_sums_of_columns(babbling: Translator) -> None:
    trace = explain(babbling, "Le chat voit le chat.", given="The cat sees the cat.", level="light")
    froms = places_of(trace.source, trace.source_tokens, "le")
    tos = places_of(trace.source, trace.source_tokens, "chat")
    assert len(tos) >= 2
    for one in pointing_heads(trace, "le", "chat"):
        weights = trace.attention("encoder", one.way.head.layer)[one.way.head.head]
        by_cell = sum(float(weights[i, j]) for i in froms for j in tos) / len(froms)
        assert one.weight == pytest.approx(by_cell, abs=1e-6)
        assert one.rival is None


def test_rows_that_predict_come_one_before_those_that_read(babbling: Translator) -> None:
    trace = explain(babbling, "Le chat dort.", given="It sleeps.", level="light")
    found = {one.way: one.weight for one in pointing_heads(trace, "sleeps", "chat")}
    reads = places_of(trace.translation, trace.target_tokens, "sleeps")
    columns = places_of(trace.source, trace.source_tokens, "chat")
    for way, weight in found.items():
        rows = [row - (way.row == "predicts") for row in reads]
        weights = trace.attention("cross", way.head.layer)[way.head.head]
        assert way.head.side == "cross"
        expected = float(weights[rows][:, columns].sum() / len(rows))
        assert weight == pytest.approx(expected, abs=1e-6)


def test_even_attention_counts_only_what_the_decoder_sees(built: Translator) -> None:
    trace = explain(built, "chat", given="cat black cat sleeps cat", level="light")
    decoder = [
        one for one in pointing_heads(trace, "black", "cat") if one.way.head.side == "decoder"
    ]
    assert {one.way.row: one.even for one in decoder} == {
        "predicts": pytest.approx(1 / 2),  # sees <s> cat
        "reads": pytest.approx(1 / 3),  # sees <s> cat black
    }


def test_a_rival_that_the_decoder_cannot_see_yet_is_none(built: Translator) -> None:
    trace = explain(built, "chat", given="cat black sleeps", level="light")
    assert pointing_heads(trace, "black", "cat")
    with pytest.raises(InputError, match="the decoder looks back only"):
        pointing_heads(trace, "black", "cat", rival="sleeps")
    seen = pointing_heads(trace, "sleeps", "cat", rival="black")
    assert {one.way.row for one in seen} == {"predicts", "reads"}


def test_those_come_first_that_do_it_in_all_sentences(built: Translator) -> None:
    first = find_pointing_heads(built, "chat noir dort", "noir", "chat", rival="dort")
    second = find_pointing_heads(built, "dort eau noir chat", "noir", "eau", rival="chat")
    best, *others = pointing_in_all([first, second])
    assert [one.way.head for one in best] == [AttentionHead("encoder", 0, 0)] * 2
    assert all(one.points for one in best)
    assert not any(all(one.points for one in row) for row in others)
    leads = [min(one.lead for one in row) for row in others]
    assert leads == sorted(leads, reverse=True)
    assert pointing_in_all([]) == ()


@pytest.mark.parametrize(
    ("weight", "rival", "points"),
    [(0.4, 0.3, True), (0.4, 0.4, False), (0.2, 0.0, False), (0.4, None, True), (0.2, None, False)],
)
def test_a_head_points_if_it_looks_there_more_than_evenly_and_more_than_to_the_rival(
    weight: float, rival: float | None, points: bool
) -> None:
    way = Way(AttentionHead("encoder", 0, 0), "reads")
    assert Pointing(way, weight, rival, even=0.25).points == points


def test_words_are_found_in_whole(babbling: Translator) -> None:
    trace = explain(babbling, "L'animal et les animaux.", given="x", level="light")
    pieces = [
        trace.source_tokens[n] for n in places_of(trace.source, trace.source_tokens, "Animal")
    ]
    covered = trace.source[min(t.start for t in pieces) : max(t.end for t in pieces)]
    assert "animal" in covered
    assert "animaux" not in covered
    with pytest.raises(InputError, match="no attention goes from 'chien' to 'animal'"):
        pointing_heads(trace, "chien", "animal")
