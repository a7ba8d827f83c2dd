"""The presets are the paper's rows, and their parameter counts are what table 3 prints."""

from __future__ import annotations

import pytest
import torch

from translucid.anatomy import anatomy
from translucid.errors import InputError
from translucid.model import Transformer
from translucid.presets import PAPER_VOCABULARY, PRESETS, find_preset

PAPER = [name for name, preset in PRESETS.items() if preset.published]
FITTING_VOCABULARY = 41_100  # see presets.py: the one that table 3's rows A to E were counted with
FITTING_BIG = 36_000


def millions(name: str, vocab_size: int) -> float:
    config = PRESETS[name].config(vocab_size)
    return sum(block.parameters for block in anatomy(config, length=1)) / 1e6


@pytest.mark.parametrize("name", PRESETS)
def test_the_closed_form_counts_what_the_network_has(name: str) -> None:
    config = PRESETS[name].config(1000)
    with torch.device("meta"):
        model = Transformer(config)
    assert sum(b.parameters for b in anatomy(config, 1)) == sum(
        p.numel() for p in model.parameters()
    )


@pytest.mark.parametrize("name", PAPER)
def test_parameters_round_to_table_3_with_the_vocabulary_that_fits_it(name: str) -> None:
    published = PRESETS[name].published
    assert published is not None
    vocab_size = FITTING_BIG if name == "big" else FITTING_VOCABULARY
    # Learned positions (row E) replace a table that has no parameters; table 3 leaves E's blank.
    extra = 2 * 1024 * 512 / 1e6 if name == "E-learned" else 0.0
    assert round(millions(name, vocab_size) - extra) == published.millions


@pytest.mark.parametrize("name", PAPER)
def test_the_distance_at_37000_tokens_is_the_vocabulary_alone(name: str) -> None:
    vocab_size = FITTING_BIG if name == "big" else FITTING_VOCABULARY
    rows = vocab_size - PAPER_VOCABULARY
    distance = millions(name, vocab_size) - millions(name, PAPER_VOCABULARY)
    assert distance == pytest.approx(rows * PRESETS[name].config(10).d_model / 1e6)


def test_no_one_vocabulary_gives_base_and_big() -> None:
    """Why presets.py says that the column cannot be reached as a whole."""
    fits = {
        name: {v for v in range(30_000, 45_000, 10) if round(millions(name, v)) == target}
        for name, target in (("base", 65), ("big", 213), ("C-ff1024", 53), ("C-N4", 50))
    }
    assert not fits["base"] & fits["big"]
    common = fits["base"] & fits["C-ff1024"] & fits["C-N4"]
    assert (min(common), max(common)) == (41_010, 41_200)
    assert PAPER_VOCABULARY not in fits["base"]


def test_every_row_of_table_3_is_there() -> None:
    rows = {letter: [n for n in PAPER if n.startswith(f"{letter}-")] for letter in "ABCDE"}
    assert {letter: len(names) for letter, names in rows.items()} == {
        "A": 4,
        "B": 2,
        "C": 7,
        "D": 4,
        "E": 1,
    }
    for name in rows["A"]:
        config = PRESETS[name].config(100)
        assert config.heads * config.d_k == 512
    assert PRESETS["D-smoothing0.2"].label_smoothing == 0.2
    assert PRESETS["big"].steps == 300_000


def test_small_presets() -> None:
    tiny, small = find_preset("tiny").config(100), find_preset("small").config(100)
    assert (tiny.encoder_layers, tiny.d_model, tiny.d_ff, tiny.heads) == (4, 128, 256, 4)
    assert (small.decoder_layers, small.d_model, small.d_ff, small.heads) == (3, 256, 1024, 4)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no preset is called 'bas'; did you mean 'base'\?"):
        find_preset("bas")
