"""The two lenses: the last layer is the network, an earlier one a network that ends there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from networks import network
from small_translators import write_random_model, write_taught_model
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.interpret.explain import explain
from translucid.interpret.lens import (
    decoder_lens,
    logit_lens,
    logit_lens_log_probs,
    truncate_encoder,
)
from translucid.interpret.network import replace_network, single_network
from translucid.interpret.trace import Trace
from translucid.translator import Translator, load

SEARCH = SearchConfig(method="beam", beam=2, max_length=12)


@pytest.fixture(scope="module", params=["pre", "post"])
def babbling(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Translator:
    folder = tmp_path_factory.mktemp("lens") / "model"
    return load(write_random_model(folder, norm=request.param, encoder_layers=3, decoder_layers=3))


@pytest.fixture(scope="module")
def trace(babbling: Translator) -> Trace:
    return explain(babbling, "Le chat dort.", search=SEARCH)


def shortened(translator: Translator, **layers: int) -> Translator:
    """Return a translator whose network was built with fewer layers, and has the same weights."""
    model = single_network(translator)
    other = network(model.config.replace(**layers))
    own = model.state_dict()
    other.load_state_dict({name: own[name] for name in other.state_dict()})
    return replace_network(translator, other, "shortened")


def test_the_last_decoder_layer_is_the_network(babbling: Translator, trace: Trace) -> None:
    log_probs_NTV = logit_lens_log_probs(babbling, trace)
    torch.testing.assert_close(log_probs_NTV[-1], trace.tensor("log_probs"), atol=1e-5, rtol=0)
    last = logit_lens(babbling, trace, top=10).layers[-1]
    for cell, step in zip(last, trace.steps, strict=True):
        assert cell.log_prob == pytest.approx(step.log_prob, abs=1e-5)
        assert cell.rank == step.rank
        assert cell.entropy == pytest.approx(step.entropy, abs=1e-4)
        assert [token.id for token in cell.top] == [token.id for token in step.top]
        assert cell.top[0].piece == step.top[0].piece


@pytest.mark.parametrize("layer", [0, 1])
def test_an_earlier_decoder_layer_is_a_network_that_ends_there(
    babbling: Translator, trace: Trace, layer: int
) -> None:
    short = single_network(shortened(babbling, decoder_layers=layer + 1))
    ids = [[[token.id for token in t]] for t in (trace.source_tokens, trace.target_tokens)]
    with torch.inference_mode():
        said_TV = short(*map(torch.tensor, ids))[0].log_softmax(dim=-1)
    torch.testing.assert_close(
        logit_lens_log_probs(babbling, trace)[layer], said_TV, atol=1e-5, rtol=0
    )
    for step, cell in enumerate(logit_lens(babbling, trace, top=4).layers[layer]):
        order = said_TV[step].argsort(descending=True).tolist()
        assert [token.id for token in cell.top] == order[:4]
        written = trace.steps[step].token.id
        assert cell.rank == order.index(written) + 1
        assert cell.log_prob == pytest.approx(float(said_TV[step, written]), abs=1e-5)


def test_a_light_trace_has_no_layers_to_read(babbling: Translator) -> None:
    light = explain(babbling, "Le chat dort.", search=SEARCH, level="light")
    with pytest.raises(InputError, match="level 'full'"):
        logit_lens(babbling, light)


def test_the_last_encoder_layer_is_the_network(babbling: Translator, trace: Trace) -> None:
    *_, last = decoder_lens(babbling, trace)
    assert last.layer == 2
    assert last.translation == trace.translation
    assert last.log_prob == pytest.approx(sum(s.log_prob for s in trace.steps), abs=1e-4)
    for cell, step in zip(last.cells, trace.steps, strict=True):
        assert cell.log_prob == pytest.approx(step.log_prob, abs=1e-5)


@pytest.mark.parametrize("layer", [0, 1])
def test_an_earlier_encoder_layer_is_a_network_whose_encoder_ends_there(
    babbling: Translator, trace: Trace, layer: int
) -> None:
    short = shortened(babbling, encoder_layers=layer + 1)
    reading = decoder_lens(babbling, trace)[layer]
    assert reading.translation == short.translate(["Le chat dort."], search=SEARCH)[0].text
    with torch.inference_mode():
        ids = [[[token.id for token in t]] for t in (trace.source_tokens, trace.target_tokens)]
        said_TV = single_network(short)(*map(torch.tensor, ids))[0].log_softmax(dim=-1)
    assert reading.log_prob == pytest.approx(sum(c.log_prob for c in reading.cells), abs=1e-6)
    for step, cell in enumerate(reading.cells):
        written = trace.steps[step].token.id
        assert cell.log_prob == pytest.approx(float(said_TV[step, written]), abs=1e-5)


def test_a_lens_leaves_the_network_as_it_was(babbling: Translator) -> None:
    model = single_network(babbling)
    reader = single_network(truncate_encoder(babbling, 0))
    assert (len(model.encoder.layers), len(reader.encoder.layers)) == (3, 1)
    own = dict(model.named_parameters())
    assert all(own[name] is parameter for name, parameter in reader.named_parameters())
    assert (model.config.encoder_layers, reader.config.encoder_layers) == (3, 1)


def test_a_network_that_reads_an_early_layer_can_be_looked_into(babbling: Translator) -> None:
    reader = truncate_encoder(babbling, 1)
    trace = explain(reader, "chat", search=reader.default_search.replace(max_length=4))
    assert "encoder.1.output" in trace.tensors
    assert "encoder.2.output" not in trace.tensors


def test_a_taught_network_knows_more_in_its_last_layer(tmp_path: Path) -> None:
    taught = load(write_taught_model(tmp_path / "taught"))
    trace = explain(taught, "chat noir dort")
    first, last = (sum(c.log_prob for c in row) for row in logit_lens(taught, trace).layers)
    assert trace.translation == "sleeps black cat"
    assert first < last
