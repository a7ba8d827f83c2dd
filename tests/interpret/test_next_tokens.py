"""What may come next: the network's numbers, and what sampling makes of them."""

from __future__ import annotations

import copy
import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small_traces import SENTENCE, random_translator, taught_trace, taught_translator
from translucid.decoding.config import SearchConfig
from translucid.engines.base import DecoderInput
from translucid.errors import InputError
from translucid.interpret.next_tokens import next_tokens, truncate
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE

TEXT = "Où est l'eau ?"


def exact(prefix: list[int]) -> np.ndarray[Any, Any]:
    """log P of all tokens by the same network in float64, the whole in one pass."""
    translator = random_translator()
    model = copy.deepcopy(translator.members[0].model).double()
    source = torch.tensor([[*translator.tokenizer.encode(TEXT), EOS]])
    with torch.no_grad():
        logits = model(source, torch.tensor([[BOS, *prefix]]))[0, -1].numpy()
    return np.asarray(logits - np.logaddexp.reduce(logits))


def never() -> list[int]:
    """Tokens that no translation has: symbols but the end, and the bytes of line breaks."""
    tokenizer = random_translator().tokenizer
    breaks = [tokenizer.encode(mark)[-1] for mark in "\n\r"]
    return [*(token for token in range(FIRST_PIECE) if token != EOS), *breaks]


@pytest.mark.parametrize("prefix", [[], [300], [300, 301, 290]])
def test_the_numbers_are_the_networks(prefix: list[int]) -> None:
    expected = exact(prefix)
    found = next_tokens(random_translator(), TEXT, prefix=prefix, count=10_000)
    assert sorted(token.id for token in found.tokens) == list(range(len(expected)))
    log_probs = [token.log_prob for token in found.tokens]
    assert log_probs == sorted(log_probs, reverse=True)
    assert log_probs == pytest.approx([expected[token.id] for token in found.tokens], abs=1e-5)
    assert found.entropy == pytest.approx(-float(np.sum(np.exp(expected) * expected)), abs=1e-4)
    tokenizer = random_translator().tokenizer
    assert all(token.piece == tokenizer.piece(token.id) for token in found.tokens)
    assert [(one.id, one.piece) for one in found.prefix] == [
        (token, tokenizer.piece(token)) for token in prefix
    ]


def test_without_cuts_the_probability_is_the_networks_without_what_is_never_written() -> None:
    expected = np.exp(exact([]))
    expected[never()] = 0
    expected /= expected.sum()
    found = next_tokens(random_translator(), TEXT, count=10_000)
    probabilities = {token.id: token.probability for token in found.tokens}
    assert [probabilities[token] for token in range(len(expected))] == pytest.approx(
        expected.tolist(), abs=1e-6
    )
    assert {token.id for token in found.tokens if not token.kept} == set(never())
    assert found.kept == len(expected) - len(never())
    assert found.rest.count == 0
    assert found.rest.probability == 0


def by_definition(
    log_probs: np.ndarray[Any, Any], temperature: float, top_k: int, top_p: float, min_p: float
) -> np.ndarray[Any, Any]:
    """Temperature, then each cut on the same distribution, then what is left made to sum to 1."""
    probs = np.exp((log_probs - log_probs.max()) / temperature)
    probs /= probs.sum()
    order = np.argsort(-probs, kind="stable")
    kept = []
    before = 0.0
    for place, token in enumerate(order):
        fits_k = not top_k or place < top_k
        fits_p = top_p == 1 or before < top_p
        if fits_k and fits_p and probs[token] >= min_p * probs[order[0]]:
            kept.append(token)
        before += probs[token]
    found = np.zeros_like(probs)
    found[kept] = probs[kept] / probs[kept].sum()
    return found


@settings(max_examples=40)
@given(
    logits=st.lists(
        st.integers(-40, 40).map(lambda n: n / 7), min_size=2, max_size=40, unique=True
    ),
    temperature=st.sampled_from([0.3, 1.0, 1.7, 5.0]),
    top_k=st.sampled_from([0, 1, 3, 1000]),
    top_p=st.sampled_from([0.1, 0.503, 0.93, 1.0]),
    min_p=st.sampled_from([0.0, 0.01, 0.37, 1.0]),
)
def test_the_cuts_are_what_their_definitions_say(
    logits: list[float], temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    log_probs = torch.tensor(logits).log_softmax(dim=0)
    how = SearchConfig(
        method="sampling", temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p
    )
    found = truncate(log_probs, how).softmax(dim=0)
    expected = by_definition(log_probs.double().numpy(), temperature, top_k, top_p, min_p)
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    "cuts", [{}, {"temperature": 2.0}, {"top_k": 3}, {"top_p": 0.6}, {"min_p": 0.4}]
)
def test_it_is_what_sampling_draws_by(cuts: dict[str, Any]) -> None:
    translator, prefix = random_translator(), (300, 301)
    search = SearchConfig(method="sampling", samples=300, n_best=300, max_length=3, seed=4, **cuts)
    request = DecoderInput((*translator.tokenizer.encode(TEXT), EOS), prefix=prefix, terms=())
    (found,) = translator.searcher(search).search([request], None)
    drawn = Counter((*one.tokens, EOS)[2] for one in found)
    told = next_tokens(translator, TEXT, prefix=prefix, sampling=search, count=10_000)
    kept = {token.id: token.probability for token in told.tokens if token.kept}
    assert set(drawn) <= set(kept)
    assert math.fsum(kept.values()) == pytest.approx(1)
    for token, probability in kept.items():
        spread = math.sqrt(300 * probability * (1 - probability))
        assert abs(drawn[token] - 300 * probability) <= 5 * spread + 3


def test_at_temperature_0_the_most_probable_token_is_left() -> None:
    how = SearchConfig(method="sampling", temperature=0.0)
    found = next_tokens(taught_translator(), SENTENCE, sampling=how, count=2)
    assert [(token.probability, token.kept) for token in found.tokens] == [
        (1.0, True),
        (0.0, False),
    ]
    assert (found.kept, found.entropy_kept) == (1, 0.0)
    cold = next_tokens(taught_translator(), SENTENCE, sampling=how.replace(temperature=1e-40))
    assert cold.tokens[0].probability == 1.0


def test_what_is_not_listed_is_summed_up() -> None:
    every = next_tokens(random_translator(), TEXT, count=10_000)
    some = next_tokens(random_translator(), TEXT, count=7)
    assert some.tokens == every.tokens[:7]
    assert some.rest.count == len(every.tokens) - 7
    rest = math.fsum(token.probability for token in every.tokens[7:])
    assert some.rest.probability == pytest.approx(rest)
    drawn = math.fsum(-t.probability * math.log(t.probability) for t in every.tokens if t.kept)
    assert some.entropy_kept == pytest.approx(drawn)


def test_it_agrees_with_every_step_of_a_trace() -> None:
    trace = taught_trace()
    written = [step.token.id for step in trace.steps]
    for place, step in enumerate(trace.steps):
        found = next_tokens(taught_translator(), SENTENCE, prefix=written[:place], count=10)
        assert [(t.id, t.piece) for t in found.tokens] == [(t.id, t.piece) for t in step.top]
        assert [t.log_prob for t in found.tokens] == pytest.approx(
            [t.log_prob for t in step.top], abs=1e-4
        )
        assert found.entropy == pytest.approx(step.entropy, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": " "}, "the text is blank"),
        ({"prefix": [EOS]}, "prefix ends in the end symbol, 3: nothing can come after it"),
        ({"prefix": [9999]}, "prefix[0] = 9999 is no token"),
        ({"count": 0}, "count = 0: must be at least 1"),
        ({"target": "de"}, "does not translate into 'de' but into en"),
    ],
)
def test_what_cannot_be_told_is_refused_by_name(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        next_tokens(taught_translator(), **{"text": SENTENCE, **arguments})


def test_a_network_that_cannot_read_so_much_is_named() -> None:
    translator = random_translator(positions="learned", max_positions=20)
    with pytest.raises(InputError, match=r"up to 31 tokens .* can read 20 \(max_positions\)"):
        next_tokens(translator, "Le chat", prefix=[300] * 30)
