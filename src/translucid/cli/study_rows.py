"""The rows of a study, trained one after another under one progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from translucid.cli.progress import shown, stderr_console
from translucid.cli.training_session import Session
from translucid.data.shards import PreparedData
from translucid.events import Emit, Notice, Progress, Trained, TrainingEvent
from translucid.training.recipe import Recipe
from translucid.training.run_folder import RunFolder, fingerprint_of, read_record
from translucid.training.study import Row
from translucid.training.study_results import RowResult, result_of


@dataclass(frozen=True)
class Trial:
    """A row with one seed: its settings, and the folder of its run."""

    row: Row
    recipe: Recipe
    run: Path

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return self.recipe.training.max_steps


def trained(trials: Sequence[Trial], data: PreparedData) -> Iterator[RowResult | None]:
    """Train every row that is not trained yet; yield the results, None where a signal came."""
    lacking = [not finished(trial, data) for trial in trials]
    total = sum(trial.steps for trial, lacks in zip(trials, lacking, strict=True) if lacks)
    done = 0  # of the rows that were not trained before: others would pass for great speed
    with shown(stderr_console()) as emit:
        for number, (trial, lacks) in enumerate(zip(trials, lacking, strict=True), start=1):
            emit(Notice(f"row {number} of {len(trials)}: {trial.row.name}, {trial.run.name}"))
            watch = _Watch(emit, done, total)
            session = Session(
                recipe=trial.recipe,
                data=data,
                run=trial.run,
                resume=True,
                going_on=True,
                fit_memory=False,
                tensorboard=False,
                watch=watch.tell,
            )
            if lacks:
                if session.train().cause == "interrupted":
                    yield None
                    return
                done += trial.steps
                emit(Progress("study", done, total, "steps"))
            result = result_of(trial.run, trial.row.name, trial.row.group)
            emit(Notice(f"  perplexity {result.perplexity:.2f} · BLEU {result.bleu:.1f}"))
            yield result


def finished(trial: Trial, data: PreparedData) -> bool:
    """Tell whether a row was trained to its end with these very settings, on this data.

    A run with others is not: training goes on with it, or refuses and says why.
    """
    run = RunFolder(trial.run)
    if not run.model.is_dir() or trial.steps not in run.checkpoints.steps():
        return False
    record = read_record(trial.run)
    same_data = record.fingerprint == fingerprint_of(data)
    return same_data and (record.model, record.training) == trial.recipe


@dataclass(frozen=True)
class _Watch:
    """Turns the events of one run into progress of the whole study."""

    emit: Emit
    before: int
    total: int

    def tell(self, event: TrainingEvent) -> None:
        """Take an event of the run under way."""
        if isinstance(event, Trained):
            self.emit(Progress("study", self.before + event.step, self.total, "steps"))
