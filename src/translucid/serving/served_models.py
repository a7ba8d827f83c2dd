"""The models that are served: each has a name, and a request picks one by it or by languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from translucid.built_in import find_model_directory
from translucid.checkpoint.model_directory import is_shown
from translucid.checksums import hash_listing, verify
from translucid.config import EngineName, Precision
from translucid.engines.conversion import count_parameters
from translucid.errors import InputError, nearest
from translucid.serving.log import note_model
from translucid.translator import Translator, load
from translucid.translator.request import describe_directions

Direction = tuple[str, str]
Outcome: TypeAlias = Literal["replaced", "unchanged", "kept", "failed"]


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Reload:
    """What became of reloading a model; `kept`: it was given as an object, not as a directory."""

    outcome: Outcome
    problem: str | None = None
    at: datetime = field(default_factory=_now)

    def describe(self) -> dict[str, Any]:
        """Return it as clients are told."""
        at = self.at.isoformat(timespec="seconds")
        return {"at": at, "outcome": self.outcome, "problem": self.problem}


@dataclass(frozen=True)
class ModelSource:
    """Where a model came from, and may come from again."""

    path: Path
    engine: EngineName
    precision: Precision | None

    def load(self) -> Translator:
        """Load the model as it is now."""
        return load(self.path, engine=self.engine, precision=self.precision)

    def has_still(self, translator: Translator) -> bool:
        """Tell whether the directory is what a translator was loaded from; if so, verify it."""
        folder = find_model_directory(self.path)
        known = translator.directory_hash
        if known is None or hash_listing(folder) != known:
            return False
        verify(folder, skip=is_shown)
        return True


@dataclass(frozen=True)
class ServedModel:
    """A model under the name by which clients ask for it, and since when it has been served."""

    name: str
    translator: Translator
    source: ModelSource | None = None
    since: datetime = field(default_factory=_now)

    @cached_property
    def hash(self) -> str:
        """The hash of weights, settings and vocabulary; the same model has the same one."""
        return self.translator.hash

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The vocabulary, each piece at the place of its id."""
        tokenizer = self.translator.tokenizer
        return tuple(tokenizer.piece(token) for token in range(tokenizer.vocab_size))

    @property
    def targets(self) -> tuple[str, ...]:
        """The languages that it translates into, each once."""
        return tuple(dict.fromkeys(target for _, target in self.translator.directions))

    def target(self, source: str | None, target: str | None, texts: Sequence[str]) -> str:
        """Return the language to translate texts into.

        It may be left out where there is only one, or where the texts' own language decides.
        """
        if target is None and source is not None:
            possible = [b for a, b in self.translator.directions if a == source]
            if len(possible) == 1:
                return possible[0]
            texts = ()  # what language they are in was said
        return self.translator.target_language(target, texts)

    @cached_property
    def _description(self) -> Mapping[str, Any]:
        engines = self.translator.engines
        return {
            "name": self.name,
            "directions": [list(pair) for pair in self.translator.directions],
            "targets": list(self.targets),
            "detects": self.translator.source_languages is not None,
            "vocabulary": self.translator.tokenizer.vocab_size,
            "parameters": count_parameters(engines.configs[0]),
            "hash": self.hash,
            "directory_hash": self.translator.directory_hash,
            "since": self.since.isoformat(timespec="seconds"),
            "config": engines.configs[0].model_dump(),
            "search": self.translator.default_search.model_dump(),
            "alignment_heads": [list(pair) for pair in engines.heads[0].heads],
        }

    def describe(self, default: bool, reload: Reload | None = None) -> dict[str, Any]:
        """Return the public description; `default`: requests that name no model use this one.

        `reload` is the last attempt to load it again.
        """
        told = None if reload is None else reload.describe()
        return {**self._description, "default": default, "reload": told}


class ServedModels:
    """All models that are served, in the order they were given; the first is the default."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        if not models:
            raise InputError("no model to serve: give one with -m MODEL")
        self._models = {served.name: served for served in models}
        if len(self._models) < len(models):
            names = [served.name for served in models]
            twice = ", ".join(sorted({repr(name) for name in names if names.count(name) > 1}))
            raise InputError(
                f"several models have the name {twice}: give each its own, -m NAME=PATH"
            )

    @classmethod
    def load(
        cls,
        models: Sequence[str | Path | Translator],
        engine: EngineName = "auto",
        precision: Precision | None = None,
    ) -> ServedModels:
        """Load models, each a path or ``NAME=PATH``; a name left out is that of folder or run."""
        return cls([_load_model(model, engine, precision) for model in models])

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def __len__(self) -> int:
        return len(self._models)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all models, in their order."""
        return tuple(self._models)

    def exchange(self, new: ServedModel) -> ServedModels:
        """Return the models with another one in the place of that of the same name."""
        return ServedModels([new if one.name == new.name else one for one in self])

    @property
    def default(self) -> ServedModel:
        """The model of requests that name none."""
        return next(iter(self))

    @property
    def directions(self) -> tuple[Direction, ...]:
        """All pairs of languages that some model translates, each once."""
        return tuple(dict.fromkeys(pair for m in self for pair in m.translator.directions))

    def named(self, name: str) -> ServedModel:
        """Return the model of a name."""
        if name not in self._models:
            raise UnknownModelError(name, list(self._models))
        return self._models[name]

    def choose(self, model: str | None, source: str | None, target: str | None) -> ServedModel:
        """Return the model that a name means, or the first that translates these languages.

        The line of the request in the log will name it.
        """
        served = self._choose(model, source, target)
        note_model(served.name)
        return served

    def _choose(self, model: str | None, source: str | None, target: str | None) -> ServedModel:
        if model is not None:
            served = self.named(model)
            if not _translates(served, source, target):
                raise InputError(
                    f"the model {model!r} does not translate {_describe_direction(source, target)} "
                    f"but {describe_directions(served.translator.directions)}: leave the languages "
                    "out, or name another model"
                )
            return served
        for served in self:
            if _translates(served, source, target):
                return served
        raise InputError(
            f"no model translates {_describe_direction(source, target)}. There are:\n"
            + "\n".join(
                f"  {served.name}: {describe_directions(served.translator.directions)}"
                for served in self
            )
        )

    def describe(self, reloads: Mapping[str, Reload]) -> list[dict[str, Any]]:
        """Return the public descriptions of all models; `reloads` are the last ones by name."""
        return [one.describe(one is self.default, reloads.get(one.name)) for one in self]


class UnknownModelError(InputError):
    """A name that no served model has."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"no model is called {name!r}: {nearest(name, known)}; served: {', '.join(known)}"
        )


def parse_model_option(argument: str) -> tuple[str | None, Path]:
    """Return name and path of `NAME=PATH`, or no name and the path of `PATH`.

    A path that exists is a path, whatever is in its name.
    """
    name, equals, path = argument.partition("=")
    if not equals or Path(argument).exists():
        return None, Path(argument)
    if not name or not path:
        raise InputError(f"-m {argument!r}: give NAME=PATH, or the path alone")
    return name, Path(path)


def _load_model(
    model: str | Path | Translator, engine: EngineName, precision: Precision | None
) -> ServedModel:
    name = source = None
    if not isinstance(model, Translator):
        name, path = parse_model_option(str(model))
        source = ModelSource(path, engine, precision)
        model = source.load()
    name = name or model.name.removesuffix("/best").removesuffix("/model")
    return ServedModel(name, model, source)


def _translates(served: ServedModel, source: str | None, target: str | None) -> bool:
    return any(source in (None, a) and target in (None, b) for a, b in served.translator.directions)


def _describe_direction(source: str | None, target: str | None) -> str:
    into = "into any language" if target is None else f"into {target!r}"
    return into if source is None else f"from {source!r} {into}"
