"""A plain PyTorch loop over a peer: trains by the minute, validates itself, can be stopped."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import torch
from courses import Course, Point
from peers import Peer, logits
from torch import Tensor
from torch.nn import functional as F

from translucid.atomic import new_file
from translucid.config import ModelConfig
from translucid.data.batching import START, Batches
from translucid.data.collate import Batch
from translucid.data.examples import examples_of
from translucid.data.loader import LoadedStep, Loader
from translucid.data.sampling import Sampling
from translucid.data.shards import PreparedData
from translucid.events import Sample
from translucid.text.tokenizer import BOS, EOS, PAD, Tokenizer, load_tokenizer
from translucid.training.optimizer import WeightAverage
from translucid.training.recipe import Recipe
from translucid.training.schedule import learning_rate
from translucid.training.settings import TrainingConfig
from translucid.training.validation import score

VALIDATED_EVERY = 2.5  # minutes of training
ROWS = 64  # dev sentences that are translated together


class PeerRun:
    """A peer, its optimiser and its place in the data; it goes on from where it was saved."""

    def __init__(
        self,
        name: str,
        make: Callable[[ModelConfig], Peer],
        data: PreparedData,
        recipe: Recipe,
        file: Path,
    ) -> None:
        self.file, self.data = file, data
        self.tokenizer = load_tokenizer(data.tokenizer_path)
        self.settings, self.d_model = recipe.training, recipe.model.d_model
        torch.manual_seed(self.settings.seed)
        self.peer = make(recipe.model)
        self.parameters = dict(self.peer.module.named_parameters())
        self.optimizer = torch.optim.Adam(
            self.parameters.values(),
            lr=0.0,
            betas=(self.settings.beta1, self.settings.beta2),
            eps=self.settings.epsilon,
        )
        decay = self.settings.ema_decay
        self.average = WeightAverage(self.parameters, decay) if decay else None
        self.step, self.seconds, self.tokens, self.cursor = 0, 0.0, 0, START
        self.courses = [Course(name), Course(f"{name}, averaged")][: 2 if decay else 1]
        if self.file.exists():
            self._restore()

    @property
    def minutes(self) -> float:
        return self.seconds / 60

    def loader(self) -> Loader:
        settings, examples = self.settings, examples_of(self.data, "train")
        batches = Batches(examples, settings.micro_batch_tokens, settings.seed)
        strength, typed = settings.subword_sampling, settings.typed_source
        sampling = None
        if strength or typed:
            sampling = Sampling(self.tokenizer, strength, typed, batches.max_tokens)
        return Loader(batches, sampling, ahead=4, pin=False)

    def train(self, until: float) -> None:
        """Train until a minute, validate now and then and at the end, and save."""
        due = self.minutes + VALIDATED_EVERY
        per_step, taken = self.settings.micro_batches, self.step
        self.peer.module.train()
        with self.loader().steps(self.cursor, per_step=per_step, rank=0, world=1) as steps:
            while self.minutes < until and self.step < self.settings.max_steps:
                began = time.perf_counter()
                self._take_step(next(steps))
                self.seconds += time.perf_counter() - began
                if self.minutes >= due:
                    self.validate()
                    due += VALIDATED_EVERY
        if self.step > taken:
            self.validate()
            self._save()

    def _take_step(self, loaded: LoadedStep) -> None:
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.settings, self.d_model)
        parameters = list(self.parameters.values())
        self.tokens += plain_step(
            self.peer, parameters, self.optimizer, self.settings, loaded.batches
        )
        if self.average is not None:
            self.average.update(self.step)
        self.cursor = loaded.after

    def validate(self) -> None:
        for course in self.courses:
            averaged = course is not self.courses[0]
            with self.average.in_use() if averaged and self.average else nullcontext():
                bleu, course.signature = dev_bleu(self.peer, self.data, self.tokenizer)
            course.minutes = self.minutes
            course.points.append(Point(self.minutes, self.step, self.tokens, bleu))
            print(f"{course.name}, {self.minutes:.1f} minutes, step {self.step:,}: BLEU {bleu:.2f}")

    def _save(self) -> None:
        state = {
            "model": self.peer.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.tensors if self.average else None,
            "place": (self.step, self.seconds, self.tokens, self.cursor),
            "courses": self.courses,
            "random": torch.get_rng_state(),
        }
        with new_file(self.file) as file:
            torch.save(state, file)

    def _restore(self) -> None:
        state = torch.load(self.file, weights_only=False)  # our own file
        self.peer.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name, tensor in (self.average.tensors if self.average else {}).items():
            tensor.copy_(state["average"][name])
        self.step, self.seconds, self.tokens, self.cursor = state["place"]
        self.courses = state["courses"]
        torch.set_rng_state(state["random"])


def plain_step(
    peer: Peer,
    parameters: Sequence[Tensor],
    optimizer: torch.optim.Optimizer,
    settings: TrainingConfig,
    batches: Sequence[Batch],
) -> int:
    """Take one step; return its target tokens."""
    optimizer.zero_grad()
    total = sum(batch.tokens for batch in batches)
    for batch in batches:
        loss = F.cross_entropy(
            logits(peer, batch.source_BS, batch.target_BT).flatten(0, 1),
            batch.labels_BT.flatten(),
            ignore_index=PAD,
            label_smoothing=settings.label_smoothing,
            reduction="sum",
        )
        (loss / total).backward()
    if settings.clip_norm:
        torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
    optimizer.step()
    return total


@torch.no_grad()
def dev_bleu(peer: Peer, data: PreparedData, tokenizer: Tokenizer) -> tuple[float, str]:
    """Return the score of greedy translations of the dev set, and its signature."""
    source, target = data.manifest.directions[0]
    split = data.split("dev")
    texts = [split.text(source, pair) for pair in range(len(split))]
    rows = [[*ids, EOS] for ids in tokenizer.encode_batch(texts)]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    found = [""] * len(rows)
    peer.module.eval()
    for chosen in (order[at : at + ROWS] for at in range(0, len(order), ROWS)):
        for place, tokens in zip(chosen, greedy(peer, [rows[i] for i in chosen]), strict=True):
            found[place] = tokenizer.decode(tokens)
    peer.module.train()
    samples = [
        Sample(text, split.text(target, pair), found[pair]) for pair, text in enumerate(texts)
    ]
    scores = score(samples, target)
    return scores.bleu, scores.signatures[0]


def greedy(peer: Peer, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Translate rows of tokens; each step computes the whole prefix anew, off the clock."""
    width = max(map(len, rows))
    source_BS = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
    memory_BSD = peer.encode(source_BS)
    target_BT = torch.full((len(rows), 1), BOS)
    going_N = torch.arange(len(rows))
    for _ in range(width + 10):
        scores_NTV = peer.decode(target_BT[going_N], memory_BSD[going_N], source_BS[going_N])
        next_B = torch.full((len(rows),), EOS)
        next_B[going_N] = scores_NTV[:, -1].argmax(-1)
        target_BT = torch.cat([target_BT, next_B[:, None]], dim=1)
        going_N = going_N[next_B[going_N] != EOS]
        if not len(going_N):
            break
    return [list(itertools.takewhile(lambda t: t != EOS, row[1:])) for row in target_BT.tolist()]
