"""Beam search: on tables of chances against every translation there is, and on a real network."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from networks import ragged, small_network
from probability_tables import (
    BEGIN,
    END,
    Table,
    TableStepper,
    build_request,
    exhaustive,
    penalty,
    random_table,
    rescored,
    seeds,
    start,
    written,
)
from translucid.decoding import beam as beam_module
from translucid.decoding.beam import BeamChooser, BeamSearch, beam_search, cannot_be_beaten
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Ending, Hypothesis
from translucid.decoding.request import SearchRequest
from translucid.decoding.search import search
from translucid.errors import InputError, TranslucidError
from translucid.model import Transformer

FORMS = st.sampled_from(["paper", "plain"])
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.0])
BETAS = st.sampled_from([0.0, 0.4])
few = settings(max_examples=40, deadline=None)


def config(**changes: Any) -> SearchConfig:
    return SearchConfig(**{"loop_guard": False, **changes})


@few
@given(seeds, FORMS, ALPHAS, BETAS, st.booleans())
def test_a_beam_of_full_width_finds_the_best_there_is(
    seed: int, form: str, alpha: float, beta: float, ties: bool
) -> None:
    table, limit, vocabulary = random_table(seed, 4, ties=ties), 4, 4  # 24 candidates at most
    wanted = config(
        beam=24, n_best=15, length_form=form, length_penalty=alpha, coverage_penalty=beta
    )
    [found] = beam_search(start([table]), build_request([limit]), wanted, None)
    best = exhaustive(table, limit, vocabulary, wanted)
    assert len(best) == 15
    assert [h.score for h in found] == pytest.approx([score for score, _ in best], abs=1e-6)
    if not ties:
        assert [h.tokens for h in found] == [tokens for _, tokens in best]
    [first] = beam_search(start([table]), build_request([limit]), wanted.replace(n_best=1), None)
    assert first == found[:1]


@few
@given(st.lists(seeds, min_size=1, max_size=4), st.integers(1, 8), ALPHAS, FORMS, st.booleans())
def test_a_beam_of_one_is_greedy_search(
    numbers: list[int], limit: int, alpha: float, form: str, ties: bool
) -> None:
    tables = [random_table(seed, 6, ties=ties) for seed in numbers]
    request = build_request([limit + i % 2 for i in range(len(tables))])
    wanted = config(beam=1, length_penalty=alpha, length_form=form)
    alike = wanted.replace(method="greedy")
    found = search(start(tables), request, wanted, None)
    greedy = search(start(tables), request, alike, None)
    for [ours], [theirs] in zip(found, greedy, strict=True):
        assert (ours.tokens, ours.log_probs, ours.ending) == (
            theirs.tokens,
            theirs.log_probs,
            theirs.ending,
        )
        assert ours.score == pytest.approx(theirs.score, abs=1e-9)


method = st.sampled_from(
    [
        {"beam": 3},
        {"beam": 4, "n_best": 3},
        {"beam": 1},
        {"method": "diverse", "beam": 4, "groups": 2, "n_best": 2},
        {"method": "diverse", "beam": 3, "groups": 3},
    ]
)


@few
@given(seeds, method, ALPHAS, FORMS, BETAS, st.booleans())
def test_stopping_early_never_changes_the_result(
    seed: int, how: dict[str, Any], alpha: float, form: str, beta: float, ties: bool
) -> None:
    tables = [random_table(seed + i, 6, ties=ties) for i in range(3)]
    request = build_request([9, 3, 6])
    wanted = config(**how, length_penalty=alpha, length_form=form, coverage_penalty=beta)
    early = beam_search(start(tables), request, wanted, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beam_module, "cannot_be_beaten", lambda best_B, *_: best_B == math.inf)
        late = beam_search(start(tables), request, wanted, None)
    assert early == late


def test_stopping_early_saves_steps() -> None:
    """A clear case ends once the others can no longer win, and no step before."""
    rest = {4: 0.5, END: 0.5}
    table = written({(): {3: 0.9, 4: 0.1}, (3,): {END: 0.95, 4: 0.05}, (4,): rest}, 6)
    steppers: list[TableStepper] = []

    def begin(copies: int) -> TableStepper:
        steppers.append(TableStepper([table], copies))
        return steppers[-1]

    [[found]] = beam_search(begin, build_request([50]), config(beam=4, length_penalty=0.0), None)
    assert found.tokens == (3,)
    assert len(steppers[0].fed) == 2


def test_the_bound_is_what_the_best_row_would_get_at_the_limit() -> None:
    """A row of log P −2 at a limit with penalty 4 can reach −0.5: that is not above −0.5."""
    best_B, max_penalty_B = (
        torch.tensor([-2.0, -2.0, -2.0]).double(),
        torch.full((3,), 4.0).double(),
    )
    to_beat_B = torch.tensor([-0.5, -0.51, -math.inf]).double()
    assert cannot_be_beaten(best_B, to_beat_B, max_penalty_B).tolist() == [True, False, False]


def test_a_long_translation_that_wins_late_is_waited_for() -> None:
    """The short one ends first with the higher log P, and still loses by its length penalty."""
    long = (4,) * 6

    def following(prefix: tuple[int, ...]) -> list[float]:
        if prefix in ((3,), long):
            return [0.0, 0.901, *[0.009] * 11]
        chances = [0.0, 0.001, *[0.009] * 11]
        chances[4] = 0.909 if prefix else 0.4
        chances[3] = 0.009 if prefix else 0.518
        return chances

    table = Table(following)
    request = build_request([8])
    [[plain]] = beam_search(start([table]), request, config(beam=2, length_penalty=0.0), None)
    [[longer]] = beam_search(start([table]), request, config(beam=2, length_penalty=2.0), None)
    assert (plain.tokens, longer.tokens) == ((3,), long)


@few
@given(seeds, method, ALPHAS, FORMS, BETAS)
def test_scores_are_what_rescoring_gives(
    seed: int, how: dict[str, Any], alpha: float, form: str, beta: float
) -> None:
    tables = [random_table(seed + i, 5) for i in range(3)]
    wanted = config(**how, length_penalty=alpha, length_form=form, coverage_penalty=beta)
    for table, found in zip(
        tables, beam_search(start(tables), build_request([7, 2, 5]), wanted, None), strict=True
    ):
        assert 1 <= len(found) <= wanted.n_best
        for hypothesis in found:
            each = table.log_prob([*hypothesis.tokens, END])
            assert hypothesis.log_probs == pytest.approx(each, abs=1e-6)
            assert hypothesis.log_prob == pytest.approx(math.fsum(each), abs=1e-5)
            assert hypothesis.score == pytest.approx(rescored(table, hypothesis, wanted), abs=1e-5)
        assert len({h.tokens for h in found}) == len(found)
        scores = [h.score for h in found]
        assert scores == sorted(scores, reverse=True)


@few
@given(st.lists(seeds, min_size=2, max_size=5), method, BETAS, st.booleans())
def test_each_source_is_translated_as_if_alone(
    numbers: list[int], how: dict[str, Any], beta: float, ties: bool
) -> None:
    tables = [random_table(seed, 6, ties=ties) for seed in numbers]
    limits = [2 + (seed + i) % 7 for i, seed in enumerate(numbers)]
    wanted = config(**how, coverage_penalty=beta)
    together = beam_search(start(tables), build_request(limits), wanted, None)
    alone = [
        beam_search(start([table]), build_request([limit]), wanted, None)[0]
        for table, limit in zip(tables, limits, strict=True)
    ]
    if beta:  # sums over padding are rounded in another order
        for ours, theirs in zip(together, alone, strict=True):
            assert [h.tokens for h in ours] == [h.tokens for h in theirs]
    else:
        assert together == alone


def test_sources_that_are_done_leave_and_nothing_is_reordered_without_need() -> None:
    """The stepper itself refuses a reordering that would change nothing."""
    quick = written({(): {END: 0.9, 3: 0.1}}, 5)
    slow = random_table(3, 5)
    stepper = TableStepper([quick, slow, quick], 2)
    beam_search(lambda _: stepper, build_request([9, 9, 9]), config(beam=2), None)
    assert stepper.fed[0] == 6
    assert stepper.fed[-1] == 2
    assert stepper.fed == sorted(stepper.fed, reverse=True)


def test_finished_hypotheses_never_change() -> None:
    """After every step, all that had ended before is still there as it was."""
    tables = [random_table(seed, 6) for seed in (4, 5)]
    wanted = config(beam=5, n_best=5)
    seen: list[list[list[Hypothesis]]] = []

    class Watching(TableStepper):
        def step(self, last_ids_N: Tensor) -> Tensor:
            seen.append([found.best(99) for found in running.finished])
            return super().step(last_ids_N)

    chooser = BeamChooser.build(build_request([9, 9]), wanted, groups=1)
    running = BeamSearch(Watching(tables, 5), build_request([9, 9]), wanted, chooser, None)
    running.run(5, groups=1)
    seen.append([found.best(99) for found in running.finished])
    for before, after in itertools.pairwise(seen):
        for earlier, later in zip(before, after, strict=True):
            assert [h for h in later if h in earlier] == earlier
    assert sum(map(len, seen[-1])) > sum(map(len, seen[2])) > 0


def test_equal_scores_are_ordered_by_row_then_by_token() -> None:
    """All is equally probable: the lowest ids come first, in the order of the rows."""
    even = Table(lambda _: [0, 0.2, 0.2, 0.2, 0.2, 0.2])
    [found] = beam_search(
        start([even]), build_request([3]), config(beam=5, n_best=5, length_penalty=0.0), None
    )
    assert [h.tokens for h in found] == [(), (2,), (2, 2), (2, 3), (2, 4)]
    [shorter] = beam_search(start([even]), build_request([2]), config(beam=5, n_best=5), None)
    assert [h.tokens for h in shorter] == [(), (2,), (3,), (4,), (5,)]


def test_that_as_many_have_ended_as_the_beam_is_wide_is_no_reason_to_stop() -> None:
    """Two short ones end, each more probable than all that is left but one, which wins."""
    table = written(
        {(): {3: 0.6, END: 0.25, 4: 0.15}, (3,): {4: 0.6, END: 0.26, 5: 0.14}, (3, 4): {END: 1.0}},
        6,
    )
    steppers: list[TableStepper] = []

    def begin(copies: int) -> TableStepper:
        steppers.append(TableStepper([table], copies))
        return steppers[-1]

    wanted = config(beam=2, n_best=2, length_penalty=0.0)
    [found] = beam_search(begin, build_request([50]), wanted, None)
    assert [h.tokens for h in found] == [(3, 4), ()]
    assert [math.exp(h.log_prob) for h in found] == pytest.approx([0.36, 0.25])
    assert len(steppers[0].fed) == 3


def test_what_the_limit_ends_pays_for_its_end_and_competes_by_score() -> None:
    """The empty translation, which the network ended, is the least probable, and comes last."""
    table = written(
        {
            (): {3: 0.99, END: 0.01},
            (3,): {3: 0.6, 4: 0.4},
            (3, 3): {3: 0.8, END: 0.2},
            (3, 4): {3: 0.1, END: 0.9},
        },
        5,
    )
    [found] = beam_search(start([table]), build_request([3]), config(beam=3, n_best=3), None)
    assert [(h.tokens, h.ending) for h in found] == [
        ((3, 4), "end"),
        ((3, 3), "limit"),
        ((), "end"),
    ]
    chances = [math.exp(h.log_prob) for h in found]
    assert chances == pytest.approx([0.99 * 0.4 * 0.9, 0.99 * 0.6 * 0.2, 0.01])


def test_what_may_not_end_yet_is_ended_by_the_limit_all_the_same() -> None:
    """A limit that holds no minimum length, of one source: the end costs what the network says."""
    table = written({(): {3: 0.3, END: 0.7}, (3,): {3: 0.2, END: 0.8}}, 5)
    wanted = config(beam=2, n_best=1, min_length=4)
    [[found]] = beam_search(start([table]), build_request([2]), wanted, None)
    assert (found.tokens, found.ending) == ((3,), "limit")
    assert math.exp(found.log_prob) == pytest.approx(0.3 * 0.8)


@few
@given(seeds, method, st.integers(1, 4), st.booleans())
def test_how_a_hypothesis_ends_is_what_the_table_says(
    seed: int, how: dict[str, Any], limit: int, ties: bool
) -> None:
    table = random_table(seed, 5, ties=ties)
    [found] = beam_search(start([table]), build_request([limit]), config(**how), None)
    for hypothesis in found:
        assert len(hypothesis.tokens) < limit
        allowed_V = table.log_probs(hypothesis.tokens)
        allowed_V[BEGIN] = -math.inf
        natural = int(allowed_V.argmax()) == END or len(hypothesis.tokens) < limit - 1
        assert hypothesis.ending == ("end" if natural else "limit")


def test_what_goes_in_circles_ranks_below_all_else() -> None:
    """The circle is nearly certain, the other translation is not, and comes first."""

    def following(prefix: tuple[int, ...]) -> list[float]:
        if not prefix:
            return [0, 0.001, 0.9, 0.099]
        return [0, 0.9, 0.0, 0.1] if prefix[0] == 3 else [0, 0.0001, 0.9999, 0.0]

    wanted = SearchConfig(beam=3, n_best=3, length_penalty=0.0)
    [found] = beam_search(start([Table(following)]), build_request([60]), wanted, None)
    assert [h.ending for h in found] == ["end", "end", "end"]
    [[*_, last]] = beam_search(
        start([Table(following)]), build_request([60]), wanted.replace(min_length=24), None
    )
    assert last.ending == "loop"
    assert last.score > found[0].score
    circle = Table(lambda _: [0, 0.0, 1.0, 0.0])
    [[only]] = beam_search(start([circle]), build_request([60]), SearchConfig(beam=1), None)
    assert (only.ending, len(only.tokens)) == ("loop", len(only.log_probs))


def test_a_row_that_goes_in_circles_is_ended() -> None:
    """Without the guard the limit ends it; with it, the other row goes on alone."""
    circle = Table(lambda prefix: [0, 0.001, 0.0, 0.999] if prefix else [0, 0.1, 0.0, 0.9])
    [[guarded]] = beam_search(start([circle]), build_request([90]), SearchConfig(beam=1), None)
    [[free]] = beam_search(start([circle]), build_request([90]), config(beam=1), None)
    assert guarded.ending == "loop"
    assert len(guarded.tokens) < 40
    assert (free.ending, len(free.tokens), len(free.log_probs)) == ("limit", 89, 90)


@few
@given(seeds, st.integers(1, 5), ALPHAS)
def test_one_group_is_plain_beam_search(seed: int, width: int, alpha: float) -> None:
    tables = [random_table(seed + i, 6) for i in range(2)]
    plain = config(beam=width, n_best=width, length_penalty=alpha)
    diverse = plain.replace(method="diverse", groups=1, diversity=3.0)
    request = build_request([6, 4])
    assert beam_search(start(tables), request, plain, None) == beam_search(
        start(tables), request, diverse, None
    )


@few
@given(seeds)
def test_groups_that_cost_each_other_nothing_find_the_same(seed: int) -> None:
    table = random_table(seed, 6)
    narrow = config(beam=2, n_best=2)
    groups = config(method="diverse", beam=6, groups=3, diversity=0.0, n_best=2)
    request = build_request([6])
    assert beam_search(start([table]), request, narrow, None) == beam_search(
        start([table]), request, groups, None
    )


def test_a_high_price_makes_groups_begin_differently() -> None:
    """Three groups of one row: the second and third may not begin as those before."""
    table = random_table(7, 8)
    wanted = config(method="diverse", beam=3, groups=3, n_best=3, diversity=50.0, min_length=1)
    [found] = search(start([table]), build_request([6]), wanted, None)
    words = table.log_probs(())[2:].argsort(descending=True)[:3] + 2
    assert {h.tokens[0] for h in found} == set(words.tolist())
    cheap = search(start([table]), build_request([6]), wanted.replace(diversity=0.0), None)
    assert len(cheap[0]) == 1


def test_a_coverage_penalty_without_attention_is_refused() -> None:
    blind = written({(): {END: 1.0}}, 4)
    with pytest.raises(InputError, match="TableStepper does not show it: set coverage_penalty = 0"):
        beam_search(start([blind]), build_request([3]), config(coverage_penalty=0.2), None)


def test_groups_cannot_promise_terms() -> None:
    request = SearchRequest(
        torch.tensor([9]), BEGIN, END, prefixes=((),), terms=(((3,),),), forbidden=()
    )
    wanted = config(method="diverse", groups=2)
    with pytest.raises(InputError, match="'diverse' cannot guarantee that terms occur"):
        search(start([random_table(1, 5)]), request, wanted, None)


# On a network: the same algorithm written plainly, one source, the whole prefix anew at every step.


def plain_beam(
    model: Transformer, source_S: Tensor, limit: int, end: int, wanted: SearchConfig
) -> list[Hypothesis]:
    live: list[tuple[float, list[int], list[float]]] = [(0.0, [], [])]
    ended: list[Hypothesis] = []
    for length in range(1, limit + 1):
        candidates = []
        for total, tokens, each in live:
            with torch.no_grad():
                logits_V = model(source_S[None], torch.tensor([[2, *tokens]]))[0, -1]
            log_probs_V = logits_V.log_softmax(-1)
            log_probs_V[2] = -math.inf
            natural = length < limit or int(log_probs_V.argmax()) == end
            for token, value in enumerate(log_probs_V.tolist()):
                if token == end or (token != 2 and length < limit):
                    candidates.append((total + value, [*tokens, token], [*each, value], natural))
        candidates.sort(key=lambda candidate: -candidate[0])
        for total, tokens, each, natural in candidates[: wanted.beam]:
            if tokens[-1] == end:
                score = total / penalty(length, wanted)
                ending: Ending = "end" if natural else "limit"
                ended.append(Hypothesis(tuple(tokens[:-1]), tuple(each), ending, score))
        live = [c[:3] for c in candidates if c[1][-1] != end][: wanted.beam]
        if ended and wanted.beam == 1:
            break
    return sorted(ended, key=lambda h: -h.score)[: wanted.n_best]


@pytest.mark.parametrize(
    ("width", "alpha", "positions"),
    [(1, 0.6, "rotary"), (5, 1.0, "learned")],
)
def test_a_batch_on_a_network_equals_the_plain_way(
    width: int, alpha: float, positions: str
) -> None:
    model = small_network(positions=positions, tying="none")
    source_BS = ragged(rows=7, longest=8, seed=5)
    limits_B = torch.tensor([9, 2, 7, 9, 5, 1, 9])
    wanted = config(beam=width, n_best=min(3, width), length_penalty=alpha)

    def found_with(end: int) -> list[list[Hypothesis]]:
        request = SearchRequest.plain(limits_B, begin=2, end=end)
        return search(lambda copies: model.start(source_BS, copies=copies), request, wanted, None)

    written_often = Counter(t for [best, *_] in found_with(4) for t in best.tokens[1:])
    endings = set()
    for end in (4, written_often.most_common(1)[0][0]):
        for row, ours in enumerate(found_with(end)):
            alone = source_BS[row][source_BS[row] != 0]
            theirs = plain_beam(model, alone, int(limits_B[row]), end, wanted)
            assert [h.tokens for h in ours] == [h.tokens for h in theirs]
            assert [h.ending for h in ours] == [h.ending for h in theirs]
            for mine, plain in zip(ours, theirs, strict=True):
                assert mine.score == pytest.approx(plain.score, abs=1e-4)
                assert mine.log_probs == pytest.approx(plain.log_probs, abs=1e-4)
                endings.add(mine.ending)
    assert endings == {"end", "limit"}


class NoNumbers(TableStepper):
    """A stepper of a damaged network: all that it says is no number, or one column of it."""

    def __init__(self, tables: Sequence[Table], copies: int, columns: slice) -> None:
        super().__init__(tables, copies)
        self.columns = columns

    def step(self, last_ids_N: Tensor) -> Tensor:
        log_probs_NV = super().step(last_ids_N)
        log_probs_NV[:, self.columns] = math.nan
        return log_probs_NV


@pytest.mark.parametrize("columns", [slice(None), slice(3, 4)])
def test_log_probs_that_are_no_numbers_end_the_search(columns: slice) -> None:
    """As nothing compares with them, it would go on for ever."""
    tables = [random_table(1, 6)]
    with pytest.raises(TranslucidError, match="log-probabilities that are not numbers"):
        beam_search(
            lambda copies: NoNumbers(tables, copies, columns),
            build_request([6]),
            config(beam=2),
            None,
        )
