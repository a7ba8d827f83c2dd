"""One decision by several methods, each by a second route."""

from __future__ import annotations

import pytest
import torch

from small_traces import pair_trace, taught_translator
from translucid.errors import InputError
from translucid.interpret.ablation import disable_heads, measure_head_margins
from translucid.interpret.attribution import (
    alignment_attention,
    integrated_gradients,
    occlusion,
    spearman,
)
from translucid.interpret.decision import Contrast
from translucid.interpret.decision_table import DecisionTable, compare_methods
from translucid.interpret.explain import explain
from translucid.interpret.network import AttentionHead, all_heads, rescore, single_network
from translucid.text.tokenizer import EOS
from translucid.translator import Translator

FIRST, SECOND = "chat noir dort vieux", "chat noir dort rouge"


@pytest.fixture(scope="module")
def table() -> DecisionTable:
    translator = taught_translator()
    return compare_methods(translator, explain(translator, FIRST), SECOND)


def column(table: DecisionTable, method: str) -> list[float]:
    return [row.values[method] for row in table.tokens]


def margin(translator: Translator, table: DecisionTable) -> float:
    """Return the margin by log P of a translator's network, which need not be the taught one."""
    decision = table.decision
    log_probs = rescore(translator, explain(taught_translator(), FIRST))[decision.step]
    return float(log_probs[decision.first] - log_probs[decision.second])


def test_occlusion_and_gradients_of_a_margin_are_differences_of_two_tokens(
    table: DecisionTable,
) -> None:
    """log P of one token minus log P of the other, each written in its own forced translation."""
    translator, decision = taught_translator(), table.decision
    one, other = (
        explain(translator, FIRST, prefix=[token, EOS])
        for token in (decision.first, decision.second)
    )
    assert decision.step == 0
    lost = [occlusion(translator, trace).values_TS[0] for trace in (one, other)]
    assert column(table, "occlusion") == pytest.approx((lost[0] - lost[1]).tolist(), abs=1e-4)
    slopes = [
        integrated_gradients(translator, t, tolerance=1e-3).values_TS[0] for t in (one, other)
    ]
    found = column(table, "integrated gradients")
    assert found == pytest.approx((slopes[0] - slopes[1]).tolist(), abs=0.1)


def test_ablation_of_a_head_is_turning_it_off(table: DecisionTable) -> None:
    translator = taught_translator()
    heads = all_heads(single_network(translator).config)
    whole = margin(translator, table)
    drops = [whole - margin(disable_heads(translator, [head]), table) for head in heads]
    assert [row.values["ablation"] for row in table.heads] == pytest.approx(drops, abs=1e-4)


def test_each_head_is_turned_off_in_one_batch(table: DecisionTable) -> None:
    translator, decision = taught_translator(), table.decision
    contrast = Contrast(decision.step, decision.first, decision.second)
    trace = explain(translator, FIRST)
    found = measure_head_margins(translator, trace, contrast)
    assert found.margin == pytest.approx(decision.margins[0], abs=1e-4)
    left = [
        margin(disable_heads(translator, [AttentionHead(one.side, one.layer, one.head)]), table)
        for one in found.heads
    ]
    assert [one.margin for one in found.heads] == pytest.approx(left, abs=1e-4)
    assert [one.flips for one in found.heads] == [value < 0 for value in left]
    with pytest.raises(InputError, match="the decision must be one of 0 to 4"):
        measure_head_margins(translator, trace, Contrast(9, 20, 21))


def test_ablation_of_a_token_is_a_final_state_of_zeros(table: DecisionTable) -> None:
    translator = taught_translator()
    model, trace = single_network(translator), explain(translator, FIRST)
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    with torch.inference_mode():
        for at, row in enumerate(table.tokens):

            def without(_module: object, args: tuple[torch.Tensor]) -> torch.Tensor:
                return args[0].index_fill(1, torch.tensor([at]), 0.0)  # noqa: B023

            handle = model.encoder.norm.register_forward_pre_hook(without)
            logits = model(source, torch.tensor([[trace.target_tokens[0].id]]))[0, 0]
            handle.remove()
            left = float(logits[table.decision.first] - logits[table.decision.second])
            assert row.values["ablation"] == pytest.approx(
                table.decision.margins[0] - left, abs=1e-4
            )


def test_patching_and_attention_are_those_of_the_trace(table: DecisionTable) -> None:
    trace = pair_trace(FIRST, SECOND)
    assert trace.patching is not None
    flip = trace.patching.decision.margins[0] - trace.patching.decision.margins[1]
    layers = single_network(taught_translator()).config.encoder_layers
    shares = [
        one.forward * flip
        for one in trace.patching.cells
        if (one.cell.part, one.cell.layer) == ("source", layers)
    ]
    assert column(table, "patching") == pytest.approx(shares, abs=1e-4)
    assert column(table, "attention") == pytest.approx(alignment_attention(trace)[0].tolist())
    heads = [
        one.forward * flip
        for one in trace.patching.cells
        if one.cell.part in ("encoder", "decoder", "cross")
    ]
    assert [row.values["patching"] for row in table.heads] == pytest.approx(heads, abs=1e-4)


def test_correlations_are_of_sizes(table: DecisionTable) -> None:
    one, other = (torch.tensor(column(table, name)).abs() for name in ("occlusion", "patching"))
    assert table.token_correlations["occlusion", "patching"] == spearman(one, other)
    assert len(table.token_correlations) == 10
    assert list(table.head_correlations) == [("ablation", "patching")]
    text = str(table)
    assert (
        f"heads, ablation and patching: {table.head_correlations['ablation', 'patching']:.2f}"
        in text
    )
    assert len(text.splitlines()) == 1 + len(table.tokens) + len(table.heads) + 11
