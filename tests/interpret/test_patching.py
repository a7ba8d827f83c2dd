"""Activation patching: a batch of patched runs is many runs, each patched by hand.

The second route patches a copy of the network with PyTorch's hooks, one cell and one run at a time:
heads where they enter W^O, states where a layer returns them.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from small_traces import random_translator, taught_translator
from small_translators import LEXICON
from translucid.errors import InputError
from translucid.events import Event, Progress
from translucid.interpret.decision import Contrast, find_contrast
from translucid.interpret.explain import explain
from translucid.interpret.network import named_attentions, replace_network, single_network
from translucid.interpret.patched_runs import HEADS, Cell, Part, align_tokens
from translucid.interpret.patching import (
    PatchablePair,
    all_cells,
    apply_patch,
    measure_patching,
)
from translucid.interpret.trace import Trace
from translucid.model import Transformer
from translucid.text.tokenizer import EOS
from translucid.translator import Translator

FIRST, SECOND = "chat noir dort", "chat noir mange"
LONGER = "chat noir petit mange"
NETWORKS: list[dict[str, Any]] = [
    {},
    {"norm": "post", "positions": "relative", "d_k": 6, "d_v": 10, "attention_bias": True},
    {"positions": "rotary", "encoder_layers": 3, "seed": 4},
]


def traces(translator: Translator, *texts: str) -> list[Trace]:
    return [explain(translator, text) for text in texts]


def pair_of(
    translator: Translator, first: str, second: str, contrast: Contrast | None = None
) -> PatchablePair:
    return PatchablePair.of(translator, *traces(translator, first, second), contrast=contrast)


def forced_pair(
    translator: Translator, first: str, second: str, prefix: tuple[int, ...] = ()
) -> PatchablePair:
    """Return two runs that write the same tokens, then 130 and 131."""
    return PatchablePair.of(
        translator,
        explain(translator, first, prefix=[*prefix, 130, EOS]),
        explain(translator, second, prefix=[*prefix, 131, EOS]),
    )


@pytest.fixture(scope="module", params=NETWORKS, ids=["pre", "relative", "rotary"])
def random_pair(request: pytest.FixtureRequest) -> PatchablePair:
    """Two sentences of one length under a network that was never trained."""
    return forced_pair(random_translator(**request.param), "Le chat dort.", "Le chat rit.")


# ---- by hand ------------------------------------------------------------------------------------


def hooked_margin(pair: PatchablePair, cells: Sequence[Cell], *, back: bool = False) -> float:
    """Return the margin of one run, patched with hooks from a run of the other sentence."""
    base, other = (pair.traces[1], pair.traces[0]) if back else pair.traces
    model = copy.deepcopy(single_network(pair.translators[1 if back else 0]))
    prefix = [step.token.id for step in pair.traces[0].steps[: pair.contrast.step]]
    read = torch.tensor([[pair.traces[0].target_tokens[0].id, *prefix]])
    seen: dict[str, Tensor] = {}
    handles = [
        module.register_forward_hook(
            lambda _m, args, out, name=name: seen.update({f"in {name}": args[0], name: out})
        )
        for name, module in model.named_modules()
        if isinstance(module, nn.Module) and name
    ]
    with torch.inference_mode():
        model(source_ids(other), read)
    kept = dict(seen)
    for handle in handles:
        handle.remove()
    for cell in cells:
        patch_by_hook(model, cell, kept, pair, back=back)
    with torch.inference_mode():
        logits = model(source_ids(base), read)[0, -1].double()
    return float(logits[pair.contrast.first] - logits[pair.contrast.second])


def source_ids(trace: Trace) -> Tensor:
    return torch.tensor([[token.id for token in trace.source_tokens]])


def patch_by_hook(
    model: Transformer, cell: Cell, kept: dict[str, Tensor], pair: PatchablePair, *, back: bool
) -> None:
    if cell.part in HEADS:
        kind = "cross_attention" if cell.part == "cross" else "self_attention"
        stack = "encoder" if cell.part == "encoder" else "decoder"
        name = f"{stack}.layers.{cell.layer}.{kind}.w_o"
        size = model.config.d_v
        part = slice(cell.index * size, (cell.index + 1) * size)

        def other_head(_module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor]:
            heads = args[0].clone()
            heads[..., part] = kept[f"in {name}"][..., part]
            return (heads,)

        model.get_submodule(name).register_forward_pre_hook(other_head)
        return
    stack = "encoder" if cell.part == "source" else "decoder"
    name = f"{stack}.layers.{cell.layer - 1}" if cell.layer else f"{stack}.dropout"
    own = theirs = cell.index
    if cell.part == "source":
        column = pair.columns[cell.index]
        (own, _), (theirs, _) = (
            (column.second, column.first) if back else (column.first, column.second)
        )

    def other_state(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        changed = output.clone()
        changed[:, own] = kept[name][:, theirs]
        return changed

    model.get_submodule(name).register_forward_hook(other_state)


def cells_of(pair: PatchablePair) -> tuple[Cell, ...]:
    config = single_network(pair.translators[0]).config
    return all_cells(config, pair.columns, len(pair.forward.base.read))


def test_every_cell_of_the_batch_is_a_run_patched_with_hooks(random_pair: PatchablePair) -> None:
    cells = cells_of(random_pair)
    patches = [frozenset([cell]) for cell in cells]
    found = random_pair.forward.margins(patches), random_pair.backward.margins(patches)
    for back, margins in zip((False, True), found, strict=True):
        by_hand = [hooked_margin(random_pair, [cell], back=back) for cell in cells]
        assert margins.tolist() == pytest.approx(by_hand, abs=1e-4)
    assert found[0].std() > 0.01  # the patches do something


def test_cells_that_are_patched_together_are_hooks_together(random_pair: PatchablePair) -> None:
    draw = torch.Generator().manual_seed(3)
    cells = cells_of(random_pair)
    for count in (2, 5, 20):
        chosen = [cells[at] for at in torch.randperm(len(cells), generator=draw)[:count].tolist()]
        runs = apply_patch(random_pair, chosen)
        for back, run in zip((False, True), runs, strict=True):
            by_hand = hooked_margin(random_pair, chosen, back=back)
            assert run.margin == pytest.approx(by_hand, abs=1e-4)


def test_cells_of_a_later_step_too() -> None:
    pair = forced_pair(random_translator(), "Le chat dort.", "Le chat rit.", (140, 150))
    assert pair.contrast == Contrast(2, 130, 131)
    cells = [cell for cell in cells_of(pair) if cell.part != "source"]
    margins = pair.forward.margins([frozenset([cell]) for cell in cells])
    assert margins.tolist() == pytest.approx([hooked_margin(pair, [c]) for c in cells], abs=1e-4)


# ---- sentences of different lengths -------------------------------------------------------------


def plain_margin(pair: PatchablePair, cells: Sequence[Cell]) -> float:
    """Return the margin of the first run, patched in a plain loop over the encoder's layers."""
    model = single_network(pair.translators[0])
    encoder = model.encoder
    taken: set[int] = set()

    def columns(x: Tensor) -> list[Tensor]:
        lengths = [(c.second if n in taken else c.first) for n, c in enumerate(pair.columns)]
        return list(x.split([end - begin for begin, end in lengths]))

    with torch.inference_mode():
        states = [
            encoder.positions.add_to(model.source_embedding(source_ids(trace)), 0)
            for trace in pair.traces
        ]
        for layer in range(len(encoder.layers) + 1):
            here = {cell.index for cell in cells if cell.layer == layer}
            parts = columns(states[0][0])
            for column in here:
                parts[column] = states[1][0, slice(*pair.columns[column].second)]
            taken |= here
            states[0] = torch.cat(parts)[None]
            if layer < len(encoder.layers):
                states = [
                    encoder.layers[layer](x, None, encoder.positions.rotation(0, x.size(1)))
                    for x in states
                ]
        memory = encoder.norm(states[0])
        logits = model.decode(torch.tensor([[2]]), memory, torch.full(memory.shape[:2], 9))[0, -1]
    return float(logits[pair.contrast.first].double() - logits[pair.contrast.second].double())


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_longer_sentence_is_spliced_in(positions: str) -> None:
    translator = random_translator(positions=positions)
    pair = forced_pair(translator, "Le chat dort.", "Le petit chat rit bien.")
    assert any(c.first[1] - c.first[0] != c.second[1] - c.second[0] for c in pair.columns)
    assert pair.forward.base.read == (2,)
    cells = [cell for cell in cells_of(pair) if cell.part == "source"]
    patches = [frozenset([cell]) for cell in cells] + [frozenset(cells[:3] + cells[-4:])]
    by_hand = [plain_margin(pair, sorted(patch)) for patch in patches]
    assert pair.forward.margins(patches).tolist() == pytest.approx(by_hand, abs=1e-4)


# ---- what must hold of any pair -----------------------------------------------------------------

WORDS = st.lists(st.sampled_from(sorted(LEXICON)), min_size=1, max_size=5, unique=True)


@settings(max_examples=10)
@given(WORDS, WORDS)
def test_nothing_patched_is_0_and_everything_is_1(one: list[str], two: list[str]) -> None:
    translator = taught_translator()
    first, second = traces(translator, " ".join(one), " ".join(two))
    if first.translation == second.translation:
        return
    pair = PatchablePair.of(translator, first, second)
    cells = cells_of(pair)
    groups: list[tuple[Part, ...]] = [(), ("source",), HEADS, ("target",)]
    patches = [frozenset(cell for cell in cells if cell.part in group) for group in groups]
    for shares in pair.shares(patches):
        assert shares[0] == pytest.approx(0, abs=1e-5)
        assert shares[1:].tolist() == pytest.approx([1, 1, 1], abs=1e-5)
    for run, trace in zip(apply_patch(pair, []), pair.traces, strict=True):
        assert run.translation == trace.translation
    swapped = reversed(pair.traces)
    for run, trace in zip(apply_patch(pair, cells), swapped, strict=True):
        assert run.translation == trace.translation


@given(st.lists(st.integers(0, 3), max_size=9), st.lists(st.integers(0, 3), max_size=9))
def test_columns_are_both_sentences_whole_and_in_order(first: list[int], second: list[int]) -> None:
    columns = align_tokens(first, second)
    for ids, spans in (
        (first, [column.first for column in columns]),
        (second, [column.second for column in columns]),
    ):
        assert [at for span in spans for at in range(*span)] == list(range(len(ids)))
    for column in columns:
        same = first[slice(*column.first)] == second[slice(*column.second)]
        assert column.differs is not same


def test_directions_change_places_with_the_sentences() -> None:
    translator = taught_translator()
    there, back = pair_of(translator, FIRST, SECOND), pair_of(translator, SECOND, FIRST)
    patches = [frozenset([cell]) for cell in cells_of(there)]
    forward, backward = there.shares(patches)
    torch.testing.assert_close(torch.stack([backward, forward]), torch.stack(back.shares(patches)))


# ---- the whole measurement ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured() -> tuple[PatchablePair, Any]:
    translator = taught_translator()
    first, second, control = traces(translator, FIRST, SECOND, "livre rouge maison")
    events: list[Event] = []
    found = measure_patching(translator, first, second, control=control, on_event=events.append)
    assert all(isinstance(event, Progress) for event in events)
    last = cast("Progress", events[-1])
    assert last.done == last.total == len(events)
    return PatchablePair.of(translator, first, second), found


def test_the_decision_is_where_the_translations_part(measured: tuple[PatchablePair, Any]) -> None:
    _, found = measured
    assert (found.first_translation, found.second_translation) == (
        "sleeps black cat",
        "eats black cat",
    )
    assert (found.decision.step, *found.decision.pieces) == (0, " sleeps", " eats")
    assert found.decision.margins[0] > 0 > found.decision.margins[1]
    assert [column.differs for column in found.columns] == [False, False, True, False]


def test_the_changed_word_decides_and_patching_it_writes_the_other_word(
    measured: tuple[PatchablePair, Any],
) -> None:
    pair, found = measured
    best = found.part("source")[0]
    assert best.cell.index == 2
    assert best.share == pytest.approx(1, abs=0.2)
    assert best.translations == ("eats black cat", "sleeps black cat")
    assert found.part("cross")[0].share > 0.1
    for one in found.cells:
        forward, backward = apply_patch(pair, [one.cell])
        assert (forward.share, backward.share) == pytest.approx(
            (one.forward, one.backward), abs=1e-5
        )
        for run, share, text in (
            (forward, one.forward, one.translations[0]),
            (backward, one.backward, one.translations[1]),
        ):
            assert text == (run.translation if abs(share) >= 0.05 else None)
        assert one.agrees is (abs(one.forward - one.backward) <= 0.2)
    for shares in dataclasses.astuple(found.everything):
        assert shares == pytest.approx((1, 1), abs=1e-5)


def test_a_control_is_a_patch_from_another_sentence(measured: tuple[PatchablePair, Any]) -> None:
    """With as many tokens, an unrelated sentence is patched in as a partner would be."""
    pair, found = measured
    assert found.control == "livre rouge maison"
    translator = pair.translators[0]
    (control,) = traces(translator, found.control)
    for number, run in enumerate(pair.traces):
        other = PatchablePair.of(
            translator,
            run,
            control,
            contrast=Contrast(0, pair.contrast.first, pair.contrast.second),
        )
        ids = [tuple(token.id for token in one.source_tokens) for one in (run, control)]
        cells = [one.cell for one in found.cells if one.cell.part != "source"]
        margins = other.forward.margins([frozenset([cell]) for cell in cells])
        own, theirs = pair.margins if number == 0 else pair.margins[::-1]
        expected = ((own - margins) / (own - theirs)).tolist()
        if all(c.first == c.second for c in align_tokens(*ids)):
            shares = [one.controls[number] for one in found.cells if one.cell.part != "source"]
            assert shares == pytest.approx(expected, abs=1e-5)
        else:
            pytest.fail("the sentences were to have one length")


def test_rows_are_those_of_the_traces(measured: tuple[PatchablePair, Any]) -> None:
    pair, found = measured
    assert len(found.rows) == sum(
        single_network(pair.translators[0]).config.heads
        for _ in named_attentions(single_network(pair.translators[0]))
    )
    for row in found.rows:
        side = row.cell.part
        at = row.column if side == "encoder" else found.decision.step
        for trace, weights in zip(pair.traces, (row.first, row.second), strict=True):
            whole = trace.attention(side, row.cell.layer)[row.cell.index]
            expected = whole[at][: len(weights)].tolist()
            assert list(weights) == pytest.approx(expected, abs=1e-5)
            assert sum(weights) == pytest.approx(1, abs=1e-5)


# ---- two models ---------------------------------------------------------------------------------


def changed_copy(translator: Translator, change: Callable[[Transformer], None]) -> Translator:
    model = copy.deepcopy(single_network(translator))
    with torch.no_grad():
        change(model)
    return replace_network(translator, model, "changed")


def test_one_sentence_under_two_models() -> None:
    """Where only the encoder's layers differ, what they hand on is all that can differ."""
    translator = random_translator()

    def enlarge(model: Transformer) -> None:
        for parameter in model.encoder.layers.parameters():
            parameter.mul_(1.5)

    other = changed_copy(translator, enlarge)
    first, second = (
        explain(one, "Le chat dort.", prefix=[token, EOS])
        for one, token in ((translator, 130), (other, 131))
    )
    found = measure_patching(translator, first, second, other=other)
    assert found.models == (translator.name, "changed")
    for shares in dataclasses.astuple(found.everything):
        assert shares == pytest.approx((1, 1), abs=1e-4)
    assert not any(column.differs for column in found.columns)


def test_models_of_another_shape_are_refused() -> None:
    translator, other = random_translator(), random_translator(encoder_layers=3)
    trace = explain(translator, "Le chat dort.", prefix=[130, EOS])
    with pytest.raises(InputError, match=r"encoder_layers 2 and 3: take two models of one shape"):
        PatchablePair.of(translator, trace, trace, other=other)


# ---- what cannot be measured --------------------------------------------------------------------


def test_two_sentences_with_one_translation_are_refused() -> None:
    translator = taught_translator()
    first, second = traces(translator, FIRST, FIRST)
    with pytest.raises(InputError, match="so nothing is decided between them"):
        PatchablePair.of(translator, first, second)
    pair = PatchablePair.of(translator, first, second, contrast=Contrast(0, 5, 6))
    with pytest.raises(InputError, match="so there is no flip to share out"):
        _ = pair.margins


@pytest.mark.parametrize(
    ("contrast", "message"),
    [
        (Contrast(1, 5, 6), "the same up to step 0"),
        (Contrast(-1, 5, 6), "must be one of 0 to 0"),
        (Contrast(0, 5, 5), "two different token ids"),
        (Contrast(0, 5, 10_000), "two different token ids"),
    ],
)
def test_a_decision_must_be_one_that_both_runs_reach(contrast: Contrast, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pair_of(taught_translator(), FIRST, SECOND, contrast)


def test_two_words_name_the_step_where_one_of_them_is_written() -> None:
    """Whatever the translations differ in later."""
    translator = taught_translator()
    first, second = traces(translator, "chat noir dort", "chien noir dort")
    assert (first.translation, second.translation) == ("sleeps black cat", "sleeps black dog")
    ids = {word: translator.tokenizer.encode(word)[0] for word in ("black", "red", "dog", "cat")}
    found = find_contrast(translator, first, second, ("red", "black"))
    assert found == Contrast(1, ids["red"], ids["black"])
    found = find_contrast(translator, first, second, ("dog", "cat"))
    assert found == Contrast(2, ids["dog"], ids["cat"])
    for words in (("red", "house"), ("black", "giraffe")):
        with pytest.raises(InputError, match="nothing is decided between"):
            find_contrast(translator, first, second, words)


@pytest.mark.parametrize(
    "cell",
    [Cell("source", 3, 0), Cell("source", 0, 4), Cell("cross", 2, 0), Cell("target", 0, 0)],
)
def test_unknown_cells_are_named(cell: Cell) -> None:
    pair = pair_of(taught_translator(), FIRST, SECOND)
    with pytest.raises(InputError, match=f"no such cell: {cell.part} {cell.layer}.{cell.index} "):
        apply_patch(pair, [Cell("cross", 0, 0), cell])


def test_a_longer_sentence_may_write_something_longer() -> None:
    pair = pair_of(taught_translator(), FIRST, LONGER)
    runs = apply_patch(pair, [c for c in cells_of(pair) if c.part == "source"])
    assert [run.translation for run in runs] == [pair.traces[1].translation, "sleeps black cat"]


def test_cells_are_named_as_people_count() -> None:
    assert str(Cell("cross", 0, 2)) == "cross 1.3"
    assert str(Cell("source", 0, 2)) == "source 0.3"
