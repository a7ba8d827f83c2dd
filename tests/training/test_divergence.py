"""Guard rails: what cannot be trained on stops the run, and names the lines."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
import torch
from same_runs import metrics
from short_runs import make_trainer, toy_config, toy_data, toy_settings, train

from translucid.data.batches import load_examples, longest_example
from translucid.data.shards import PreparedData
from translucid.errors import InputError
from translucid.events import Skipped, Trained
from translucid.model import Transformer
from translucid.text.tokenizer import load_tokenizer
from translucid.training.learner import initial_model
from translucid.training.trainer import DivergedError

CALM = {"subword_sampling": 0.0, "source_noise": 0.0, "ema_decay": 0.0}


def test_a_loss_that_is_no_number_stops_with_the_lines(data: PreparedData, tmp_path: Path) -> None:
    """One token of the source vocabulary is broken: only its sentences may be accused."""
    model = initial_model(toy_config(data, tying="none"), seed=1)
    token = load_tokenizer(data.tokenizer_path).encode("livre")[-1]
    with torch.no_grad():
        model.source_embedding.weight[token] = math.nan
    run = tmp_path / "RUN"
    with pytest.raises(DivergedError) as caught:
        train(data, toy_settings(**CALM), run, model=model)
    (path,) = run.glob("bad-batch-*.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    tokenizer, split = load_tokenizer(data.tokenizer_path), data.split("train")
    for batch in content["micro_batches"]:
        assert batch["suspect"]
        assert batch["loss"] == "nan"
        assert any(token in tokenizer.encode(pair["source"]) for pair in batch["pairs"])
        for pair in batch["pairs"]:
            assert pair["place"] == f"corpus0.tsv, line {pair['line']}"
            texts = {split.text(lang, pair["line"] - 1) for lang in ("fr", "en")}
            assert {pair["source"], pair["target"]} == texts
    assert re.search(
        rf"step {content['step']}: the loss is nan per token; above 17\.\d+, training counts as "
        "diverged",
        str(caught.value),
    )
    assert f"The sentences of this step are in {path.name}" in str(caught.value)
    assert "There is no checkpoint yet." in str(caught.value)


def test_an_exploding_loss_stops_and_the_last_good_checkpoint_stays(
    data: PreparedData, tmp_path: Path
) -> None:
    run = tmp_path / "RUN"
    wild = toy_settings(**CALM, learning_rate=1000.0, warmup_steps=10_000, validate_every=999)
    with pytest.raises(DivergedError, match=r"The last checkpoint, of step \d+, is kept\."):
        train(data, wild.replace(checkpoint_every=1, max_steps=300), run)
    newest = max((run / "checkpoints").iterdir())
    lines = metrics(run)
    assert lines[-1]["step"] == int(newest.name.removeprefix("step-"))
    assert all(math.isfinite(line["loss"]) for line in lines)


class Fault:
    """Makes the gradient of one parameter infinite, in the steps given."""

    def __init__(self, model: Transformer, steps: set[int]) -> None:
        self.steps, self.step = steps, 1
        next(model.parameters()).register_hook(self)

    def __call__(self, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * math.inf if self.step in self.steps else gradient


def run_with_fault(
    data: PreparedData, run: Path, steps: set[int]
) -> tuple[list[object], list[torch.Tensor]]:
    """Train 6 steps; return the events and the first parameter as it was after each."""
    model = initial_model(toy_config(data), seed=1)
    fault, events, weights = Fault(model, steps), [], []
    for event in make_trainer(data, toy_settings(**CALM, max_steps=6), run, model=model).events():
        events.append(event)
        if isinstance(event, Trained | Skipped):
            fault.step = event.step + 1
            weights.append(next(model.parameters()).detach().clone())
    return events, weights


def test_one_gradient_that_is_not_finite_is_skipped_and_told(
    data: PreparedData, tmp_path: Path
) -> None:
    events, weights = run_with_fault(data, tmp_path / "RUN", {2, 4})
    skipped = [event for event in events if isinstance(event, Skipped)]
    assert [event.step for event in skipped] == [2, 4]
    assert re.fullmatch(r"the gradient is not finite \(norm (nan|inf)\)", skipped[0].reason)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[1], weights[2])
    kinds = [(line["event"], line["step"]) for line in metrics(tmp_path / "RUN")]
    assert kinds[:4] == [("trained", 1), ("skipped", 2), ("trained", 3), ("skipped", 4)]


def test_two_in_a_row_stop(data: PreparedData, tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    with pytest.raises(DivergedError, match="step 5: the gradient is not finite, twice in a row"):
        run_with_fault(data, run, {4, 5})
    content = json.loads((run / "bad-batch-step-000005.json").read_text(encoding="utf-8"))
    assert len(content["micro_batches"]) == 4
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-000003"]


def test_a_network_that_cannot_read_the_data_is_refused(data: PreparedData, tmp_path: Path) -> None:
    small = initial_model(toy_config(data, source_vocab_size=99, target_vocab_size=99), seed=1)
    with pytest.raises(InputError, match="source vocabulary has 99 tokens, and source text of"):
        make_trainer(data, toy_settings(), tmp_path / "RUN", model=small)
    short = initial_model(toy_config(data, positions="learned", max_positions=5), seed=1)
    with pytest.raises(InputError, match=r"has \d+ tokens, and the network 5 learned positions"):
        make_trainer(data, toy_settings(), tmp_path / "RUN", model=short)
    assert not (tmp_path / "RUN").exists()


def test_a_dev_sentence_too_long_for_learned_positions_is_found_before_the_first_step(
    tmp_path: Path,
) -> None:
    """Given dev sets are never cut: it would end the run at its first validation."""
    long = " ".join(["chat"] * 40), " ".join(["cat"] * 40)
    data = toy_data(tmp_path / "data", count=50, more_dev=[long])
    most = longest_example(load_examples(data, "dev"))
    network = initial_model(toy_config(data, positions="learned", max_positions=30), seed=1)
    with pytest.raises(InputError, match=f"raise max_positions to {most}"):
        make_trainer(data, toy_settings(), tmp_path / "RUN", model=network)


def test_sampled_sentences_fit_into_learned_positions(tmp_path: Path) -> None:
    """As many positions as the stored sentences need; other segmentations are longer."""
    data = toy_data(tmp_path / "data", count=50)
    needed = max(longest_example(load_examples(data, name)) for name in ("train", "dev"))
    network = initial_model(toy_config(data, positions="learned", max_positions=needed), seed=1)
    settings = toy_settings(subword_sampling=0.9, max_steps=6)
    trainer = make_trainer(data, settings, tmp_path / "RUN", model=network)
    assert [event.step for event in trainer.events() if isinstance(event, Trained)][-1] == 6


def test_micro_batches_too_small_leave_no_run_behind(data: PreparedData, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"micro-batches of 5 tokens .* Raise micro_batch_tokens"):
        make_trainer(data, toy_settings(batch_tokens=20, micro_batch_tokens=5), tmp_path / "RUN")
    assert not (tmp_path / "RUN").exists()
