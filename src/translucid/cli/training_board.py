"""TensorBoard as one more consumer of training's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from translucid.errors import optional
from translucid.events import Trained, TrainingEvent, Validated


@contextmanager
def board(folder: Path) -> Iterator[Callable[[TrainingEvent], None]]:
    """Give a consumer that writes training's figures for TensorBoard into a folder."""
    optional("tensorboard", extra="tensorboard", job="--tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:

        def show(event: TrainingEvent) -> None:
            for name, value in scalars(event).items():
                writer.add_scalar(name, value, event.step)  # type: ignore[union-attr]

        yield show


def scalars(event: TrainingEvent) -> dict[str, float]:
    """Return the figures of an event that TensorBoard draws, by name."""
    match event:
        case Trained():
            return {
                "train/loss": event.loss,
                "train/perplexity": event.perplexity,
                "train/learning_rate": event.learning_rate,
                "train/gradient_norm": event.gradient_norm,
                "train/tokens_per_second": event.tokens / max(event.seconds, 1e-9),
            }
        case Validated():
            names = ("loss", "perplexity", "bleu", "chrf")
            return {f"dev/{name}": float(getattr(event, name)) for name in names}
        case _:
            return {}
