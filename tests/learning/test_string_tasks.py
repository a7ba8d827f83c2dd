"""The network learns: copy, reverse and sort short strings, to the last held-out one."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from translucid.config import ModelConfig
from translucid.model import Transformer

PADDING, START, END, LETTERS = 0, 1, 2, 8
LENGTHS = range(1, 8)
TASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "copy": lambda letters: letters,
    "reverse": lambda letters: letters.flip(0),
    "sort": lambda letters: letters.sort().values,
}


def string(generator: torch.Generator) -> Tensor:
    length = int(torch.randint(LENGTHS.start, LENGTHS.stop, (), generator=generator))
    return torch.randint(3, 3 + LETTERS, (length,), generator=generator)


def held_out(letters: Tensor) -> bool:
    """A fifth of all strings, by their content, is never trained on."""
    return int((letters * torch.arange(7, 7 + len(letters)) ** 2).sum()) % 5 == 0


@functools.cache
def strings(count: int, held: bool, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    found: list[Tensor] = []
    while len(found) < count:
        letters = string(generator)
        if held_out(letters) == held:
            found.append(letters)
    return found


def padded(rows: list[Tensor]) -> Tensor:
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)


def batch(rows: list[Tensor], task: str) -> tuple[Tensor, Tensor, Tensor]:
    """Source, target shifted right, and labels."""
    end, start = torch.tensor([END]), torch.tensor([START])
    answers = [TASKS[task](letters) for letters in rows]
    source = padded([torch.cat([letters, end]) for letters in rows])
    target = padded([torch.cat([start, answer]) for answer in answers])
    return source, target, padded([torch.cat([answer, end]) for answer in answers])


def train(task: str, steps: int) -> Transformer:
    torch.manual_seed(0)
    vocab = 3 + LETTERS
    config = ModelConfig(
        source_vocab_size=vocab, target_vocab_size=vocab, encoder_layers=2, decoder_layers=2,
        d_model=64, d_ff=128, heads=4, norm="pre", dropout=0.0,
    )  # fmt: skip
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3, betas=(0.9, 0.98))
    decay = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 50) * max(0.0, 1 - step / steps)
    )
    pool = batch(strings(20_000, held=False, seed=1), task)
    generator = torch.Generator().manual_seed(2)
    for _ in range(steps):
        picks = torch.randint(len(pool[0]), (64,), generator=generator)
        source, target, labels = (ids[picks] for ids in pool)
        logits = model(source, target)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=PADDING
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    return model.eval()


def greedy(model: Transformer, source: Tensor, steps: int) -> Tensor:
    session = model.start(source)
    last, output = torch.full((source.size(0),), START), []
    for _ in range(steps):
        last = session.step(last).argmax(-1)
        output.append(last)
    return torch.stack(output, dim=1)


@pytest.mark.parametrize("task", TASKS)
def test_learns_every_held_out_string(task: str) -> None:
    model = train(task, steps=700)
    source, _, labels = batch(strings(1000, held=True, seed=3), task)
    output = greedy(model, source, labels.size(1))
    exact = ((output == labels) | (labels == PADDING)).all(dim=1)
    assert exact.float().mean().item() == 1.0
