"""The training runs that ``translucid serve --run RUN`` shows: checked, and their checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.serving.runs import Runs
    from translucid.translator import Translator


def runs_of(folders: Sequence[Path]) -> Runs:
    """Return the runs of some folders; refuse a folder that holds none."""
    from translucid.checkpoint.run_directory import RunDirectory
    from translucid.serving.runs import Runs

    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"--run {folder}: there is no such folder")
        RunDirectory(folder).read_record()
    return Runs(folders, RunCheckpoints())


class RunCheckpoints:
    """The networks of a run's checkpoints, with tokenizer, languages and heads of its model."""

    def steps(self, run: Path) -> list[int]:
        """Return the steps of which there is a checkpoint, oldest first."""
        from translucid.checkpoint.run_directory import RunDirectory

        return RunDirectory(run).checkpoints.steps()

    def reader(self, run: Path) -> Callable[[int], Translator]:
        """Return what loads the network of a step; a DataError where that is not sound."""
        from translucid.checkpoint.run_directory import RunDirectory
        from translucid.cli.explain_sources import load_checkpoint
        from translucid.translator import load

        if not RunDirectory(run).models:
            raise InputError(
                f"the run {run.resolve().name} has not saved a model yet, so its tokenizer is not "
                "there: wait for its first validation"
            )
        like = load(run)
        return lambda step: load_checkpoint(run, step, like)
