"""A recipe: a file that says how a result was made.

::

    about = "French ↔ English everyday sentences"
    preset = "small"

    [data]
    corpus = "tatoeba-fra-eng"               # of `translucid fetch`, or a built-in one
    prepare = ["--both", "--vocab-size", "8000"]
    teachers = ["first.toml"]                # recipes beside this one; see recipe.py

    [model]                                  # as in any file of `translucid train -c`
    [training]

    [result]
    average = 8                              # newest checkpoints; 0: the best network of the run
    half = true                              # weights of 16 bits
    beside = ["first.toml"]                  # networks that translate along, as an ensemble
    rerank = ["second.toml"]                 # teachers of the other direction, that rerank
    evaluate = ["--beam", "5"]
    translate = ["--beam", "4"]              # where it is itself a teacher

    [expected]                               # what it gave when it was written, for people
    fr-en = "BLEU 51.2 …"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from translucid.config import Config, Rule
from translucid.errors import ConfigError
from translucid.training.recipe import read_settings, read_toml

Strings = Annotated[tuple[str, ...], Field(strict=False)]  # TOML has lists where Python has tuples


class DataTable(Config):
    """The table [data]: which corpus, and how it is prepared."""

    corpus: str = Field(description="a corpus of `translucid fetch`, or a built-in one")
    prepare: Strings = Field(default=(), description="more arguments of `translucid prepare`")
    teachers: Strings = Field(
        default=(), description="recipes whose networks translate the training text once more"
    )


def _half_fault(values: Mapping[str, Any]) -> str | None:
    if values["half"] and values["average"] == 0:
        return "half = true rounds an average: give average too (1: the newest checkpoint alone)"
    return None


class ResultTable(Config):
    """The table [result]: which network of the run is kept, and how it is measured."""

    rules: ClassVar[tuple[Rule, ...]] = (Rule(("half", "average"), _half_fault),)
    renamed: ClassVar[Mapping[str, str]] = {"read_back": "rerank"}

    average: Annotated[int, Field(ge=0)] = Field(
        default=0, description="newest checkpoints whose mean is taken; 0: the best network"
    )
    half: bool = Field(default=False, description="write weights of 16 bits")
    beside: Strings = Field(
        default=(), description="recipes whose networks translate along, as an ensemble"
    )
    rerank: Strings = Field(
        default=(), description="teachers of the other direction that rerank translations"
    )
    evaluate: Strings = Field(default=(), description="more arguments of `translucid evaluate`")
    translate: Strings = Field(
        default=(), description="as a teacher: more arguments of `translucid translate`"
    )


@dataclass(frozen=True)
class RecipeFile:
    """A recipe as its file says it.

    `companions` are those of [result] beside that teach nobody: they learn the same data as this
    one, only to translate along.
    """

    path: Path
    about: str
    data: DataTable
    result: ResultTable
    expected: dict[str, str]
    teachers: tuple[RecipeFile, ...] = ()
    companions: tuple[RecipeFile, ...] = ()

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return self.path.stem

    def all_teachers(self) -> list[RecipeFile]:
        """Return its teachers and theirs, each once and after those who teach it."""
        found: dict[Path, RecipeFile] = {}
        for teacher in self.teachers:
            for one in (*teacher.all_teachers(), teacher):
                found.setdefault(one.path.resolve(), one)
        return list(found.values())


def read_recipe(path: Path) -> RecipeFile:
    """Read a recipe and all that belong to it; a ConfigError lists what is wrong with one."""
    return _read(path, pupils=())


def _read(path: Path, pupils: tuple[Path, ...]) -> RecipeFile:
    recipe = _alone(path)
    pupils = (*pupils, path.resolve())
    files = [path.parent / name for name in recipe.data.teachers]
    if any(file.resolve() in pupils for file in files):
        raise ConfigError(f"{path}", ["[data] teachers: a recipe cannot be its own teacher"])
    recipe = replace(recipe, teachers=tuple(_read(file, pupils) for file in files))
    teaching = {teacher.path.name for teacher in recipe.all_teachers()}
    others = [path.parent / name for name in recipe.result.beside if name not in teaching]
    companions = (replace(_alone(other), teachers=recipe.teachers) for other in others)
    recipe = replace(recipe, companions=tuple(companions))
    if faults := [*_teaching_faults(recipe), *_companion_faults(recipe)]:
        raise ConfigError(f"{path}", faults)
    return recipe


def _teaching_faults(recipe: RecipeFile) -> list[str]:
    faults = [
        f"[data] teachers: {teacher.path.name!r} must have the same corpus"
        for teacher in recipe.teachers
        if teacher.data.corpus != recipe.data.corpus
    ]
    lower = "--lowercase" in recipe.data.prepare
    faults += [
        f"[data] teachers: {teacher.path.name!r} and this recipe must both have --lowercase in "
        "[data] prepare, or neither"
        for teacher in recipe.teachers
        if ("--lowercase" in teacher.data.prepare) != lower
    ]
    everyone = recipe.all_teachers()
    if any(len({one.name for one in group}) < len(group) for group in (recipe.teachers, everyone)):
        faults.append("[data] teachers: two have the same name, and would share a folder")
    known = {teacher.path.name for teacher in everyone}
    faults += [
        f"[result] rerank: {name!r} is no teacher of this recipe, nor a teacher's teacher"
        for name in recipe.result.rerank
        if name not in known
    ]
    return faults


def _companion_faults(recipe: RecipeFile) -> list[str]:
    faults = [
        f"[result] beside: {one.path.name!r} is no teacher of this recipe, so it must have the "
        "same [data], which both learn"
        for one in recipe.companions
        if one.data != recipe.data
    ]
    if any(one.path.resolve() == recipe.path.resolve() for one in recipe.companions):
        faults.append("[result] beside: a recipe translates along with others, not with itself")
    if len({one.name for one in recipe.companions}) < len(recipe.companions):
        faults.append("[result] beside: two have the same name, and would share a folder")
    return faults


def _alone(path: Path) -> RecipeFile:
    read_settings(path)  # refuses what is no TOML, and tables that no recipe has
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
