"""States as points: components against the covariance, distances and cosines one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from small_translators import write_random_model
from translucid.interpret.explain import explain
from translucid.interpret.network import single_network
from translucid.interpret.state_space import (
    explained_variance,
    nearest_entries,
    principal_coordinates,
    stack_states,
    state_distances,
    text_mask,
)
from translucid.interpret.trace import Trace
from translucid.translator import Translator, load


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_random_model(tmp_path_factory.mktemp("space") / "model", encoder_layers=3))


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return explain(translator, "Le chat dort.")


def test_components_are_those_of_the_covariance(trace: Trace) -> None:
    states = stack_states(trace, "encoder")
    assert states.shape[0] == 4  # what enters, and three layers
    text = text_mask(trace, "encoder")
    assert text.tolist()[-1] is False  # the end symbol
    points = principal_coordinates(states, text).double().numpy()
    shares = explained_variance(states, text).numpy()
    for layer, found in enumerate(points):
        words = states[layer][text].double().numpy()
        values, axes = np.linalg.eigh(np.cov(words.T, bias=True))
        every = states.double().numpy() - words.mean(axis=0)
        expected = every @ axes[:, ::-1][:, :2]
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
        expected_shares = values[::-1][:2] / values.sum()
        np.testing.assert_allclose(shares[layer], expected_shares, atol=1e-5)


def test_distances_are_those_in_all_dimensions(trace: Trace) -> None:
    states = stack_states(trace, "decoder")
    found = state_distances(states)
    for layer, first, second in ((0, 0, 1), (1, 1, 0), (len(states) - 1, 1, 1)):
        apart = float((states[layer, first] - states[layer, second]).square().sum().sqrt())
        assert float(found[layer, first, second]) == pytest.approx(apart, abs=1e-5)


def test_the_nearest_entry_of_an_embedding_is_its_token(
    translator: Translator, trace: Trace
) -> None:
    model = single_network(translator)
    found = nearest_entries(model, trace, "encoder")
    state = stack_states(trace, "encoder")[2, 1]
    cosines = torch.nn.functional.cosine_similarity(model.source_embedding.weight, state[None])
    assert found[2, 1, 0, 0] == cosines.argmax()
    assert float(found[2, 1, 0, 1]) == pytest.approx(float(cosines.max().detach()), abs=1e-5)
    assert (found[..., :-1, 1] >= found[..., 1:, 1]).all()
