"""``translucid recipe``: make a published result again, from the corpus to its score."""

from __future__ import annotations

import itertools
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from translucid.cli.resumable_output import is_unfinished
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.cli.recipe_file import RecipeFile


def recipe(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recipe, such as those in recipes/.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for all of it.")
    ],
    mirror: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Take the corpus from this folder, not from the network."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Train with this seed instead of the recipe's.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands, and do nothing.")
    ] = False,
) -> None:
    """Make a result again: fetch, prepare, train, average, evaluate.

    Each stage is a command, printed before it runs. Stopped at any moment, the same command
    continues where it was. At the end come the scores, and what the recipe expects.

    \b
    Examples:
      translucid recipe recipes/lesson.toml -o lesson
      translucid recipe recipes/sort.toml -o sort --seed 2
      translucid recipe recipes/lesson.toml -o lesson --dry-run
    """
    from translucid.cli.recipe_file import read_recipe

    asked = read_recipe(file)
    todo = plan_stages(asked, output, mirror=mirror, seed=seed)
    if dry_run:
        for stage in todo:
            typer.echo(shlex.join(["translucid", *stage.words]))
        return
    began = time.monotonic()
    for number, stage in enumerate(todo, start=1):
        typer.echo(f"\n[{number}/{len(todo)}] {stage.title}", err=True)
        typer.echo(f"$ {shlex.join(['translucid', *stage.words])}", err=True)
        if stage.is_done:
            typer.echo(f"{stage.file} is already there", err=True)
            continue
        code = run_command([sys.executable, "-m", "translucid", *stage.words])
        if code != 0:
            typer.echo(
                f"stopped at stage {number}, {stage.title}: the same command continues", err=True
            )
            raise typer.Exit(code if code > 0 else 1)
    for direction, text in asked.expected.items():
        typer.echo(f"expected {direction}: {text}", err=True)
    typer.echo(f"{(time.monotonic() - began) / 60:.1f} minutes in this run", err=True)
    for model in list_models(asked, output):
        typer.echo(model)


def run_command(command: Sequence[str]) -> int:
    """Run a command and return its exit code; it decides what Ctrl-C and SIGTERM do.

    Ctrl-C reaches it from the terminal, because it is in the same group; SIGTERM is passed on.
    """
    child = subprocess.Popen(command)  # noqa: S603 - our own command

    def wait(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGTERM:
            child.send_signal(number)

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


Words = tuple[str, ...]
Direction = tuple[str, str]
# Codes that ISO 639 reserves for private use: strings are in no language.
_TASK = ("--from", "qaa", "--to", "qab", "--tokenizer", "word", "--keep-identical")
BUILT_IN: dict[str, Words] = {
    "lesson": ("--from", "fr", "--to", "en"),
    **dict.fromkeys(("copy", "reverse", "sort"), (*_TASK, "--split", "500,500")),
}
_LANGUAGES = ("--from", "--to")
_ONLY = "--target-pieces-only"


@dataclass(frozen=True)
class Stage:
    """One of the commands that a recipe consists of: what it does, and its words.

    `file` is what it leaves; once that is complete, the command is not to be run again.
    """

    title: str
    words: Words
    file: Path | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.file is not None and self.file.exists() and not is_unfinished(self.file)


def plan_stages(
    recipe: RecipeFile, folder: Path, *, mirror: str | None, seed: int | None
) -> list[Stage]:
    """Return the commands of a recipe, all of which write into `folder`.

    Teachers come first. A teacher's network translates the source side of the training text, and
    these pairs are added to the corpus: they are more regular than people's, so that a small
    network learns them better (Kim and Rush, "Sequence-Level Knowledge Distillation", 2016). One
    of the other direction translates the target side, and its translations become more source
    sentences of what people wrote (Sennrich et al., "Improving Neural Machine Translation Models
    with Monolingual Data", 2016). Several are better than one, and a pupil may teach in turn
    (Nguyen et al., "Data Diversification", 2020). The first teacher's tokenizer is taken over.
    Companions, which learn the same data as a recipe only to translate along, come after it.
    """
    plan = _Plan(recipe, folder, seed)
    found = [] if recipe.data.corpus in BUILT_IN else [_plan_fetch(recipe, folder, mirror)]
    for teacher in recipe.all_teachers():
        found += [*plan.plan_training(teacher), *plan.plan_translation(teacher)]
    return [*found, *plan.plan_training(recipe), *plan.plan_evaluation()]


def list_models(recipe: RecipeFile, folder: Path) -> list[Path]:
    """Return the model directories that translate together once the recipe has run."""
    return _Plan(recipe, folder, None).models(recipe)


@dataclass(frozen=True)
class _Plan:
    """Where the networks of a recipe and of its teachers are, and what makes each of them."""

    recipe: RecipeFile
    folder: Path
    seed: int | None

    def plan_training(self, one: RecipeFile) -> list[Stage]:
        """Return the commands from the corpus to a network, and to those of its companions."""
        place = self._place(one)
        data = place / "data"
        whose = "" if one is self.recipe else f" the teacher {one.name}"
        prepare = Stage(f"prepare{whose}", ("prepare", *self._given(one), "-o", str(data)))
        found = [prepare, *_plan_network(one, data, place, whose, self.seed)]
        for number, companion in enumerate(one.companions, start=1):
            beside = place / "beside" / companion.name
            seed = None if self.seed is None else self.seed + number  # none is trained twice
            found += _plan_network(companion, data, beside, f" {companion.name}", seed)
        return found

    def plan_translation(self, teacher: RecipeFile) -> list[Stage]:
        """Return the commands by which a teacher translates the training text, for all pupils."""
        given = self._corpus(teacher)
        files = _files(given)
        if len(files) != 2:
            raise InputError(f"{teacher.path}: a teacher needs a corpus of two text files")
        of_first = given[given.index("--from") + 1]  # the corpus's words come before the recipe's
        found = []
        for direction, made in self._translations(teacher).items():
            read = files[0 if direction[0] == of_first else 1]
            where = ("-i", read, "-o", str(made), "--format", "tsv")
            how = ("--to", direction[1], *teacher.result.translate, "--resume")
            title = f"translate {' → '.join(direction)} by the teacher {teacher.name}"
            words = ("translate", *self._named(teacher), *where, *how)
            found.append(Stage(title, words, made))
        return found

    def plan_evaluation(self) -> list[Stage]:
        """Return the commands that measure the recipe's own network."""
        found = []
        for source, target in self._directions(self.recipe):
            to = ("--data", str(self.folder / "data"), "--from", source, "--to", target)
            place = ("-o", str(self.folder / "scores" / f"{source}-{target}"))
            words = (
                "evaluate",
                *self._named(self.recipe),
                *to,
                *self._reader(source, target),
                *self.recipe.result.evaluate,
                *place,
            )
            found.append(Stage(f"evaluate {source} → {target}", words))
        return found

    def _reader(self, source: str, target: str) -> Words:
        """Return which teachers rerank the recipe's own translations."""
        recipe = self.recipe
        readers = [t for t in recipe.all_teachers() if t.path.name in recipe.result.rerank]
        for reader in readers:
            if (target, source) not in self._directions(reader):
                raise InputError(
                    f"{recipe.path}: {reader.path.name} cannot rerank translations into "
                    f"{target}: it was not trained for {target} → {source}"
                )
        if len({_find_first(reader).name for reader in readers}) > 1:
            raise InputError(
                f"{recipe.path}: the teachers of [result] rerank have different tokenizers and "
                "cannot work together: name one, or some that have the same first teacher"
            )
        _check_written(recipe, readers)
        models = [_model(one, self._place(one)) for one in readers]
        return tuple(word for model in models for word in ("--rerank", str(model)))

    def _place(self, one: RecipeFile) -> Path:
        return self.folder if one is self.recipe else self.folder / "teachers" / one.name

    def _corpus(self, one: RecipeFile) -> Words:
        """Return what `prepare` gets: the corpus, and the words of the recipe."""
        name = one.data.corpus
        if name in BUILT_IN:
            return (name, *BUILT_IN[name], *one.data.prepare)
        from translucid.data.fetch import find_known_corpus, prepare_arguments

        words = prepare_arguments(find_known_corpus(name), self.folder / "corpora" / name)
        return (*words, *one.data.prepare)

    def _given(self, one: RecipeFile) -> Words:
        """Return what `prepare` gets: the corpus, and what the teachers made of it."""
        given = self._corpus(one)
        if not one.teachers:
            return given
        if len(self._directions(one)) != 1:
            raise InputError(f"{one.path}: a recipe with teachers is of one direction, not --both")
        first = one.teachers[0]
        if _ONLY in one.data.prepare and (
            _ONLY not in first.data.prepare or self._directions(first) != self._directions(one)
        ):
            raise InputError(
                f"{one.path}: with {_ONLY}, its first teacher, whose tokenizer it takes over, must "
                f"have the same direction and {_ONLY} too; {first.path.name} has not"
            )
        added = [
            str(made) for teacher in one.teachers for made in self._translations(teacher).values()
        ]
        files = _files(given)
        tokenizer = ("--tokenizer-from", str(self._place(one.teachers[0]) / "data"))
        return (*files, *added, *given[len(files) :], *tokenizer)

    def _translations(self, teacher: RecipeFile) -> dict[Direction, Path]:
        place = self._place(teacher)
        return {
            (source, target): place / f"translations.{source}-{target}.tsv"
            for source, target in self._directions(teacher)
        }

    def models(self, one: RecipeFile) -> list[Path]:
        """Return its model directory, and those of the networks that translate along with it."""
        along = [other for other in one.all_teachers() if other.path.name in one.result.beside]
        for other in along:
            if set(self._directions(one)) - set(self._directions(other)):
                raise InputError(
                    f"{one.path}: {other.path.name} cannot translate together with it, because it "
                    "was trained for another direction. [result] beside takes teachers of the "
                    "same one"
                )
            if _find_first(other).name != _find_first(one).name:
                raise InputError(
                    f"{one.path}: {other.path.name} cannot translate together with it, because it "
                    "has another tokenizer. A recipe takes over that of its first teacher"
                )
        _check_written(one, [one, *along])
        beside = self._place(one) / "beside"
        return [
            *(_model(each, self._place(each)) for each in (one, *along)),
            *(_model(each, beside / each.name) for each in one.companions),
        ]

    def _named(self, one: RecipeFile) -> Words:
        return tuple(word for model in self.models(one) for word in ("-m", str(model)))

    def _directions(self, one: RecipeFile) -> list[Direction]:
        return parse_directions(self._corpus(one))


def parse_directions(words: Words) -> list[Direction]:
    """Return the directions that a `prepare` command with these arguments gives; the last count.

    >>> parse_directions(("a.tsv", "--from", "fr", "--to", "en", "--both"))
    [('fr', 'en'), ('en', 'fr')]
    >>> parse_directions(("a.tsv", "--from", "fr", "--to", "en", "--from", "en", "--to", "fr"))
    [('en', 'fr')]
    """
    lacking = [option for option in _LANGUAGES if option not in words[:-1]]
    if lacking:
        raise InputError(f"[data] prepare lacks {' and '.join(lacking)}, the languages")
    given = dict(itertools.pairwise(words))
    source, target = (given[option] for option in _LANGUAGES)
    return [(source, target), *([(target, source)] if "--both" in words else [])]


def _plan_network(
    one: RecipeFile, data: Path, place: Path, whose: str, seed: int | None
) -> list[Stage]:
    """Return the commands from prepared data to a network."""
    run = str(place / "run")
    seeded = () if seed is None else ("--set", f"training.seed={seed}")
    words = ("train", str(data), "-o", run, "-c", str(one.path), *seeded, "--resume")
    found = [Stage(f"train{whose}", words)]
    if one.result.average:
        half = ("--half",) if one.result.half else ()
        last = ("--last", str(one.result.average))
        model = str(_model(one, place))
        found.append(Stage(f"average{whose}", ("average", run, *last, *half, "-o", model)))
    return found


def _model(one: RecipeFile, place: Path) -> Path:
    return place / "model" if one.result.average else place / "run" / "best"


def _check_written(recipe: RecipeFile, together: list[RecipeFile]) -> None:
    """Refuse networks that would compute together and write different pieces."""
    names = {_ONLY in one.data.prepare: one.path.name for one in together}
    if len(names) > 1:
        raise InputError(
            f"{recipe.path}: {names[True]} has {_ONLY} in [data] prepare and {names[False]} has "
            "not, so they cannot compute together: all must have it, or none"
        )


def _find_first(one: RecipeFile) -> RecipeFile:
    """Return the recipe whose tokenizer it has: its first teacher's first teacher, and so on."""
    return _find_first(one.teachers[0]) if one.teachers else one


def _files(given: Words) -> Words:
    return tuple(itertools.takewhile(lambda word: not word.startswith("-"), given))


def _plan_fetch(recipe: RecipeFile, folder: Path, mirror: str | None) -> Stage:
    taken = () if mirror is None else ("--mirror", mirror)
    words = ("fetch", recipe.data.corpus, "-o", str(folder / "corpora"), *taken)
    return Stage("fetch", words)
