"""A recipe: a file that says how a result was made, and the commands that make it again.

::

    about = "French ↔ English everyday sentences"
    preset = "small"

    [data]
    corpus = "tatoeba-fra-eng"               # of `translucid fetch`, or a built-in one
    prepare = ["--both", "--vocab-size", "8000"]
    teachers = ["first.toml"]                # recipes beside this one; see `_taught`

    [model]                                  # as in any file of `translucid train -c`
    [training]

    [result]
    average = 8                              # newest checkpoints; 0: the best network of the run
    half = true                              # weights of 16 bits
    evaluate = ["--beam", "5"]

    [expected]                               # what it gave when it was written, for people
    fr-en = "BLEU 51.2 …"

A recipe becomes plain commands of `translucid`, so that everybody can see and repeat each of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from translucid.cli.resumable_output import is_unfinished
from translucid.config import Config, Rule
from translucid.data.fetch import known_corpus, prepare_words
from translucid.errors import ConfigError, InputError
from translucid.training.recipe import of_file, read_toml

Words = tuple[str, ...]
# Codes that ISO 639 leaves to everybody's own use: strings are in no language.
_TASK = ("--from", "qaa", "--to", "qab", "--tokenizer", "word", "--keep-identical")
BUILT_IN: dict[str, Words] = {
    "lesson": ("--from", "fr", "--to", "en"),
    **dict.fromkeys(("copy", "reverse", "sort"), (*_TASK, "--split", "500,500")),
}
_LANGUAGES = ("--from", "--to")
Strings = Annotated[tuple[str, ...], Field(strict=False)]  # TOML has lists where Python has tuples


class DataTable(Config):
    """The table [data]: which corpus, and how it is prepared."""

    corpus: str = Field(description="a corpus of `translucid fetch`, or a built-in one")
    prepare: Strings = Field(default=(), description="more arguments of `translucid prepare`")
    teachers: Strings = Field(
        default=(), description="recipes whose networks translate the training text once more"
    )
    translate: Strings = Field(
        default=(), description="more arguments of the teachers' `translucid translate`"
    )


def _half_fault(values: Mapping[str, Any]) -> str | None:
    if values["half"] and values["average"] == 0:
        return "half = true rounds an average: give average too (1: the newest checkpoint alone)"
    return None


class ResultTable(Config):
    """The table [result]: which network of the run is kept, and how it is measured."""

    rules: ClassVar[tuple[Rule, ...]] = (Rule(("half", "average"), _half_fault),)

    average: Annotated[int, Field(ge=0)] = Field(
        default=0, description="newest checkpoints whose mean is taken; 0: the best network"
    )
    half: bool = Field(default=False, description="write weights of 16 bits")
    evaluate: Strings = Field(default=(), description="more arguments of `translucid evaluate`")


@dataclass(frozen=True)
class RecipeFile:
    """A recipe as its file says it."""

    path: Path
    about: str
    data: DataTable
    result: ResultTable
    expected: dict[str, str]
    teachers: tuple[RecipeFile, ...] = ()


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


def read_recipe(path: Path) -> RecipeFile:
    """Read a recipe and those of its teachers; a ConfigError lists all that is wrong with one."""
    recipe = _without_teachers(path)
    names = recipe.data.teachers
    teachers = tuple(_without_teachers(path.parent / name) for name in names)
    faults = [
        f"[data] teachers: {name!r} must have the same corpus, and no teachers of its own"
        for name, teacher in zip(names, teachers, strict=True)
        if teacher.data.teachers or teacher.data.corpus != recipe.data.corpus
    ]
    if len({_place(teacher, path) for teacher in teachers}) < len(teachers):
        faults.append("[data] teachers: two have the same name, and would share a folder")
    if faults:
        raise ConfigError(f"{path}", faults)
    return replace(recipe, teachers=teachers)


def _without_teachers(path: Path) -> RecipeFile:
    of_file(path)  # refuses what is no TOML, and tables that no recipe has
    values = read_toml(path)
    faults: list[str] = []
    data = _table(DataTable, "data", values, faults)
    result = _table(ResultTable, "result", values, faults)
    expected = values.get("expected", {})
    if not all(isinstance(text, str) for text in expected.values()):
        faults.append('[expected] has texts only: fr-en = "BLEU 51.2 …"')
    if faults or data is None or result is None:
        raise ConfigError(f"{path}", faults)
    return RecipeFile(path, str(values.get("about", "")), data, result, expected)


def _table(kind: type[Any], name: str, values: dict[str, Any], faults: list[str]) -> Any:
    try:
        return kind(**values.get(name, {}))
    except ConfigError as error:
        faults += [f"[{name}] {fault}" for fault in error.faults]
        return None


def stages(
    recipe: RecipeFile, folder: Path, *, mirror: str | None, seed: int | None
) -> list[Stage]:
    """Return the commands of a recipe, all of which write into `folder`."""
    found = [] if recipe.data.corpus in BUILT_IN else [_fetched(recipe, folder, mirror)]
    given = _prepared_from(recipe, folder)
    if recipe.teachers:
        lessons, given = _taught(recipe, given, folder, seed)
        found += lessons
    found += _trained(recipe, given, folder, seed)
    model = model_of(recipe, folder)
    for source, target in directions_of(given):
        to = ("--data", str(folder / "data"), "--from", source, "--to", target)
        place = ("-o", str(folder / "scores" / f"{source}-{target}"))
        words = ("evaluate", "-m", str(model), *to, *recipe.result.evaluate, *place)
        found.append(Stage(f"evaluate {source} → {target}", words))
    return found


def _trained(
    recipe: RecipeFile, given: Words, folder: Path, seed: int | None, whose: str = ""
) -> list[Stage]:
    """Return the commands from the corpus to a network."""
    data, run = folder / "data", folder / "run"
    seeded = () if seed is None else ("--set", f"training.seed={seed}")
    words = ("train", str(data), "-o", str(run), "-c", str(recipe.path), *seeded, "--resume")
    found = [
        Stage(f"prepare{whose}", ("prepare", *given, "-o", str(data))),
        Stage(f"train{whose}", words),
    ]
    if recipe.result.average:
        half = ("--half",) if recipe.result.half else ()
        last = ("--last", str(recipe.result.average))
        model = str(model_of(recipe, folder))
        found.append(Stage(f"average{whose}", ("average", str(run), *last, *half, "-o", model)))
    return found


def _taught(
    recipe: RecipeFile, given: Words, folder: Path, seed: int | None
) -> tuple[list[Stage], Words]:
    """Return the commands of the teachers, and what to prepare once their translations are there.

    A network of its own is trained first. It translates the source side of the training text, and
    these pairs are added to the corpus: they are more regular than people's, so that a small
    network learns them better (Kim and Rush, "Sequence-Level Knowledge Distillation", 2016). One
    of the other direction translates the target side, and its translations become more source
    sentences of what people wrote (Sennrich et al., "Improving Neural Machine Translation Models
    with Monolingual Data", 2016). Several are better than one (Nguyen et al., "Data
    Diversification", 2020). The first teacher's tokenizer is taken over.
    """
    files = tuple(itertools.takewhile(lambda word: not word.startswith("-"), given))
    if len(files) != 2 or len(directions_of(given)) != 1:  # source, target
        raise InputError(
            f"{recipe.path}: a teacher needs a corpus of two text files and one direction"
        )
    of_first = given[given.index("--from") + 1]  # the corpus's own words come before the recipe's
    found: list[Stage] = []
    added: Words = ()
    for teacher in recipe.teachers:
        place = _place(teacher, folder)
        learned = _prepared_from(teacher, folder)
        found += _trained(teacher, learned, place, seed, whose=f" the teacher {place.name}")
        for direction in directions_of(learned):
            made = place / f"translations.{'-'.join(direction)}.tsv"
            read = files[0 if direction[0] == of_first else 1]
            where = ("-i", read, "-o", str(made), "--format", "tsv")
            how = ("--to", direction[1], *recipe.data.translate, "--resume")
            words = ("translate", "-m", str(model_of(teacher, place)), *where, *how)
            title = f"translate {' → '.join(direction)} by the teacher {place.name}"
            found.append(Stage(title, words, made))
            added += (str(made),)
    tokenizer = ("--tokenizer-from", str(_place(recipe.teachers[0], folder) / "data"))
    return found, (*files, *added, *given[len(files) :], *tokenizer)


def _place(teacher: RecipeFile, folder: Path) -> Path:
    return folder / "teachers" / teacher.path.stem


def model_of(recipe: RecipeFile, folder: Path) -> Path:
    """Return the model directory that a recipe leaves in its folder."""
    return folder / "model" if recipe.result.average else folder / "run" / "best"


def directions_of(words: Words) -> list[tuple[str, str]]:
    """Return the directions that a `prepare` command with these arguments gives; the last count.

    >>> directions_of(("a.tsv", "--from", "fr", "--to", "en", "--both"))
    [('fr', 'en'), ('en', 'fr')]
    >>> directions_of(("a.tsv", "--from", "fr", "--to", "en", "--from", "en", "--to", "fr"))
    [('en', 'fr')]
    """
    lacking = [option for option in _LANGUAGES if option not in words[:-1]]
    if lacking:
        raise InputError(f"[data] prepare lacks {' and '.join(lacking)}, the languages")
    given = dict(itertools.pairwise(words))
    source, target = (given[option] for option in _LANGUAGES)
    return [(source, target), *([(target, source)] if "--both" in words else [])]


def _fetched(recipe: RecipeFile, folder: Path, mirror: str | None) -> Stage:
    taken = () if mirror is None else ("--mirror", mirror)
    words = ("fetch", recipe.data.corpus, "-o", str(folder / "corpora"), *taken)
    return Stage("fetch", words)


def _prepared_from(recipe: RecipeFile, folder: Path) -> Words:
    name = recipe.data.corpus
    if name in BUILT_IN:
        return (name, *BUILT_IN[name], *recipe.data.prepare)
    corpus = known_corpus(name)
    return (*prepare_words(corpus, folder / "corpora" / name), *recipe.data.prepare)
