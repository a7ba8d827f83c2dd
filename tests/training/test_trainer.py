"""The loop as a whole: it learns, tells everything, leaves a model, and keeps its memory."""

from __future__ import annotations

import gc
import itertools
import math
from pathlib import Path

import pytest
import torch
from same_runs import metrics
from short_runs import make_trainer, toy_config, toy_settings, train

from translucid.checkpoint.model_directory import (
    load_model,
    read_model_files,
)
from translucid.data.shards import PreparedData
from translucid.events import Saved, Stopped, Trained, Validated
from translucid.training.learner import initial_model
from translucid.training.schedule import learning_rate

CALM = {"subword_sampling": 0.0, "source_noise": 0.0, "ema_decay": 0.0}


def test_the_loss_falls_and_the_translations_become_right(
    data: PreparedData, tmp_path: Path
) -> None:
    settings = toy_settings(
        **CALM,
        max_steps=200,
        batch_tokens=512,
        micro_batch_tokens=512,
        learning_rate=0.003,
        warmup_steps=30,
        label_smoothing=0.0,
        validate_every=100,
        checkpoint_every=999,
    )
    model = initial_model(toy_config(data, d_model=64, d_ff=64, heads=4, dropout=0.0), seed=1)
    events = train(data, settings, tmp_path / "RUN", model=model)
    trained = [event for event in events if isinstance(event, Trained)]
    validated = [event for event in events if isinstance(event, Validated)]
    assert trained[0].perplexity > 200  # a guess among 340 tokens
    assert trained[-1].perplexity < 2
    assert [event.best for event in validated] == [True, True]
    assert validated[-1].perplexity < 2
    assert validated[-1].chrf > 60 > validated[0].chrf


def test_events_and_metrics_tell_the_same(data: PreparedData, tmp_path: Path) -> None:
    run, settings = tmp_path / "RUN", toy_settings(max_steps=5, validate_every=2)
    events = train(data, settings, run)
    trained = [event for event in events if isinstance(event, Trained)]
    assert [event.step for event in trained] == [1, 2, 3, 4, 5]
    assert [e.step for e in events if isinstance(e, Validated)] == [2, 4, 5]
    rates = [learning_rate(step, settings, 16) for step in range(1, 6)]
    assert [event.learning_rate for event in trained] == rates
    assert all(event.tokens > 0 and event.seconds > 0 for event in trained)
    assert events[-2:] == [
        Saved(5, str(run / "model")),
        Stopped(5, "all 5 steps are done", "steps"),
    ]
    told = [(line["event"], line["step"]) for line in metrics(run)]
    expected = [
        (type(event).__name__.lower(), event.step)
        for event in events
        if isinstance(event, Trained | Validated)
    ]
    assert told == expected
    assert [line["loss"] for line in metrics(run) if line["event"] == "trained"] == [
        event.loss for event in trained
    ]


def test_lines_of_several_steps_are_means_over_tokens(data: PreparedData, tmp_path: Path) -> None:
    settings = toy_settings(max_steps=5, validate_every=99, checkpoint_every=99)
    single = [e for e in train(data, settings, tmp_path / "a") if isinstance(e, Trained)]
    settings = settings.replace(report_every=3)
    several = [e for e in train(data, settings, tmp_path / "b") if isinstance(e, Trained)]
    assert [event.step for event in several] == [3, 5]
    for event, steps in zip(several, (single[:3], single[3:]), strict=True):
        tokens = sum(step.tokens for step in steps)
        assert event.tokens == tokens
        assert event.loss == pytest.approx(sum(s.loss * s.tokens for s in steps) / tokens)
        plain = sum(math.log(step.perplexity) * step.tokens for step in steps) / tokens
        assert event.perplexity == pytest.approx(math.exp(plain))


def test_the_model_directory_is_the_network_as_it_was_used(
    data: PreparedData, tmp_path: Path
) -> None:
    """With an average, that is what is validated and kept; training goes on with the weights."""
    run, model = tmp_path / "RUN", initial_model(toy_config(data), seed=1)
    trainer = make_trainer(data, toy_settings(max_steps=4), run, model=model)
    list(trainer.events())
    kept = load_model(run / "model")
    assert not kept.training
    average = trainer._learner.average
    assert average is not None
    for name, parameter in kept.named_parameters():
        assert torch.equal(parameter, average.tensors[name])
    assert not torch.equal(next(kept.parameters()), next(model.parameters()))
    files = read_model_files(run / "model")
    assert files.config == model.config
    assert files.generation.directions == (("fr", "en"), ("en", "fr"))
    assert files.generation.tags == {"en": 4, "fr": 5}
    assert files.tokenizer == data.tokenizer_path.read_bytes()
    assert files.provenance["step"] == 4
    assert files.provenance["training"]["max_steps"] == 4
    assert set(files.texts) == {"README.md", "curve.svg"}


def test_without_a_dev_set_there_is_no_validation(data: PreparedData, tmp_path: Path) -> None:
    trainer = make_trainer(data, toy_settings(max_steps=4), tmp_path / "RUN")
    trainer.validate = None
    events = list(trainer.events())
    assert not [event for event in events if isinstance(event, Validated)]
    assert not (tmp_path / "RUN" / "best").exists()
    assert "no dev set" in (tmp_path / "RUN" / "model" / "README.md").read_text(encoding="utf-8")


def resident() -> int:
    """Bytes of memory that this process holds."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def test_memory_does_not_grow_over_500_steps(data: PreparedData, tmp_path: Path) -> None:
    """Neither in objects, of which a step makes thousands, nor in bytes, of which it needs 1 MB."""
    settings = toy_settings(
        **CALM, max_steps=600, batch_tokens=64, validate_every=999, checkpoint_every=999
    )
    steps = (
        event
        for event in make_trainer(data, settings, tmp_path / "RUN").events()
        if isinstance(event, Trained)
    )
    seen = []
    for event in itertools.islice(steps, 600):
        if event.step in {100, 600}:
            gc.collect()
            seen.append((len(gc.get_objects()), resident()))
    steps.close()
    (objects, memory), (more_objects, more_memory) = seen
    assert more_objects - objects < 250
    assert more_memory - memory < 16 << 20
