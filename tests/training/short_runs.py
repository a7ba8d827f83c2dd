"""Short training runs for tests: real data of a toy language, a real tokenizer, a small network."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from shard_folders import BOTH_WAYS, manifest_of
from translucid.checkpoint.run_directory import RunDirectory
from translucid.config import ModelConfig
from translucid.data.shards import (
    TOKENIZER,
    PreparedData,
    Record,
    open_data,
    write_manifest,
    write_part,
)
from translucid.events import TrainingEvent
from translucid.model import Transformer
from translucid.text.tokenizer import Tokenizer, load_tokenizer, train_tokenizer
from translucid.training.config import TrainingConfig
from translucid.training.distributed import Distribution
from translucid.training.learner import initial_model
from translucid.training.trainer import Trainer
from translucid.training.validation import Validator

WORDS = {
    "chat": "cat", "chien": "dog", "souris": "mouse", "maison": "house", "rue": "street",
    "jardin": "garden", "étudiant": "student", "livre": "book", "pain": "bread",
}  # fmt: skip


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of two to six words, each translated by itself."""
    draw = random.Random(seed)
    chosen = [draw.choices(list(WORDS), k=draw.randint(2, 6)) for _ in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in chosen]


def records(pairs: Iterable[tuple[str, str]], tokenizer: Tokenizer) -> list[Record]:
    return [
        Record(source, target, tokenizer.encode(source), tokenizer.encode(target), 0, line)
        for line, (source, target) in enumerate(pairs, start=1)
    ]


def toy_data(
    folder: Path, count: int = 300, more_dev: Iterable[tuple[str, str]] = ()
) -> PreparedData:
    """A data folder with both directions, tags, a train and a dev split."""
    folder.mkdir(parents=True, exist_ok=True)
    train, dev = sentences(count, seed=1), [*sentences(12, seed=2), *more_dev]
    path = folder / TOKENIZER
    texts = [text for pair in train for text in pair]
    tokenizer = train_tokenizer(texts, kind="bpe", vocab_size=340, path=path)
    options: dict[str, Any] = {
        "directions": BOTH_WAYS,
        "tagged": True,
        "vocab_size": tokenizer.vocab_size,
        "tokenizer": path.read_bytes(),
    }
    layout = manifest_of({}, **options).layout
    splits: dict[str, object] = {
        name: write_part(folder / name, records(pairs, tokenizer), layout)
        for name, pairs in (("train", train), ("dev", dev))
    }
    write_manifest(folder, manifest_of(splits, **options))
    return open_data(folder)


def toy_config(data: PreparedData, **changes: Any) -> ModelConfig:
    vocabulary = data.manifest.tokenizer.vocab_size
    settings: dict[str, Any] = {
        "source_vocab_size": vocabulary,
        "target_vocab_size": vocabulary,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_model": 16,
        "d_ff": 32,
        "heads": 2,
        "norm": "pre",
    }
    return ModelConfig(**{**settings, **changes})


def toy_settings(**changes: Any) -> TrainingConfig:
    """Settings that switch on everything that a resumed run could get wrong."""
    settings: dict[str, Any] = {
        "max_steps": 12,
        "batch_tokens": 256,
        "micro_batch_tokens": 64,
        "schedule": "inverse-sqrt",
        "learning_rate": 0.01,
        "warmup_steps": 5,
        "subword_sampling": 0.2,
        "source_noise": 0.3,
        "ema_decay": 0.9,
        "validate_every": 4,
        "validation_sample": 2,
        "checkpoint_every": 3,
        "keep_checkpoints": 2,
        "metric": "loss",
    }
    return TrainingConfig(**{**settings, **changes})


def make_trainer(
    data: PreparedData,
    settings: TrainingConfig,
    run: Path,
    *,
    resume: bool = False,
    model: Transformer | None = None,
    distribution: Distribution | None = None,
) -> Trainer:
    validator = Validator(
        data=data,
        tokenizer=load_tokenizer(data.tokenizer_path),
        sample_size=settings.validation_sample,
        max_tokens=settings.micro_batch_tokens,
    )
    return Trainer(
        model or initial_model(toy_config(data), settings.seed),
        data,
        settings,
        RunDirectory(run),
        validate=validator,
        distribution=distribution or Distribution(),
        device=torch.device("cpu"),
        resume=resume,
    )


def train(
    data: PreparedData, settings: TrainingConfig, run: Path, **options: Any
) -> list[TrainingEvent]:
    """Train to the end and return all events."""
    return list(make_trainer(data, settings, run, **options).events())
