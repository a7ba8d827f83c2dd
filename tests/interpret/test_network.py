"""The hash of a model depends on what it computes with, and on nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from small_traces import taught_translator
from small_translators import write_random_model
from translucid.engines import Engines
from translucid.interpret import model_hash
from translucid.translator import Translator, load


def test_the_same_model_has_the_same_hash_under_any_name(tmp_path: Path) -> None:
    first = load(write_random_model(tmp_path / "a"))
    again = load(write_random_model(tmp_path / "b"))
    assert model_hash(first) == model_hash(again)
    assert len(model_hash(first)) == hashlib.sha256().digest_size * 2


def test_other_weights_settings_or_words_have_another_hash(tmp_path: Path) -> None:
    ways = {"seed": {"seed": 1}, "norm": {"norm": "post"}, "kind": {"kind": "char"}, "same": {}}
    hashes = {
        model_hash(load(write_random_model(tmp_path / name, **way)))  # type: ignore[arg-type]
        for name, way in ways.items()
    }
    assert len(hashes) == len(ways)


def test_a_weight_that_changes_changes_the_hash(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "a"))
    before = model_hash(translator)
    weight = translator.members[0].model.decoder.layers[1].feed_forward.w_1.bias  # type: ignore[union-attr]
    assert isinstance(weight, torch.nn.Parameter)
    with torch.no_grad():
        weight[3] += 1
    assert model_hash(translator) != before
    with torch.no_grad():
        weight[3] -= 1


def test_an_ensemble_is_another_model_than_its_members() -> None:
    one = taught_translator()
    both = Translator("both", one.tokenizer, Engines.of(one.members * 2), one.generation)
    assert model_hash(both) != model_hash(one)
