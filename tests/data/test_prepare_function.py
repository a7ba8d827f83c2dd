"""`prepare`: one call with plain arguments does what the command does."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from prepare_support import FRENCH, files, pairs_of, sentences, write_pairs

from translucid.data.prepare import Inputs, PrepareConfig, prepare
from translucid.data.readers import built_in
from translucid.errors import ConfigError, DataError, InputError
from translucid.events import Event, Notice
from translucid.text import tokenizer as registry
from translucid.text.tokenizer import (
    UNKNOWN_TEXT,
    get_tokenizer_kind,
    load_tokenizer,
    register_tokenizer,
    tokenizer_kinds,
)
from translucid.text.word_and_character import PieceListTokenizer


class HalvesTokenizer(PieceListTokenizer):
    """Two characters per token."""

    kind = "halves"
    always = ()
    unknown = UNKNOWN_TEXT

    @staticmethod
    def split(text: str) -> list[str]:
        return [text[start : start + 2] for start in range(0, len(text), 2)]


def run(files: Any, output: Path, **settings: Any) -> Any:
    settings = {"tokenizer": "char", "workers": 1, **settings}
    return prepare(files, source="fr", target="en", output=output, **settings)


def test_plain_arguments_are_files_held_out_sets_and_settings(tmp_path: Path) -> None:
    pairs = sentences(400)
    train = write_pairs(tmp_path, "train", pairs[:300])
    dev = write_pairs(tmp_path, "dev", pairs[300:])
    done = run(train, tmp_path / "data", dev=dev, split=(0, 20), max_words=8, lowercase=True)
    assert not done.was_complete
    assert done.folder == tmp_path / "data"
    manifest = done.manifest
    assert {name: split.pairs for name, split in manifest.splits.items()}["dev"] == 100
    assert manifest.splits["test"].pairs == 20
    assert manifest.lowercase
    assert manifest.settings["cleaning"]["max_words"] == 8  # type: ignore[index]
    assert all(len(source.split()) <= 8 for source, _ in pairs_of(done, "train"))
    again = run(train, tmp_path / "data", dev=dev, split=(0, 20), max_words=8, lowercase=True)
    assert again.was_complete
    assert again.report == done.report


def test_one_file_needs_no_list_and_weights_are_part_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "memory.tsv"
    path.write_text("".join(f"{fr}\t{en}\n" for fr, en in sentences(60)), encoding="utf-8")
    assert run(path, tmp_path / "one").manifest.corpora[0].weight == 1
    assert run(f"{path}@2", tmp_path / "two").manifest.corpora[0].weight == 2


def test_the_lesson_has_its_own_held_out_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {split: built_in.lesson_pairs(split)[::100] for split in built_in.SPLITS}
    monkeypatch.setattr(built_in, "lesson_pairs", made.__getitem__)
    data = run("lesson", tmp_path / "data")
    assert data.manifest.splits["dev"].pairs == len(made["dev"])
    assert data.manifest.splits["test"].pairs == len(made["test"])
    split = run("lesson", tmp_path / "split", split=(5, 0))
    assert split.manifest.splits["dev"].pairs == 5
    assert split.manifest.splits["test"].pairs == len(made["test"])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"vocab": 99}, ConfigError, "unknown key 'vocab'"),
        ({"tokenizer": "bpee"}, ConfigError, "'bpe', 'unigram', 'word' or 'char'"),
        ({"max_words": -1}, ConfigError, "max_words = -1"),
        ({"workers": 0}, InputError, "--workers 0: must be at least 1"),
        ({"tokenizer_from": "x"}, InputError, "takes over a tokenizer as it is"),
    ],
)
def test_wrong_settings_leave_no_trace(
    tmp_path: Path, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    train = write_pairs(tmp_path, "train", sentences(9))
    with pytest.raises(error, match=message):
        run(train, tmp_path / "data", **settings)
    assert not (tmp_path / "data").exists()


@pytest.fixture
def _halves(monkeypatch: pytest.MonkeyPatch) -> None:
    for built_in_kind in tokenizer_kinds():
        get_tokenizer_kind(built_in_kind)
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    register_tokenizer("halves", load=HalvesTokenizer, train=HalvesTokenizer.train)


@pytest.mark.usefixtures("_halves")
def test_a_registered_tokenizer_is_known_to_all_processes(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "train", sentences(90))
    one = run(train, tmp_path / "one", tokenizer="halves", chunk_pairs=30)
    assert one.manifest.tokenizer.kind == "halves"
    two = run(train, tmp_path / "two", tokenizer="halves", chunk_pairs=30, workers=2)
    assert files(one.folder) == files(two.folder)


def plain_model(path: Path, **options: Any) -> Path:
    """Train a model by SentencePiece alone, with its own ids and normalisation."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text for pair in sentences(300) for text in pair),
        model_writer=file,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"vocab_size": 150, "model_type": "unigram", **options},
    )
    path.write_bytes(file.getvalue())
    return path


def test_a_model_of_plain_sentencepiece_is_taken_over(tmp_path: Path) -> None:
    model = plain_model(tmp_path / "mine.model")
    train = write_pairs(tmp_path, "train", sentences(60))
    events: list[Event] = []
    done = run(
        train,
        tmp_path / "data",
        tokenizer=None,
        tokenizer_from=model,
        on_event=events.append,
    )
    told = [event.message for event in events if isinstance(event, Notice)]
    assert any("mine.model was trained by another program" in text for text in told)
    tokenizer = load_tokenizer(done.tokenizer_path)
    assert tokenizer.kind == done.manifest.tokenizer.kind == "unigram"
    assert tokenizer.has_placeholders
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(model))
    pieces = [tokenizer.piece(token) for token in tokenizer.encode(FRENCH)]
    assert pieces == theirs.encode(FRENCH, out_type=str)
    split = done.split("train")
    assert tokenizer.decode(split.tokens("fr", 0).tolist()) == split.text("fr", 0)
    again = run(train, tmp_path / "again", tokenizer=None, tokenizer_from=done.folder)
    assert again.manifest.tokenizer == done.manifest.tokenizer


def test_a_model_that_cannot_be_represented_is_refused(tmp_path: Path) -> None:
    model = plain_model(tmp_path / "mine.model", user_defined_symbols=["<sep>"])
    train = write_pairs(tmp_path, "train", sentences(60))
    with pytest.raises(DataError, match=r"mine\.model: .*user-defined pieces"):
        run(train, tmp_path / "data", tokenizer=None, tokenizer_from=model)
    assert not (tmp_path / "data").exists()


def test_every_setting_can_be_given(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "train", sentences(9))
    config = PrepareConfig(tokenizer="char")
    flat = {**config.model_dump(), **config.cleaning.model_dump()}
    for name in ("cleaning", "split_dev", "split_test"):
        del flat[name]
    assert run(train, tmp_path / "data", **flat).manifest.splits["train"].pairs == 9
    assert Inputs.__dataclass_fields__.keys() == {"train", "dev", "test", "tokenizer_from"}
