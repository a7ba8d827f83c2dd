"""A plain PyTorch loop over a peer: trains by the minute, validates itself, can be stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import torch
from courses import Course, Point
from peers import Peer, logits
from torch import Tensor
from torch.nn import functional as F

from translucid.config import ModelConfig
from translucid.data.augmentation import Sampling
from translucid.data.batches import START, Batches, load_examples
from translucid.data.loader import Batch, LoadedStep, Loader
from translucid.data.shards import PreparedData
from translucid.decoding.greedy import greedy_search
from translucid.decoding.request import SearchRequest
from translucid.events import Sample
from translucid.files import new_file
from translucid.text.tokenizer import BOS, EOS, PAD, load_tokenizer
from translucid.training.config import TrainingConfig
from translucid.training.optimizer import WeightAverage, build_optimizer, set_learning_rate
from translucid.training.recipe import Recipe
from translucid.training.schedule import learning_rate
from translucid.training.validation import PLAIN_GREEDY, score

VALIDATED_EVERY = 2.5  # minutes of training
ROWS = 64  # dev sentences that are translated together
ROOM = 15  # tokens beyond the source's: a peer that cannot end a sentence yet would take minutes


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
        self.settings, self.config = recipe.training, recipe.model
        torch.manual_seed(self.settings.seed)
        self.peer = make(recipe.model)
        self.parameters = dict(self.peer.module.named_parameters())
        self.optimizer = build_optimizer(self.parameters, self.settings)
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
        settings, examples = self.settings, load_examples(self.data, "train")
        batches = Batches(examples, settings.micro_batch_tokens, settings.seed)
        strength, typed = settings.subword_sampling, settings.source_noise
        sampling = None
        if strength or typed:
            writer = self.tokenizer.within(self.data.manifest.tokenizer.sizes[1])
            sampling = Sampling(self.tokenizer, writer, strength, batches.max_tokens, typed=typed)
        return Loader(batches, sampling, ahead=4, pin=False)

    def train(self, until: float) -> None:
        """Train until a minute, validate now and then and at the end; save what is validated."""
        validated = self.step
        due = self.minutes + VALIDATED_EVERY
        per_step = self.settings.micro_batches
        self.peer.module.train()
        with self.loader().steps(self.cursor, per_step=per_step, rank=0, world_size=1) as steps:
            while self.minutes < until and self.step < self.settings.max_steps:
                began = time.perf_counter()
                self._take_step(next(steps))
                self.seconds += time.perf_counter() - began
                if self.minutes >= due:
                    self.validate()
                    validated, due = self.step, due + VALIDATED_EVERY
        if self.step > validated:
            self.validate()

    def _take_step(self, loaded: LoadedStep) -> None:
        self.step += 1
        set_learning_rate(
            self.optimizer, learning_rate(self.step, self.settings, self.config.d_model)
        )
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
                bleu, course.signature = self._dev_bleu()
            course.minutes = self.minutes
            course.points.append(Point(self.minutes, self.step, self.tokens, bleu))
            told = f"{course.name}, {self.minutes:.1f} minutes, step {self.step:,}: BLEU {bleu:.2f}"
            print(told, flush=True)
        self._save()

    @torch.no_grad()
    def _dev_bleu(self) -> tuple[float, str]:
        """Return the score of greedy translations of the dev set, and its signature."""
        source, target = self.data.manifest.directions[0]
        split = self.data.split("dev")
        texts = [split.text(source, pair) for pair in range(len(split))]
        rows = [[*ids, EOS] for ids in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found = [""] * len(rows)
        self.peer.module.eval()
        for chosen in (order[at : at + ROWS] for at in range(0, len(order), ROWS)):
            translated = self._translated([rows[place] for place in chosen])
            for place, tokens in zip(chosen, translated, strict=True):
                found[place] = self.tokenizer.decode(tokens)
        self.peer.module.train()
        samples = [
            Sample(text, split.text(target, pair), found[pair]) for pair, text in enumerate(texts)
        ]
        scores = score(samples, target)
        return scores.bleu, scores.signatures[0]

    def _translated(self, rows: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        width = max(map(len, rows))
        source_BS = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
        limits_B = (source_BS != PAD).sum(dim=1) + ROOM
        request = SearchRequest.plain(limits_B, begin=BOS, end=EOS)
        found = greedy_search(PeerSteps(self.peer, source_BS), request, PLAIN_GREEDY, recorder=None)
        return [hypothesis.tokens for hypothesis in found]

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


class PeerSteps:
    """A peer as our own searches know a network; each step computes the whole prefix anew."""

    def __init__(self, peer: Peer, source_BS: Tensor) -> None:
        self.peer, self.source_NS = peer, source_BS
        self.memory_NSD = peer.encode(source_BS)
        self.target_NT = torch.empty(len(source_BS), 0, dtype=torch.long)

    def step(self, last_ids_N: Tensor) -> Tensor:
        self.target_NT = torch.cat([self.target_NT, last_ids_N[:, None]], dim=1)
        scores_NTV = self.peer.decode(self.target_NT, self.memory_NSD, self.source_NS)
        return scores_NTV[:, -1].log_softmax(-1)

    def reorder(self, rows_N: Tensor) -> None:
        self.source_NS, self.memory_NSD = self.source_NS[rows_N], self.memory_NSD[rows_N]
        self.target_NT = self.target_NT[rows_N]
