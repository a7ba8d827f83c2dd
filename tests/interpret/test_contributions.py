"""The parts of a logit sum to it, and a head's part is what its absence takes away."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from networks import POSITIONS
from small_translators import write_random_model
from translucid.interpret.ablation import disable_heads
from translucid.interpret.contributions import (
    contribution_tokens,
    logit_contributions,
    part_names,
)
from translucid.interpret.explain import explain
from translucid.interpret.network import AttentionHead, single_network
from translucid.interpret.recording import record
from translucid.translator import Translator, load

SENTENCE = "Le chat dort."


def random_translator(folder: Path, **settings: object) -> Translator:
    return load(
        write_random_model(folder / "model", encoder_layers=2, decoder_layers=2, **settings)
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", [POSITIONS[0], "rotary"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_parts_sum_to_the_logit(tmp_path: Path, norm: str, positions: str, bias: bool) -> None:
    translator = random_translator(tmp_path, norm=norm, positions=positions, attention_bias=bias)
    model = single_network(translator)
    with torch.no_grad():  # as after training: norms that do something
        for name, parameter in model.named_parameters():
            if "norm" in name or "bias" in name:
                parameter += 0.3 * torch.randn(parameter.shape, generator=torch.manual_seed(1))
    trace = explain(translator, SENTENCE)
    shares_TKP = logit_contributions(model, trace)
    assert shares_TKP.size(-1) == len(part_names(trace.model)) == len(set(part_names(trace.model)))
    logits_TK = trace.tensor("logits").double().gather(1, contribution_tokens(trace))
    torch.testing.assert_close(shares_TKP.sum(dim=-1), logits_TK, atol=1e-4, rtol=0)


@pytest.mark.parametrize("head", [0, 1])
def test_a_head_has_what_its_absence_takes_away(tmp_path: Path, head: int) -> None:
    """The last layer's feed-forward network adds nothing here, so nothing comes after the head."""
    translator = random_translator(tmp_path, norm="pre")
    model = single_network(translator)
    last = model.config.decoder_layers - 1
    feed_forward = model.decoder.layers[last].feed_forward
    with torch.no_grad():
        for parameter in feed_forward.w_2.parameters():  # type: ignore[union-attr]
            parameter.zero_()
    trace = explain(translator, SENTENCE)
    off = disable_heads(translator, [AttentionHead("cross", last, head)])
    source = [token.id for token in trace.source_tokens]
    written = [step.token.id for step in trace.steps]
    without = record(single_network(off), source, written, "full")
    name = f"decoder.{last}.output"
    before_TD, after_TD = trace.tensor(name).double(), without.tensors[name].double()
    sigma_T1 = (
        before_TD.var(dim=-1, correction=0, keepdim=True) + model.config.norm_epsilon
    ).sqrt()
    lost_TD = (before_TD - after_TD) / sigma_T1
    with torch.inference_mode():
        norm = model.decoder.norm
        # A LayerNorm without its division is linear: γ ⊙ (x − mean).
        lost_TD = (lost_TD - lost_TD.mean(dim=-1, keepdim=True)) * norm.weight.double()
        lost_TV = model.output_projection(lost_TD.float()).double()
    part = part_names(trace.model).index(f"decoder.{last}.cross_attention.{head}")
    torch.testing.assert_close(
        logit_contributions(model, trace)[:, 0, part],
        lost_TV.gather(1, torch.tensor(written)[:, None])[:, 0],
        atol=1e-4,
        rtol=0,
    )
