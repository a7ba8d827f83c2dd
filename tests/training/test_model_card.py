"""The model card of a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from networks import small_config
from shard_folders import BOTH_WAYS
from translucid.anatomy import anatomy
from translucid.data.known_corpora import KNOWN
from translucid.data.manifest import CorpusEntry, Manifest
from translucid.events import Validated
from translucid.model import Transformer
from translucid.training.config import TrainingConfig
from translucid.training.device import matrix_product_peak, training_flops
from translucid.training.model_card import CURVE, DataPart, RunFacts, model_card
from word_data import word_data, word_pairs

VALIDATED = Validated(
    step=40,
    loss=1.5,
    perplexity=4.4817,
    bleu=33.25,
    chrf=51.5,
    signatures=("BLEU|nrefs:1|tok:13a", "chrF2|nrefs:1", "BLEU|nrefs:1|tok:13a"),
    samples=(),
    best=True,
)
FACTS = RunFacts(
    step=40,
    epoch=3,
    tokens=123_456,
    seconds=90.0,
    validation=VALIDATED,
    command="translucid train data -o run",
)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    splits = {"train": word_pairs(12, seed=1), "dev": word_pairs(7, seed=2)}
    made = word_data(tmp_path_factory.mktemp("data"), splits).manifest
    return replace(made, corpora=(CorpusEntry(("odd|name.tsv",), 1.5, 12),))


def card(manifest: Manifest, facts: RunFacts) -> str:
    settings = TrainingConfig(warmup_steps=321, validation_sample=5)
    return model_card(small_config(), settings, [DataPart("data", manifest)], facts)


def test_the_card_says_what_the_network_is(manifest: Manifest) -> None:
    text = card(manifest, FACTS)
    real = sum(parameter.numel() for parameter in Transformer(small_config()).parameters())
    assert f"| parameters | {real:,} |" in text
    assert text.startswith("# Translation fr → en\n")
    assert "after each residual sum" in text
    assert "before each sublayer" in model_card(
        small_config(norm="pre"), TrainingConfig(), [DataPart("data", manifest)], FACTS
    )
    assert "sinusoidal" in text
    assert "29 tokens" in text


def test_the_card_says_data_scores_settings_and_command(manifest: Manifest) -> None:
    text = card(manifest, FACTS)
    assert manifest.tokenizer.fingerprint in text
    assert "| `odd\\|name.tsv` | 12 | 1.5 |" in text
    assert re.search(r"\| dev \| 7 \| \d+ \| \d+ \|", text)
    assert "| BLEU | 33.25 | 5 of them, greedy search |" in text
    assert text.count("BLEU|nrefs:1|tok:13a") == 1
    assert "| warmup_steps | `321` |" in text
    assert "translucid train data -o run" in text
    assert "| time | 1.5 minutes |" in text
    assert "123,456" in text
    assert f"]({CURVE})" in text
    assert "## Licence" in text


def test_the_card_tells_the_licence_of_a_known_corpus(manifest: Manifest) -> None:
    assert "Tatoeba" not in card(manifest, FACTS)
    (file,) = KNOWN["tatoeba-fra-eng"].files
    settings = {**manifest.settings, "train": [{"paths": ["a.tsv"], "sha256": [file.sha256]}]}
    text = card(replace(manifest, settings=settings), FACTS)
    assert "- tatoeba-fra-eng: CC BY 2.0 FR. Name Tatoeba (tatoeba.org) as the source" in text


def test_the_card_without_a_dev_set_claims_nothing(manifest: Manifest) -> None:
    text = card(manifest, replace(FACTS, validation=None, command=""))
    assert "nothing was measured" in text
    assert "BLEU" not in text
    assert "```" not in text


def test_the_card_of_both_directions_says_that_scores_are_means(tmp_path: Path) -> None:
    splits = {"train": word_pairs(3, seed=1), "dev": word_pairs(3, seed=2)}
    both = word_data(tmp_path, splits, directions=BOTH_WAYS, tagged=True).manifest
    assert "# Translation fr → en, en → fr\n" in card(both, FACTS)
    assert "means over the directions" in card(both, FACTS)


def test_flops_of_training_are_those_of_the_anatomy() -> None:
    config = small_config()
    whole = sum(block.cost.training for block in anatomy(config, 9))
    assert training_flops(config, 9, 9) == pytest.approx(whole)
    assert training_flops(config, 18, 9) > whole > training_flops(config, 5, 9)


def test_the_peak_is_a_rate() -> None:
    assert 1e8 < matrix_product_peak(torch.device("cpu")) < 1e16
