"""Which heads align best: found on a task whose alignment is known, kept with the model."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import cast, get_args

import pytest
import torch

from networks import network
from small_translators import LEXICON, reversed_translation, sentences, write_random_model
from translucid.config import GenerationConfig, ModelConfig
from translucid.engines import Engines
from translucid.engines.heads import DecoderRow, default_heads
from translucid.engines.pytorch import Member, soft_alignments
from translucid.errors import ConfigError, DataError, InputError
from translucid.events import Event, Progress
from translucid.model.decoder import DecoderLayer
from translucid.text.tokenizer import EOS
from translucid.translator import (
    AlignmentHeads,
    Translator,
    load,
    save_alignment_heads,
)
from translucid.translator.head_selection import find_alignment_heads

FRENCH = GenerationConfig(directions=(("fr", "en"),), tags={})
DEV = [(text, reversed_translation(text)) for text in sentences(200, seed=31)]


def known_agreement(translator: Translator, heads: AlignmentHeads) -> float:
    """Return the share of target words whose heads look at the right source word."""
    member = Member(translator.members[0].model, heads)
    encode = translator.tokenizer.encode
    sources = [(*encode(source), EOS) for source, _ in DEV]
    targets = [tuple(encode(target)) for _, target in DEV]
    right, count = 0, 0
    for weights_TS in soft_alignments([member], sources, targets):
        looked = weights_TS[:, :-1].argmax(dim=1)
        right += int((looked == torch.arange(len(looked)).flip(0)).sum())
        count += len(looked)
    return right / count


def test_the_heads_found_are_those_that_know_the_alignment(taught: Translator) -> None:
    found = find_alignment_heads(taught, DEV)
    config = taught.members[0].model.config
    singles = itertools.product(
        range(config.decoder_layers), range(config.heads), get_args(DecoderRow)
    )
    known = {
        (layer, head, row): known_agreement(taught, AlignmentHeads(heads=((layer, head),), row=row))
        for layer, head, row in singles
    }
    best = max(known, key=lambda single: known[single])
    assert found.row == best[2]
    assert found.heads[0] in [key[:2] for key in known if known[key] > known[best] - 0.03]
    assert known_agreement(taught, found) >= known[best] - 0.01
    assert known_agreement(taught, found) > 0.95
    assert known_agreement(taught, found) > known_agreement(taught, default_heads(config))
    assert min(known.values()) < 0.5
    assert found.agreement == pytest.approx(known_agreement(taught, found), abs=0.03)
    assert 0 < found.links <= sum(len(source.split()) for source, _ in DEV)


def word_for_word(translator: Translator) -> Translator:
    """A network whose head 1 looks, where it reads a word, at the source word that it translates.

    A word and its translation have one random vector, attention compares these vectors, and
    everything else in the network adds nothing to them.
    """
    tokenizer = translator.tokenizer
    config = ModelConfig(
        source_vocab_size=tokenizer.vocab_size, target_vocab_size=tokenizer.vocab_size,
        encoder_layers=1, decoder_layers=1, d_model=32, d_k=32, d_ff=8, heads=2, norm="pre",
        positions="none", tying="none",
    )  # fmt: skip
    model = network(config)
    with torch.no_grad():
        for source, target in LEXICON.items():
            (s,), (t,) = tokenizer.encode(source), tokenizer.encode(target)
            model.target_embedding.weight[t] = model.source_embedding.weight[s]
        for name, parameter in model.named_parameters():
            if name.endswith(("w_o.weight", "w_2.weight", "w_2.bias", "norm.bias")):
                parameter.zero_()
            if name.endswith("norm.weight"):
                parameter.fill_(1.0)
        cross = cast("DecoderLayer", model.decoder.layers[0]).cross_attention
        for projection in (cross.w_q, cross.w_k):
            projection.weight[32:] = torch.eye(32)
    return Translator(
        "word for word", tokenizer, Engines.of([Member(model, default_heads(config))]), FRENCH
    )


def test_the_row_that_reads_is_found_where_it_aligns(taught: Translator) -> None:
    found = find_alignment_heads(word_for_word(taught), DEV)
    assert (found.heads, found.row) == (((0, 1),), "reads")
    assert found.agreement == 1.0


def test_progress_of_finding_is_told(taught: Translator) -> None:
    events: list[Event] = []
    find_alignment_heads(taught, DEV, on_event=events.append)
    last = events[-1]
    assert isinstance(last, Progress)
    assert last.stage == "find alignment heads"
    assert last.done == last.total


def test_kept_heads_are_read_again(taught: Translator, taught_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(taught_folder, folder)
    assert load(folder).members[0].heads == default_heads(taught.members[0].model.config)
    heads = find_alignment_heads(load(folder), DEV)
    save_alignment_heads(folder, heads)
    assert load(folder).members[0].heads == heads
    assert not list(folder.glob("*.translucid-partial"))


def test_a_model_without_the_file_uses_the_second_to_last_layer(tmp_path: Path) -> None:
    deep = load(write_random_model(tmp_path / "deep", decoder_layers=4, heads=2))
    assert deep.members[0].heads.heads == ((2, 0), (2, 1))
    flat = load(write_random_model(tmp_path / "flat", decoder_layers=1, heads=2))
    assert flat.members[0].heads.heads == ((0, 0), (0, 1))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not valid JSON"),
        ('{"heads": [], "row": "reads"}', "heads"),
        ('{"heads": [[0, 1]], "row": "writes"}', "must be one of 'predicts' or 'reads'"),
        ('{"heads": [[0, -1]], "row": "reads"}', "greater than or equal to 0"),
        (
            '{"heads": [[0, 1], [2, 0]], "row": "reads"}',
            "layer 2, head 0 does not exist: the network has 2 decoder layers of 4 heads, from 0",
        ),
        ('{"heads": [[1, 4]], "row": "reads"}', "layer 1, head 4 does not exist"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    folder = write_random_model(tmp_path / "m")
    (folder / "alignment.json").write_text(content)
    with pytest.raises(DataError, match=problem) as caught:
        load(folder)
    assert "Delete alignment.json, and find the heads again" in str(caught.value)


def test_heads_need_a_row(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="row is missing"):
        AlignmentHeads(heads=((0, 1),))  # type: ignore[call-arg]
    with pytest.raises(
        InputError, match="is not a model directory: alignment heads are kept inside"
    ):
        save_alignment_heads(tmp_path / "nowhere", AlignmentHeads(heads=((0, 1),), row="reads"))


def test_pairs_that_show_nothing_are_refused(taught: Translator) -> None:
    with pytest.raises(InputError, match="0 pairs, 0 of them not blank and not too long, do not"):
        find_alignment_heads(taught, [])
    with pytest.raises(InputError, match="2 pairs, 0 of them not blank"):
        find_alignment_heads(taught, [("", "cat"), ("chat " * 300, "cat")])


def test_an_ensemble_has_no_heads_of_its_own(taught: Translator) -> None:
    both = Translator("two", taught.tokenizer, Engines.of(taught.members * 2), taught.generation)
    with pytest.raises(InputError, match="two is an ensemble of 2 models: find the heads of each"):
        find_alignment_heads(both, DEV)
