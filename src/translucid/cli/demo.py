"""``translucid demo``: from a corpus to a translator that can be looked into, in two minutes."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from translucid.data.prepare import Prepared
    from translucid.evaluation.evaluate import Sentence
    from translucid.training.train import TrainedRun
    from translucid.translator import Translator

VOCABULARY = 4000
PRESET = "tiny"
# The lesson is clean and no sentence is seen twice, so dropout would only cost time. Small batches
# learn more from the same sentences, Muon more from the same batches, and a rate that falls to
# zero makes the most of the last steps.
MODEL: dict[str, Any] = {"dropout": 0.0, "positions": "rotary"}
TRAINING: dict[str, Any] = {
    "optimizer": "muon",
    "batch_tokens": 1024,
    "schedule": "linear",
    "learning_rate": 0.007,
    "warmup_steps": 60,
    "max_steps": 950,
    "validate_every": 475,
    "validation_sample": 50,
    "checkpoint_every": 475,
    "keep_checkpoints": 1,
}
_AMBIGUOUS = re.compile(r"\bbecause (it|they)\b")
_PRONOUN = re.compile(r"\bqu'(ils?|elles?)\b")
GREETINGS = ("Je suis étudiant.", "I am a student.")
SENTENCES = (
    "I am a student.",
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for all results.")
    ] = Path("translucid-demo"),
) -> None:
    """Translate with the built-in model, then train a new one, measure it and look inside.

    The new model translates English to French, where "it" must become "il" or "elle". It learns
    from the built-in lesson, in about two minutes on two cores. Stopped by Ctrl-C, the same
    command continues where it was.
    """
    import translucid
    from translucid.built_in import DEFAULT
    from translucid.cli.display import stderr_console

    console = stderr_console()
    began = time.monotonic()
    _say(console, "1. The built-in model translates")
    _translate(translucid.load(DEFAULT.name), GREETINGS)
    _say(console, "2. The lesson: sentences in English and French, written by a grammar")
    data = _prepare(console, output)
    _say(console, f"3. Training the preset {PRESET!r} on {_pairs(data, 'train')} pairs")
    run = _train(data, output / "run")
    if run.is_interrupted:
        raise typer.Exit(130)
    _say(console, f"4. Measuring it on {_pairs(data, 'test')} sentences it has never seen")
    model = translucid.load(run)
    scores = translucid.evaluate(model, data, resamples=0)
    exact = f"{scores.count_flags()['exact']:,} of {_pairs(data, 'test')} exact"
    typer.echo(f"BLEU {scores.bleu.score:.1f}, chrF {scores.chrf.score:.1f}, {exact}")
    typer.echo(scores.bleu.signature)
    right, pronouns = _count_pronouns(scores.sentences)
    typer.echo(f'"it" and "they" after "because": il or elle is right in {right} of {pronouns}')
    _say(console, "5. Translating: tired is the animal (il), wide is the street (elle)")
    _translate(model, SENTENCES)
    _say(console, "6. Looking inside")
    _draw(model, output)
    console.print(
        f"\n{_minutes(time.monotonic() - began)}. The model is in {run.model}; its README.md "
        f"says how it was made.\nTry it:  translucid translate -m {run.model} "
        '"The cat sleeps because it is tired."',
        soft_wrap=True,
        highlight=False,
    )


def _say(console: Console, heading: str) -> None:
    console.print(f"\n{heading}", style="bold")


def _pairs(data: Prepared, split: str) -> str:
    return f"{data.manifest.splits[split].pairs:,}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _translate(model: Translator, sentences: tuple[str, ...]) -> None:
    for translation in model.translate(list(sentences)):
        typer.echo(f"{translation.source}\n  → {translation.text}")


def _count_pronouns(sentences: Sequence[Sentence]) -> tuple[int, int]:
    """Return how many sentences in which "it" or "they" may be il or elle are right, and all."""
    pairs = [
        (_PRONOUN.findall(one.translation), _PRONOUN.findall(one.references[0]))
        for one in sentences
        if _AMBIGUOUS.search(one.source)
    ]
    return sum(found == expected for found, expected in pairs), len(pairs)


def _prepare(console: Console, output: Path) -> Prepared:
    """Write the lesson and prepare it for training; finished data is kept."""
    import translucid
    from translucid.cli.display import show_progress
    from translucid.data.readers.built_in import write_lesson
    from translucid.machine import Machine

    lesson = write_lesson(output / "lesson")
    french, english = lesson.test.read_text(encoding="utf-8").splitlines()[1].split("\t")
    console.print(f"{english}\n{french}")
    with show_progress(console) as emit:
        return translucid.prepare(
            lesson.train,
            dev=lesson.dev,
            test=lesson.test,
            source="en",
            target="fr",
            output=output / "data",
            vocab_size=VOCABULARY,
            placeholders=0.0,
            workers=Machine().cores(),
            on_event=emit,
        )


def _train(data: Prepared, run: Path) -> TrainedRun:
    """Train with live progress; an unfinished run continues."""
    from translucid.cli.training_display import train_with_display
    from translucid.training.recipe import Settings

    recipe = [Settings(MODEL, TRAINING)]  # as it is: no budget shapes it
    return train_with_display(data, output=run, preset=PRESET, resume=True, config=recipe)


def _draw(model: Translator, output: Path) -> None:
    """Write pictures of how one of the sentences was translated, and print where they are."""
    import translucid
    from translucid.files import new_file
    from translucid.interpret.figures.matrix import alignment
    from translucid.interpret.page import saved_page

    trace = translucid.explain(model, SENTENCES[1])
    pictures = {
        "cross-attention.svg": alignment(trace).svg,
        "inside.html": saved_page(trace, translator=model).html,
    }
    for name, content in pictures.items():
        with new_file(output / name) as file:
            file.write(content.encode())
        typer.echo(output / name)
