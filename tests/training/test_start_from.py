"""Training that starts from a model: what is taken over, what is refused, and exact resume."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from same_runs import assert_same
from short_runs import WORDS, records, sentences, toy_data
from test_train import SMALL
from typer.testing import CliRunner

import translucid
from shard_folders import BOTH_WAYS, manifest_of
from translucid.checkpoint.model_directory import (
    WEIGHTS,
    read_generation,
    read_provenance,
    read_weights,
)
from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.main import app
from translucid.data.batches import Batches, load_examples
from translucid.data.manifest import Manifest
from translucid.data.mixture import open_mixture
from translucid.data.shards import (
    TOKENIZER,
    PreparedData,
    open_data,
    write_manifest,
    write_part,
)
from translucid.errors import DataError, InputError
from translucid.events import Stopped, Trained, TrainingEvent, Validated
from translucid.text.tokenizer import load_tokenizer
from translucid.training.recipe import ADJUSTABLE

# With all that a resumed run could get wrong.
FINE: dict[str, Any] = {
    "max_steps": 6,
    "batch_tokens": 128,
    "micro_batch_tokens": 64,
    "subword_sampling": 0.2,
    "ema_decay": 0.9,
    "validate_every": 3,
    "checkpoint_every": 3,
    "validation_sample": 2,
}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return toy_data(tmp_path_factory.mktemp("first") / "data", count=120)


@pytest.fixture(scope="module")
def parent(first: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, the best model of which is the parent."""
    run = tmp_path_factory.mktemp("parent") / "run"
    translucid.train(first, output=run, **{**SMALL, "source_noise": 0.25, "dropout": 0.2})
    return run


def more_data(
    first: PreparedData, folder: Path, seed: int = 7, count: int = 80, **changes: Any
) -> PreparedData:
    """Other pairs with the tokenizer of the first folder; `changes` are those of the manifest."""
    folder.mkdir()
    shutil.copy(first.tokenizer_path, folder / TOKENIZER)
    tokenizer = load_tokenizer(folder / TOKENIZER)
    options: dict[str, Any] = {
        "directions": BOTH_WAYS,
        "tagged": True,
        "vocab_size": tokenizer.vocab_size,
        "tokenizer": first.tokenizer_path.read_bytes(),
    }
    layout = manifest_of({}, **options).layout
    splits: dict[str, object] = {
        name: write_part(folder / name, records(sentences(number, seed), tokenizer), layout)
        for name, number in (("train", count), ("dev", 12))
    }
    write_manifest(folder, replace(manifest_of(splits, **options), **changes))
    return open_data(folder)


@pytest.fixture(scope="module")
def own(first: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return more_data(first, tmp_path_factory.mktemp("own") / "data")


def test_no_step_gives_the_parent_bit_for_bit(
    own: PreparedData, parent: Path, tmp_path: Path
) -> None:
    events: list[TrainingEvent] = []
    run = translucid.train(
        own, output=tmp_path / "run", from_model=parent, on_event=events.append, max_steps=0
    )
    for model in ("best", "model"):
        assert (tmp_path / "run" / model / "model.safetensors").read_bytes() == (
            parent / "best" / "model.safetensors"
        ).read_bytes()
    assert [event.step for event in events if isinstance(event, Validated)] == [0]
    assert [event.cause for event in events if isinstance(event, Stopped)] == ["steps"]
    texts = ["chat chien", "souris"]
    before, after = (translucid.load(model) for model in (parent, run))
    assert [t.text for t in before.translate(texts, target="en")] == [
        t.text for t in after.translate(texts, target="en")
    ]


def test_no_step_gives_a_parent_of_16_bits_back_when_rounded(
    own: PreparedData, parent: Path, tmp_path: Path
) -> None:
    half = translucid.average(parent, output=tmp_path / "half", last=1, half=True)
    run = translucid.train(own, output=tmp_path / "run", from_model=half, max_steps=0)
    exact = {name: weight.float() for name, weight in read_weights(half).items()}
    kept = read_weights(run.model)
    assert all(torch.equal(kept[name], weight) for name, weight in exact.items())
    again = translucid.average(run, output=tmp_path / "again", last=1, half=True)
    assert (again / "model.safetensors").read_bytes() == (half / "model.safetensors").read_bytes()


def test_what_is_taken_over_and_said_of_the_parent(
    own: PreparedData, parent: Path, tmp_path: Path
) -> None:
    run = translucid.train(own, output=tmp_path / "run", from_model=parent, **FINE)
    record = run.directory.read_record()
    assert record.model == RunDirectory(parent).read_record().model
    assert record.model.dropout == 0.2
    assert record.training["source_noise"] == 0.25  # so that it can still read such text
    assert record.training["schedule"] == "linear"
    assert record.training["total_steps"] == 6
    assert record.training["learning_rate"] == pytest.approx(0.05 / 16, rel=0.1)
    digest = hashlib.sha256((parent / "best" / "model.safetensors").read_bytes()).hexdigest()
    assert record.parent is not None
    assert record.parent.sha256 == digest
    name = f"{parent.name}/best"
    assert read_provenance(run.model)["parent"] == {"name": name, "sha256": digest}
    card = (run.model / "README.md").read_text(encoding="utf-8")
    assert f"It started from `{name}` (SHA-256 of its weights: `{digest}`)." in card
    averaged = translucid.average(run, output=tmp_path / "mean", last=1)
    assert read_provenance(averaged)["parent"]["sha256"] == digest
    assert read_generation(averaged) == read_generation(parent / "best")
    assert read_weights(run.directory.model).keys() == read_weights(parent / "best").keys()
    moved = read_weights(run.directory.model)
    assert any(not torch.equal(moved[n], w) for n, w in read_weights(parent / "best").items())


def test_a_model_keeps_the_languages_that_new_data_lacks(
    first: PreparedData, parent: Path, tmp_path: Path
) -> None:
    one_way = more_data(first, tmp_path / "data", directions=(("en", "fr"),))
    run = translucid.train(one_way, output=tmp_path / "run", from_model=parent, **FINE)
    assert read_generation(run.model) == read_generation(parent / "best")
    translator = translucid.load(run)  # which can still tell its source languages apart
    assert translator.source_languages is not None
    kept, known = ((m / "languages.safetensors").read_bytes() for m in (run.model, parent / "best"))
    assert kept == known


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_resumed_run_needs_no_from_and_is_the_uninterrupted_one(
    own: PreparedData, first: PreparedData, parent: Path, tmp_path: Path, stop: int
) -> None:
    """Dropped as by a kill: before the first checkpoint, after it, and after another."""
    home = tmp_path / "parent"
    shutil.copytree(parent / "best", home)
    data = [own.folder, f"{first.folder}@0.4"]
    translucid.train(data, output=tmp_path / "whole", from_model=home, **FINE)

    def kill(event: TrainingEvent) -> None:
        if isinstance(event, Trained if stop else Validated) and event.step == stop:
            raise KeyboardInterrupt

    run = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        translucid.train(data, output=run, from_model=home, on_event=kill, **FINE)
    assert bool(RunDirectory(run).checkpoints.steps()) == bool(stop)
    if stop:
        (home / "model.safetensors").unlink()  # the checkpoint has all that is needed
    translucid.train(data, output=run, resume=True)
    assert_same(run, tmp_path / "whole")


def test_weights_that_were_exchanged_before_the_first_checkpoint_are_refused(
    own: PreparedData, parent: Path, tmp_path: Path
) -> None:
    home = tmp_path / "parent"
    shutil.copytree(parent / "best", home)
    translucid.train(own, output=tmp_path / "run", from_model=home, **FINE)
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    save_file({name: weight + 1 for name, weight in read_weights(home).items()}, home / WEIGHTS)
    with pytest.raises(DataError, match="not the weights of parent"):
        translucid.train(own, output=tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="started from parent, and is now to start from parent"):
        translucid.train(own, output=tmp_path / "run", resume=True, from_model=home)


def test_a_run_without_a_parent_is_not_resumed_from_one(
    first: PreparedData, parent: Path, tmp_path: Path
) -> None:
    shutil.copytree(parent, tmp_path / "run")
    with pytest.raises(InputError, match="started from random weights, and is now to start from"):
        translucid.train(first, output=tmp_path / "run", resume=True, from_model=parent)


# ------------------------------------------------------------------------------ refusals

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"languages": {"en": 1, "fr": 0}}, "'en' has tag 5 in .*, where the model has 4"),
    ({"tagged": False}, "the model has language tags, and the data has none"),
    ({"lowercase": True}, "lowercase is True, where the model has False"),
    ({"plain_typography": True}, "plain_typography is True, where the model has False"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_data_that_is_not_like_the_parents_is_refused_with_the_remedy(
    first: PreparedData, parent: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    wrong = more_data(first, tmp_path / "data", **changes)
    with pytest.raises(InputError, match=message) as caught:
        translucid.train(wrong, output=tmp_path / "run", from_model=parent)
    assert f"--tokenizer-from {(parent / 'best').resolve()}" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_another_vocabulary_is_refused(parent: Path, tmp_path: Path) -> None:
    other = toy_data(tmp_path / "data", count=30)
    with pytest.raises(InputError, match="has another vocabulary: bpe of") as caught:
        translucid.train(other, output=tmp_path / "run", from_model=parent)
    for data in (other, parent / "best" / TOKENIZER):
        path = data.tokenizer_path if isinstance(data, PreparedData) else data
        assert hashlib.sha256(path.read_bytes()).hexdigest()[:12] in str(caught.value)


def test_another_network_is_refused_and_the_same_is_not(
    own: PreparedData, parent: Path, tmp_path: Path
) -> None:
    for wrong in ({"d_model": 32}, {"preset": "small"}, {"norm": "pre", "positions": "rotary"}):
        with pytest.raises(InputError, match="the network is that of run/best") as caught:
            translucid.train(own, output=tmp_path / "run", from_model=parent, **wrong)
        assert all(name in str(caught.value) for name in ADJUSTABLE)
    same = {"d_model": 16, "dropout": 0.3, "attention": "eager"}
    run = translucid.train(own, output=tmp_path / "run", from_model=parent, **{**FINE, **same})
    assert run.directory.read_record().model.dropout == 0.3


# ------------------------------------------------------------------------ several data folders


def test_folders_are_mixed_by_weight_and_each_pair_keeps_its_text(
    first: PreparedData, own: PreparedData
) -> None:
    mixed = open_mixture([own, f"{first.folder}@0.5"])
    examples = load_examples(mixed, "train")
    assert examples.directions == (*BOTH_WAYS, *BOTH_WAYS)
    assert len(load_examples(mixed, "dev").portions) == 1
    batches = Batches(examples, max_tokens=200, seed=3)
    half: list[set[tuple[int, int]]] = []
    for number in (0, 1):
        epoch = batches.epoch(number)
        rows = [
            (pair, direction)
            for batch in map(epoch.batch, range(len(epoch)))
            for pair, direction in zip(batch.pairs.tolist(), batch.directions.tolist(), strict=True)
        ]
        assert len(set(rows)) == len(rows)
        whole = {row for row in rows if row[1] < 2}
        assert whole == set(itertools.product(range(80), (0, 1)))  # weight 1: each once
        half.append(set(rows) - whole)
        assert {p for p, d in half[-1] if d == 2} == {p for p, d in half[-1] if d == 3}
    assert half[0].isdisjoint(half[1])
    assert half[0] | half[1] == set(itertools.product(range(120), (2, 3)))
    text = examples.portion(3).split.text("fr", 5)
    assert text == sentences(120, seed=1)[5][0]


def test_a_weight_alone_repeats_the_pairs(own: PreparedData) -> None:
    epoch = Batches(load_examples(open_mixture(f"{own.folder}@2"), "train"), 200, seed=1).epoch(0)
    assert len(epoch.order) == 2 * 2 * 80


def other_tag(manifest: Manifest) -> dict[str, Any]:
    return {"languages": {**manifest.languages, "en": 5}}


def test_folders_that_do_not_fit_are_refused(
    first: PreparedData, own: PreparedData, tmp_path: Path
) -> None:
    other = toy_data(tmp_path / "other", count=30)
    tags = more_data(first, tmp_path / "tags", **other_tag(first.manifest))
    lower = more_data(first, tmp_path / "lower", lowercase=True)
    for wrong, message in (
        (other, "the tokenizers differ: bpe of"),
        (tags, "'en' has tag 0 in the first and 5 in the second"),
        (lower, "lowercase is False for the first and True for the second"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            translucid.train([own, wrong], output=tmp_path / "run")
        assert f"--tokenizer-from {own.folder}" in str(caught.value)
    with pytest.raises(InputError, match="is given twice"):
        open_mixture([own, f"{own.folder}@2"])
    with pytest.raises(InputError, match="at least one folder"):
        open_mixture([])
    with pytest.raises(InputError, match="is not a weight"):
        open_mixture(f"{own.folder}@x")


# ------------------------------------------------------------------------ by the command line


def test_the_built_in_model_is_fine_tuned_command_by_command(tmp_path: Path) -> None:
    """Prepared from English to French, the other way round than the model: tags stay."""
    words = [*WORDS.items()]
    pairs = [(f"Le {a} et le {b}.", f"The {x} and the {y}.") for a, x in words for b, y in words]
    for side, name in enumerate(("text.fr", "text.en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("text.en", "text.fr")]
    data, run = str(tmp_path / "data"), str(tmp_path / "run")

    def call(*command: str) -> str:
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    options = ("--from", "en", "--to", "fr", "--split", "6,4", "--workers", "1")
    call("prepare", *files, *options, "--tokenizer-from", "fr-en", "-o", data)
    manifest = open_data(data).manifest
    assert (manifest.tagged, manifest.languages) == (True, {"en": 1, "fr": 0})
    lengths = ("--set", "validation_sample=2", "--set", "warmup_steps=0")
    out = call("train", data, "-o", run, "--from", "fr-en", "--max-steps", "2", *lengths)
    assert "from fr-en: 10,932,224 parameters" in out
    assert "step 0, dev: loss" in out
    scores = tmp_path / "scores"
    call("evaluate", "-m", run, "--data", data, "--from", "en", "--to", "fr", "-o", str(scores))
    assert json.loads((scores / "settings.json").read_text())
    with pytest.raises(InputError, match="only dropout, attention_dropout"):
        call("train", data, "-o", run + "2", "--from", "fr-en", "--preset", "tiny")


def test_data_for_a_run_has_its_tags_its_normalisation_and_its_target_pieces(
    tmp_path: Path,
) -> None:
    syllables = ["".join(pair) for pair in itertools.product("bdgkmnpt", "aeiou")]
    words = ["".join(pair) for pair in itertools.product(syllables, syllables)][:300]
    pairs = [(f"{word} {word[::-1].title()} {word}", f"X {n:b}") for n, word in enumerate(words)]
    for side, name in enumerate(("text.fr", "text.en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [tmp_path / name for name in ("text.fr", "text.en")]
    french: dict[str, Any] = {"source": "fr", "target": "en", "split": (6, 0)}
    first = translucid.prepare(
        files, output=tmp_path / "first", **french, tags=True, lowercase=True,
        target_pieces_only=True,
    )  # fmt: skip
    assert first.manifest.tokenizer.sizes[0] > first.manifest.tokenizer.sizes[1]
    run = translucid.train(first, output=tmp_path / "run", **{**SMALL, "max_steps": 1})
    assert run.model.name == "best"
    parents: tuple[Path, ...] = (tmp_path / "run", tmp_path / "run" / "best")
    for number, parent in enumerate(parents):
        data = translucid.prepare(
            files, output=tmp_path / f"own{number}", **french, tokenizer_from=parent
        )
        assert data.manifest.languages["en"] == first.manifest.languages["en"]
        assert data.manifest.tokenizer == first.manifest.tokenizer
        assert (data.manifest.tagged, data.manifest.lowercase) == (True, True)
        done = translucid.train(data, output=tmp_path / f"run{number}", from_model=parent, **FINE)
        assert read_generation(done.model) == read_generation(run.model)
    tokenizer = run.model / TOKENIZER
    with pytest.raises(InputError, match="was prepared differently: "):
        translucid.prepare(files, output=tmp_path / "own0", **french, tokenizer_from=tokenizer)
    with pytest.raises(InputError, match="lowercase = false, but the text of"):
        translucid.prepare(
            files, output=tmp_path / "x", **french, tokenizer_from=run, lowercase=False
        )
    with pytest.raises(InputError, match="is neither a model directory"):
        translucid.prepare(files, output=tmp_path / "x", **french, tokenizer_from=tmp_path)
