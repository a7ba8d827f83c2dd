"""A Marian directory becomes a model directory that computes what transformers computes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import translucid
from marian_directories import load_theirs, their_ids, write_marian
from small_tokenizers import COMPOUNDS, SENTENCES
from translucid.checkpoint.model_directory import read_config, read_generation, read_weights
from translucid.decoding.config import SearchConfig
from translucid.engines.base import DecoderInput, Pair
from translucid.errors import InputError
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, FIRST_TAG, PAD, UNK
from translucid.translator import Translator

LINES = [*SENTENCES, *COMPOUNDS, *(text[: len(text) // 2] for text in SENTENCES)]
LONGEST = 25  # tokens of a translation


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_marian(tmp_path_factory.mktemp("theirs") / "opus-mt-fr-en")


@pytest.fixture(scope="module")
def imported(marian: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return translucid.import_model(marian, tmp_path_factory.mktemp("ours") / "model")


@pytest.fixture(scope="module")
def slow(imported: Path) -> Translator:
    return translucid.load(imported, engine="pytorch")


def largest_difference(folder: Path, translator: Translator) -> float:
    """Return how far apart the logits of teacher forcing are, and check that they say something."""
    theirs, _ = load_theirs(folder)
    ids = their_ids(folder, translator.tokenizer)
    places = {row: token for token, row in reversed(list(enumerate(ids)))}
    order = torch.tensor([places[row] for row in range(theirs.config.vocab_size)])
    (member,), found = translator.members, []
    for source, target in itertools.pairwise(LINES):
        read = (*translator.tokenizer.encode(source), EOS)
        written = (BOS, *translator.target_tokenizer.encode(target))
        with torch.inference_mode():
            ours = member.model(torch.tensor([read]), torch.tensor([written]))[0]
            other = theirs(
                input_ids=torch.tensor([[ids[token] for token in read]]),
                decoder_input_ids=torch.tensor([[ids[token] for token in written]]),
            ).logits[0]
        assert ours[:, order].std() > 0.5
        assert (ours[:, [BOS]] < -1000).all()
        found.append((ours[:, order] - other).abs().max().item())
    return max(found)


def greedy_theirs(folder: Path, translator: Translator, sources: Sequence[str]) -> list[list[int]]:
    """Return the tokens of transformers' greedy translations, under its ids."""
    theirs, tokenizer = load_theirs(folder)
    given = tokenizer(list(sources), return_tensors="pt", padding=True)
    padding, end = theirs.config.pad_token_id, theirs.config.eos_token_id
    found = theirs.generate(
        **given,
        num_beams=1,
        do_sample=False,
        max_length=LONGEST + 2,
        bad_words_ids=[[padding], [tokenizer.unk_token_id]],
        forced_eos_token_id=None,
    )
    rows = ([token for token in row if token != padding] for row in found[:, 1:].tolist())
    return [list(itertools.takewhile(lambda token: token != end, row))[:LONGEST] for row in rows]


def greedy_ours(translator: Translator, sources: Sequence[str]) -> list[list[int]]:
    settings = SearchConfig(method="greedy", max_length=LONGEST, loop_guard=False)
    inputs = [DecoderInput((*translator.tokenizer.encode(t), EOS), (), ()) for t in sources]
    found = translator.searcher(settings).search(inputs)
    return [list(hypotheses[0].tokens) for hypotheses in found]


@pytest.mark.parametrize(
    "settings",
    [
        {"activation_function": "swish"},
        {"activation_function": "relu", "max_position_embeddings": 200},
        {"activation_function": "gelu", "share_encoder_decoder_embeddings": False},
        {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
    ],
    ids=str,
)
def test_logits_and_greedy_translations_are_theirs(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    folder = write_marian(tmp_path / "theirs", seed=1, **settings)
    model = translucid.import_model(folder, tmp_path / "ours")
    slow = translucid.load(model, engine="pytorch")
    assert largest_difference(folder, slow) < 1e-4
    expected = greedy_theirs(folder, slow, LINES)
    assert len({tuple(row) for row in expected}) > len(LINES) / 5
    assert any(len(row) < LONGEST for row in expected)
    ids = their_ids(folder, slow.tokenizer)
    for translator in (slow, translucid.load(model, engine="ctranslate2")):
        ours = greedy_ours(translator, LINES)
        assert [[ids[token] for token in row] for row in ours] == expected


def test_both_engines_give_their_probabilities(marian: Path, slow: Translator) -> None:
    theirs, tokenizer = load_theirs(marian)
    ids = their_ids(marian, slow.tokenizer)
    fast = translucid.load(slow.folders[0], engine="ctranslate2")
    for source, target in itertools.pairwise(SENTENCES):
        given = tokenizer(source, text_target=target, return_tensors="pt")
        with torch.inference_mode():
            logits = theirs(**given).logits[0]
        expected = logits.log_softmax(-1).gather(1, given["labels"].T).flatten().tolist()
        read = (*slow.tokenizer.encode(source), EOS)
        written = tuple(slow.target_tokenizer.encode(target))
        assert [ids[token] for token in read] == given["input_ids"][0].tolist()
        for translator in (slow, fast):
            (scores,) = translator.engines.score([Pair(read, written)])
            assert scores == pytest.approx(expected, abs=1e-4)


def test_half_precision_stays_half(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "theirs", seed=2)
    theirs, _ = load_theirs(folder)
    theirs.half().save_pretrained(folder)
    model = translucid.import_model(folder, tmp_path / "ours")
    assert {tensor.dtype for tensor in read_weights(model).values()} == {torch.float16}
    assert largest_difference(folder, translucid.load(model, engine="pytorch")) < 1e-4


def test_ids_are_ours_and_padding_begins_a_translation(marian: Path, imported: Path) -> None:
    config, weights = read_config(imported), read_weights(imported)
    theirs, _ = load_theirs(marian)
    assert config.target_vocab_size == theirs.config.vocab_size + 1 + 16
    embedding = weights["source_embedding.weight"]
    assert not embedding[[PAD, BOS, *range(FIRST_TAG, FIRST_PIECE)]].any()
    assert embedding[[UNK, EOS]].any(dim=1).all()
    assert (weights["output_projection.bias"][FIRST_TAG:FIRST_PIECE] == -1e4).all()


def test_beam_and_length_penalty_are_theirs(imported: Path) -> None:
    generation = read_generation(imported)
    assert (generation.beam, generation.length_penalty) == (6, 1.0)
    assert (generation.length_form, generation.directions) == ("plain", (("fr", "en"),))


def test_an_imported_model_says_where_it_came_from(tmp_path: Path, marian: Path) -> None:
    (marian / "README.md").write_text("licence: CC BY 4.0")
    model = translucid.import_model(marian, tmp_path / "model", command="translucid import x")
    (marian / "README.md").unlink()
    assert (model / "original-card.md").read_text() == "licence: CC BY 4.0"
    assert "opus-mt-fr-en" in (model / "README.md").read_text()
    provenance = json.loads((model / "provenance.json").read_text())
    assert provenance["command"] == "translucid import x"
    assert len(provenance["imported"]["sha256"]["model.safetensors"]) == 64
    again = translucid.import_model(marian, model, source="deu", target="nl")  # replaced
    assert read_generation(again).directions == (("deu", "nl"),)
    assert not (model / "original-card.md").exists()


# ---- several languages ---------------------------------------------------------------------------

TAGS = (">>fra<<", ">>spa<<", ">>pt_BR<<", ">>pt<<", ">>xx<not-a-code<<")


def test_language_tags_begin_a_source(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "theirs", tags=TAGS)
    options = {"source_lang": "eng", "target_lang": "ROMANCE"}
    (folder / "tokenizer_config.json").write_text(json.dumps(options))
    model = translucid.import_model(folder, tmp_path / "ours")
    translator = translucid.load(model, engine="pytorch")
    generation = translator.generation
    assert set(generation.directions) == {("en", to) for to in ("fr", "es", "pt-BR", "pt")}
    assert sorted(generation.tags.values()) == list(range(FIRST_TAG, FIRST_TAG + 4))
    _, tokenizer = load_theirs(folder)
    ids = their_ids(folder, translator.tokenizer)
    for language, tag in (("fr", ">>fra<<"), ("pt-BR", ">>pt_BR<<")):
        expected = tokenizer(f"{tag} {SENTENCES[0]}")["input_ids"]
        read = (*translator.tag(language), *translator.tokenizer.encode(SENTENCES[0]), EOS)
        assert [ids[token] for token in read] == expected
    assert largest_difference(folder, translator) < 1e-4
    chosen = translucid.import_model(folder, tmp_path / "some", target=["pt", "fra"])
    assert read_generation(chosen).tags == {"pt": FIRST_TAG, "fra": FIRST_TAG + 1}
    with pytest.raises(InputError, match=r"no tag for de; it has .*pt-BR"):
        translucid.import_model(folder, tmp_path / "none", target="de")


def test_of_many_languages_sixteen_are_chosen(tmp_path: Path) -> None:
    tags = [f">>{first}{second}<<" for first in "abcd" for second in "abcde"]
    folder = write_marian(tmp_path / "theirs", tags=tags)
    with pytest.raises(InputError, match="into 20 languages, and a model directory can have 16"):
        translucid.import_model(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
    model = translucid.import_model(folder, tmp_path / "ours", target=["ab", "dc"])
    slow = translucid.load(model, engine="pytorch")
    assert largest_difference(folder, slow) < 1e-4  # tags that were not chosen are pieces


def test_languages_that_are_not_said_are_asked_for(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "theirs")
    (folder / "tokenizer_config.json").write_text('{"source_lang": "ROMANCE", "target_lang": "en"}')
    with pytest.raises(
        InputError, match=r"source_lang = 'ROMANCE', .* say which it is with --from"
    ):
        translucid.import_model(folder, tmp_path / "ours")
    model = translucid.import_model(folder, tmp_path / "ours", source=["fr", "es"])
    assert read_generation(model).directions == (("fr", "en"), ("es", "en"))
    with pytest.raises(InputError, match="no tags of languages"):
        translucid.import_model(folder, tmp_path / "ours", source="fr", target=["en", "de"])
    with pytest.raises(InputError, match="give codes of two languages"):
        translucid.import_model(folder, tmp_path / "ours", source="fr", target="fr")
