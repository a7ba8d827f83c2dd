"""The network's public surface: shapes, tying, names, initial values, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from networks import VOCAB, ragged, small_config, small_network
from translucid.errors import DataError, InputError
from translucid.model import Transformer, load_word_vectors
from translucid.model.initialization import TABLE, find_group
from translucid.presets import find_preset


def test_shapes() -> None:
    model = small_network(source_vocab_size=40, tying="decoder")
    source, target = ragged(3, 8, seed=1, vocab=40), ragged(3, 6, seed=2)
    memory = model.encode(source)
    assert memory.shape == (3, 8, 32)
    assert model.decode(target, memory, source).shape == (3, 6, VOCAB)
    assert torch.equal(model.decode(target, memory, source), model(source, target))


@pytest.mark.parametrize(
    ("tying", "same"),
    [("all", {"source", "target", "output"}), ("decoder", {"target", "output"}), ("none", set())],
)
def test_tying_shares_one_matrix(tying: str, same: set[str]) -> None:
    model = small_network(tying=tying)
    weights = {
        "source": model.source_embedding.weight,
        "target": model.target_embedding.weight,
        "output": model.output_projection.weight,
    }
    shared = {name for name, weight in weights.items() if weight is weights["target"]}
    assert shared == (same or {"target"})
    count = sum(1 for name, _ in model.named_parameters() if name.count(".") == 1)
    assert count == 4 - max(1, len(same))


def test_fewer_tokens_are_written_by_the_first_rows_of_the_shared_matrix() -> None:
    fewer, every = small_network(target_vocab_size=20), small_network()
    every.load_state_dict(fewer.state_dict())
    source, target = ragged(3, 8, seed=1), ragged(3, 6, seed=2, vocab=20)
    assert source.max() >= 20
    torch.testing.assert_close(fewer(source, target), every(source, target)[..., :20])
    with pytest.raises(InputError, match="target holds the id 20, outside the vocabulary of 20"):
        fewer(source, torch.full_like(target, 20))


def test_embeddings_are_scaled_by_the_root_of_d_model() -> None:
    model = small_network()
    ids = torch.tensor([[1, 5]])
    assert torch.allclose(model.source_embedding(ids), model.source_embedding.weight[ids] * 32**0.5)


def test_parameter_names_are_frozen() -> None:
    """Checkpoints hold these names: changing one breaks every saved model."""
    model = small_network(encoder_layers=1, decoder_layers=1, tying="none", norm="pre")
    attention = ["w_q.weight", "w_k.weight", "w_v.weight", "w_o.weight"]
    norm = ["norm.weight", "norm.bias"]
    feed_forward = ["w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias"]
    encoder = {"self_attention": attention, "feed_forward": feed_forward}
    decoder = {**encoder, "cross_attention": attention}
    layers = {
        *(f"encoder.layers.0.{part}.{name}" for part, names in encoder.items() for name in names),
        *(f"encoder.layers.0.{part}_residual.{name}" for part in encoder for name in norm),
        *(f"decoder.layers.0.{part}.{name}" for part, names in decoder.items() for name in names),
        *(f"decoder.layers.0.{part}_residual.{name}" for part in decoder for name in norm),
    }
    rest = {
        *("source_embedding.weight", "target_embedding.weight", "output_projection.weight"),
        *(f"{stack}.{name}" for stack in ("encoder", "decoder") for name in norm),
    }
    assert {name for name, _ in model.named_parameters()} == layers | rest
    assert set(model.state_dict()) == layers | rest  # tables of positions are not saved


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative"])
def test_every_parameter_is_in_one_group_and_begins_as_the_table_says(positions: str) -> None:
    torch.manual_seed(0)
    model = Transformer(
        small_config(
            d_model=64, heads=8, d_k=8, d_v=8, d_ff=96, positions=positions, tying="none",
            activation="swiglu", attention_bias=True, output_bias=True,
            source_vocab_size=300, target_vocab_size=300,
        )
    )  # fmt: skip
    found = set()
    for name, parameter in model.named_parameters():
        group = find_group(name)
        found.add(group.name)
        value = parameter.detach()
        match group.name:
            case "norm gains":
                assert torch.equal(value, torch.ones_like(value)), name
            case "biases" | "relative positions":
                assert torch.equal(value, torch.zeros_like(value)), name
            case "embeddings" | "output projection" | "learned positions":
                assert value.std().item() == pytest.approx(64**-0.5, rel=0.05), name
            case _:
                bound = (6 / sum(value.shape)) ** 0.5
                assert value.abs().max() <= bound, name
                assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.06), name
    missing = {group.name for group in TABLE} - found
    assert missing == {"learned positions", "relative positions"} - {f"{positions} positions"}


def test_first_values_are_a_function_of_the_seed() -> None:
    config = small_config()
    torch.manual_seed(3)
    first = Transformer(config).state_dict()
    torch.manual_seed(3)
    again = Transformer(config).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_a_fresh_network_is_calm() -> None:
    """Before training, logits have about unit variance, so the loss begins near log V."""
    torch.manual_seed(0)
    model = Transformer(find_preset("tiny").config(1000)).eval()
    source, target, labels = (torch.randint(1, 1000, (8, 20)) for _ in range(3))
    loss = nn.functional.cross_entropy(model(source, target).flatten(0, 1), labels.flatten())
    assert 6.9 < loss.item() < 8.0  # log 1000 = 6.91


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "swiglu"])
def test_feed_forward_is_its_equation(activation: str) -> None:
    ff = small_network(activation=activation).encoder.layers[0].feed_forward
    x = torch.randn(2, 3, 32)
    inner = x @ ff.w_1.weight.T + ff.w_1.bias
    if activation == "relu":
        inner = inner.clamp(min=0)
    elif activation == "gelu":
        inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
    elif activation == "silu":
        inner = inner / (1 + (-inner).exp())
    else:
        gate = x @ ff.w_gate.weight.T + ff.w_gate.bias
        inner = gate * torch.sigmoid(gate) * inner
    assert torch.allclose(ff(x), inner @ ff.w_2.weight.T + ff.w_2.bias, atol=1e-5)


def test_wrong_ids_are_named_with_their_value() -> None:
    model = small_network()
    good = ragged(2, 5, seed=1)
    with pytest.raises(InputError, match="source holds the id 29, outside the vocabulary of 29 "):
        model(torch.tensor([[1, 29]]), good)
    with pytest.raises(InputError, match=r"target holds the id -1, .* ids 0 to 28 are allowed"):
        model(good, torch.tensor([[1, -1], [1, 1]]))
    with pytest.raises(InputError, match=r"source is empty: its shape is \(2, 0\)"):
        model(good[:, :0], good)
    with pytest.raises(InputError, match=r"target is empty: its shape is \(0, 5\)"):
        model(good, good[:0])
    with pytest.raises(
        InputError, match=r"source must have 2 dimension\(s\), not the shape \(5,\)"
    ):
        model(good[0], good)
    with pytest.raises(InputError, match=r"source must hold token ids .*, not torch\.float32"):
        model(good.float(), good)
    memory = model.encode(good)
    with pytest.raises(InputError, match=r"memory \(2, 5, 32\) and source \(2, 4\)"):
        model.decode(good, memory, good[:, :4])
    with pytest.raises(InputError, match=r"target has the shape \(1, 5\)"):
        model.decode(good[:1], memory, good)


# Pretrained word vectors.

WORDS = ["<pad>", "cat", "dog", "new york", "zebra", "cat"]
GLOVE = "the 1 2 3 4\ncat 0.5 -1 2e-1 4\nnew york 4 3 2 1\ndog 1 1 1 1\n"


def embedding() -> nn.Module:
    return small_network(
        d_model=4, heads=1, source_vocab_size=6, target_vocab_size=6
    ).source_embedding


@pytest.mark.parametrize("header", ["", "4 4\n"], ids=["GloVe", "word2vec"])
def test_word_vectors_enter_the_network_as_they_stand(tmp_path: Path, header: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(header + GLOVE, encoding="utf-8")
    ours = embedding()
    zebra = ours.weight[4].detach().clone()
    assert load_word_vectors(ours, path, WORDS) == 4  # cat twice, dog, new york
    seen = ours(torch.tensor([1, 2, 3, 5]))
    expected = torch.tensor([[0.5, -1, 0.2, 4], [1, 1, 1, 1], [4, 3, 2, 1], [0.5, -1, 0.2, 4]])
    assert torch.allclose(seen, expected, atol=1e-6)
    assert torch.equal(ours.weight[4], zebra)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("cat 1 2 3\n", "line 1: vectors of 3 numbers, but d_model is 4"),
        ("5 300\ncat 1 2 3 4\n", "line 1: vectors of 300 numbers, but d_model is 4"),
        ("dog 1 2 3 4\ncat 1 2 x 4\n", "line 2: not a number: .*'x'"),
        ("dog 1 2 3 4\ncat 1 2\n", "line 2: 2 numbers instead of 4"),
        ("dog 1 2 nan 4\n", "line 1: a number that is not finite"),
        ("", "line 1"),
    ],
)
def test_bad_vector_files_change_nothing(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(content, encoding="utf-8")
    ours = embedding()
    before = ours.weight.detach().clone()
    with pytest.raises(DataError, match=message):
        load_word_vectors(ours, path, WORDS)
    assert torch.equal(ours.weight, before)


def test_missing_vector_files_and_wrong_vocabularies_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        load_word_vectors(embedding(), tmp_path / "none.txt", WORDS)
    with pytest.raises(InputError, match="tokens has 2 entries, but the embedding has 6 rows"):
        load_word_vectors(embedding(), tmp_path / "none.txt", WORDS[:2])


def test_a_session_may_go_on_with_more_rows_than_it_began_with(
    recwarn: pytest.WarningsRecorder,
) -> None:
    model = small_network().eval()
    source = torch.tensor([[5, 6, 7, 3]])
    few, many = model.start(source), model.start(source)
    for session in (few, many):
        session.step(torch.tensor([2]))
    many.reorder(torch.tensor([0, 0, 0]))
    expected = few.step(torch.tensor([8])).expand(3, -1)
    torch.testing.assert_close(many.step(torch.tensor([8, 8, 8])), expected)
    assert not recwarn.list
