"""``translucid demo``: the whole way from a corpus to a translator in a few minutes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from translucid.data.shards import PreparedData
    from translucid.training.train import TrainedRun
    from translucid.translator import Translator

VOCABULARY = 4000
PRESET = "tiny"
# The lesson is clean and seen less than twice, so dropout would only cost time. Small
# batches learn more from the same sentences, and a rate that falls to zero makes the most of the
# last steps.
MODEL: dict[str, Any] = {"dropout": 0.0}
TRAINING: dict[str, Any] = {
    "batch_tokens": 1024,
    "schedule": "linear",
    "learning_rate": 0.004,
    "warmup_steps": 300,
    "max_steps": 1800,
    "validate_every": 450,
    "validation_sample": 100,
    "checkpoint_every": 450,
    "keep_checkpoints": 1,
}
SENTENCES = (
    "je suis étudiant",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for all of it.")
    ] = Path("translucid-demo"),
) -> None:
    """Train on the built-in lesson, measure, and translate.

    The result is a French to English translator. Takes a few minutes on two cores. Stopped by
    Ctrl-C, the same command continues where it was.
    """
    from translucid.cli.display import stderr_console
    from translucid.translator import load

    console = stderr_console()
    began = time.monotonic()
    _say(console, "1. The lesson: sentences in French and English, written by rule")
    data = _prepare(console, output)
    _say(console, f"2. Training the preset {PRESET!r} on {_pairs(data, 'train')} pairs")
    run = _train(data, output / "run")
    if run.is_interrupted:
        raise typer.Exit(130)
    _say(console, f"3. Measuring it on {_pairs(data, 'test')} sentences that it has never seen")
    model = load(run.model)
    _evaluate(data, model)
    _say(console, "4. Translating")
    _translate(model)
    _say(console, "5. Looking inside")
    _draw(model, output)
    console.print(
        f"\n{_minutes(time.monotonic() - began)}. The model is in {run.model}; its README.md "
        f"tells how it was made.\nYours to try:  translucid translate -m {run.model} "
        '"Le chat dort."',
        soft_wrap=True,
        highlight=False,
    )


def _say(console: Console, heading: str) -> None:
    console.print(f"\n{heading}", style="bold")


def _pairs(data: PreparedData, split: str) -> str:
    return f"{data.manifest.splits[split].pairs:,}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _prepare(console: Console, output: Path) -> PreparedData:
    """Write the lesson, and make of it what training reads; shards that are there are kept."""
    from translucid.cli.display import show_progress
    from translucid.data.prepare import prepare
    from translucid.data.readers.built_in import write_lesson

    lesson = write_lesson(output / "lesson")
    french, english = lesson.test.read_text(encoding="utf-8").splitlines()[0].split("\t")
    console.print(f"{french}\n{english}")
    with show_progress(console) as emit:
        return prepare(
            lesson.train,
            dev=lesson.dev,
            test=lesson.test,
            source="fr",
            target="en",
            output=output / "data",
            vocab_size=VOCABULARY,
            placeholders=0.0,
            on_event=emit,
        )


def _train(data: PreparedData, run: Path) -> TrainedRun:
    """Train with live progress; a run that is there continues."""
    from translucid.cli.training_display import train_with_display

    return train_with_display(data, output=run, preset=PRESET, resume=True, **MODEL, **TRAINING)


def _evaluate(data: PreparedData, model: Translator) -> None:
    """Translate the test set, and print its scores on stdout."""
    from translucid.events import Sample
    from translucid.training.validation import score

    test = data.split("test")
    sources, references = ([test.text(lang, i) for i in range(len(test))] for lang in ("fr", "en"))
    translations = [translation.text for translation in model.translate(sources)]
    samples = [Sample(*row) for row in zip(sources, references, translations, strict=True)]
    found = score(samples, "en")
    exact = sum(sample.translation == sample.reference for sample in samples)
    typer.echo(f"BLEU {found.bleu:.1f}, chrF {found.chrf:.1f}, {exact:,} of {len(test):,} exact")
    typer.echo(f"{found.signatures[0]}")


def _translate(model: Translator) -> None:
    for translation in model.translate(SENTENCES):
        typer.echo(f"{translation.source}\n  → {translation.text}")


def _draw(model: Translator, output: Path) -> None:
    """Write pictures of how one of the sentences was translated, and print where they are."""
    from translucid.files import new_file
    from translucid.interpret.explain import explain
    from translucid.interpret.figures.matrix import alignment
    from translucid.interpret.page import saved_page

    trace = explain(model, SENTENCES[1])
    pictures = {
        "cross-attention.svg": alignment(trace).svg,
        "inside.html": saved_page(trace, translator=model).html,
    }
    for name, content in pictures.items():
        with new_file(output / name) as file:
            file.write(content.encode())
        typer.echo(output / name)
