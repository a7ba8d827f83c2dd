"""Custom parts: registered, named in settings, saved by name, refused where unknown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from networks import ragged, small_config, small_network
from translucid.checkpoint.model_directory import (
    ModelFiles,
    load_model,
    named_weights,
    write_model,
)
from translucid.config import KERNELS, POSITIONS, GenerationConfig, ModelConfig
from translucid.errors import ConfigError, DataError, InputError
from translucid.model import Transformer, eager, register_kernel, register_positions, sdpa
from translucid.model.positional import Positions
from translucid.registry import Registry
from translucid.training import register_loss
from translucid.training.config import LOSSES, TrainingConfig
from translucid.training.loss import Objective, projected_loss

REGISTRIES: tuple[Registry[object], ...] = (KERNELS, LOSSES, POSITIONS)  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Unregister what a test has registered."""
    before = [dict(registry._parts) for registry in REGISTRIES]
    yield
    for registry, parts in zip(REGISTRIES, before, strict=True):
        registry._parts = parts


def save(model: Transformer, folder: Path) -> Path:
    files = ModelFiles(
        config=model.config,
        generation=GenerationConfig(directions=(("fr", "en"),), tags={}),
        tokenizer=b"a stand-in",
        provenance={},
        texts={"README.md": "# Card\n"},
    )
    write_model(folder, named_weights(model), files)
    return folder


def doubled(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float
) -> tuple[Tensor, Tensor]:
    """Attention that gives twice the paper's output."""
    output, weights = eager(q, k, v, mask, dropout)
    return 2 * output, weights


class Slopes(Positions):
    """A bias that falls with the distance, by a learned slope per head (as in ALiBi)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes_H = nn.Parameter(torch.full((heads,), 0.7))

    def bias(self, queries: int, keys: int) -> Tensor:
        positions = torch.arange(keys)
        distance_LM = (positions[None, :] - positions[keys - queries :, None]).abs()
        return -self.slopes_H[:, None, None] * distance_LM


def test_names_are_built_in_or_registered() -> None:
    registry: Registry[object] = Registry("animal", "zoo.register", ["cat"])
    registry.register("cat")(str)
    assert registry.names == ("cat",)
    registry.register("dog")(int)
    registry.register("dog")(float)  # a cell of a notebook that runs again
    assert (registry.names, registry.find("dog")) == (("cat", "dog"), float)
    with pytest.raises(InputError, match="animal = 'cat' is built in: choose another name"):
        registry.register("cat")(int)
    with pytest.raises(InputError) as caught:
        registry.find("cow")
    assert str(caught.value) == (
        "animal = 'cow' is unknown; available: cat, dog. If it is your own, register it first: "
        "@zoo.register('cow')"
    )


def test_every_built_in_part_is_registered() -> None:
    for registry in REGISTRIES:
        for name in registry.built_in:
            assert callable(registry.find(name))


@pytest.mark.parametrize(
    ("name", "kernel"), [("eager", eager), ("sdpa", sdpa), ("auto", KERNELS.find("auto"))]
)
def test_the_setting_attention_chooses_the_kernel(name: str, kernel: object) -> None:
    model = Transformer(small_config(attention=name))
    layer = model.encoder.layers[0]
    assert layer.self_attention.kernel is kernel  # type: ignore[union-attr]
    assert small_config().attention == "auto"


def test_a_custom_kernel_comes_back_with_its_model(tmp_path: Path) -> None:
    register_kernel("doubled")(doubled)
    model = small_network(attention="doubled")
    plain = small_network()
    source, target = ragged(3, 6, seed=1), ragged(3, 5, seed=2)
    assert not torch.allclose(model(source, target), plain(source, target))
    again = load_model(save(model, tmp_path / "model"))
    assert torch.equal(again(source, target), model(source, target))


def test_custom_positions_keep_their_first_values_and_come_back(tmp_path: Path) -> None:
    register_positions("slopes")(lambda config, _: Slopes(config.heads))
    assert Transformer(small_config(positions="slopes")).encoder.positions.slopes_H.tolist() == (
        pytest.approx([0.7] * 4)
    )
    model = small_network(positions="slopes")
    source, target = ragged(3, 6, seed=1), ragged(3, 5, seed=2)
    expected = model(source, target).log_softmax(-1)
    again = load_model(save(model, tmp_path / "model"))
    assert torch.equal(again(source, target).log_softmax(-1), expected)
    session = again.start(source)
    steps = [session.step(target[:, place]).clone() for place in range(target.size(1))]
    torch.testing.assert_close(torch.stack(steps, dim=1), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({"attention": "mine"}, "auto, eager, sdpa"),
        ({"positions": "mine"}, "sinusoidal, sinusoidal-halves, sinusoidal-timescales, learned"),
    ],
)
def test_a_model_with_an_unknown_part_is_not_loaded(
    change: dict[str, str], known: str, tmp_path: Path
) -> None:
    folder = save(small_network(), tmp_path / "model")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    (kind,) = change
    with pytest.raises(DataError) as caught:
        load_model(folder)
    assert f"{kind} = 'mine' is unknown; available: {known}" in str(caught.value)
    decorator = KERNELS.decorator if kind == "attention" else POSITIONS.decorator
    assert f"register it first: @{decorator}('mine')" in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_a_model_of_the_first_version_has_the_usual_kernel(tmp_path: Path) -> None:
    model = small_network()
    folder = save(model, tmp_path / "model")
    path = folder / "config.json"
    values = json.loads(path.read_text())
    del values["attention"]
    path.write_text(json.dumps(values))
    assert load_model(folder).config == model.config
    assert ModelConfig(**values).attention == "auto"


def test_a_custom_loss_is_trained_with() -> None:
    @register_loss("plain")
    def plain(
        states_RD: Tensor, weight_VD: Tensor, labels_R: Tensor, smoothing: float, rdrop_alpha: float
    ) -> tuple[Tensor, Tensor]:
        del smoothing, rdrop_alpha
        loss = nn.functional.cross_entropy(states_RD @ weight_VD.T, labels_R, reduction="sum")
        return loss, loss.detach()

    model, ids = small_network(), ragged(3, 6, seed=1)
    ours = Objective(model, 0.0, 0.0)(ids, ids, ids)
    theirs = Objective(model, 0.0, 0.0, loss=TrainingConfig(loss="plain").loss)(ids, ids, ids)
    torch.testing.assert_close(ours, theirs)
    assert Objective(model, 0.0, 0.0).loss is projected_loss


def test_an_unknown_loss_is_a_fault_of_the_settings() -> None:
    with pytest.raises(ConfigError, match=r"'focal' is unknown; available: cross-entropy"):
        TrainingConfig(loss="focal")
