"""Options of the command line: those generated from config classes, and those commands share.

A setting is declared once, as a field of a config class with its type, bounds and description::

    @add_settings(SearchConfig, into="search")
    def translate(text: str, search: Given) -> None: ...

gives the command ``translate`` one option per field: ``--beam N``, ``--length-penalty X``, … The
function gets what was given as a dict, by field name; the config class checks it. How an option is
spelled, where that does not follow from the field's name, is a :class:`Flag` beside the field.
"""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import types
import typing
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from translucid.built_in import DEFAULT
from translucid.config import Config, EngineName, Flag, Precision
from translucid.errors import InputError, RenamedWarning

if TYPE_CHECKING:
    from translucid.translator import Reranker, Translator

Given: TypeAlias = dict[str, Any]  # the settings that were given, by field name
Choice = TypeVar("Choice", bound=str)

# Options of 0.1, which work in all of 2.x (docs/compatibility.md).
RENAMED = {"--read-back": "--rerank", "--read-back-weight": "--rerank-weight"}
_METAVARS = {int: "N", float: "X", str: "TEXT"}
_VARIABLES = "TRANSLUCID_"
_MISSPELT = 0.8  # the likeness from which a name is taken for another one


class Command(TyperCommand):
    """A command that understands options by the names that earlier versions had for them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, old names replaced."""
        return super().parse_args(ctx, [_rename(argument) for argument in args])


def _rename(argument: str) -> str:
    name, equals, value = argument.partition("=")
    if name not in RENAMED:
        return argument
    warnings.warn(f"{name} is now called {RENAMED[name]}", RenamedWarning, stacklevel=2)
    return f"{RENAMED[name]}{equals}{value}"


def add_settings(
    config: type[Config],
    *,
    into: str,
    only: Collection[str] | None = None,
    leave_out: Collection[str] = (),
    help_texts: Mapping[str, str] | None = None,
    without_variable: Collection[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the settings of a config class as options, in place of one parameter.

    `only` and `leave_out` choose among the fields; `help_texts` replaces what --help says of some.
    All options of the command but those of `without_variable`, if it is given, have a variable of
    the environment: its own are read here, those of settings by the command.
    """
    names = [
        name
        for name in config.model_fields
        if (only is None or name in only) and name not in leave_out
    ]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == into:
                parameters += [
                    _option(
                        config.model_fields[name],
                        name,
                        (help_texts or {}).get(name),
                        "" if without_variable is None else f"  [env var: {variable(name)}]",
                    )
                    for name in names
                ]
            else:
                hint = hints[parameter.name]
                if without_variable is not None and parameter.name not in without_variable:
                    hint = _with_variable(hint, parameter.name)
                own = parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
                parameters.append(own)

        @functools.wraps(function)
        def command(**values: Any) -> None:
            given = {name: value for name in names if (value := values.pop(name, None)) is not None}
            function(**values, **{into: given})

        command.__annotations__ = {one.name: one.annotation for one in parameters}
        vars(command)["__signature__"] = inspect.Signature(parameters)
        del vars(command)["__wrapped__"]  # inspect would look behind it
        return command

    return decorate


def variable(name: str) -> str:
    """Return the variable of the environment that has a setting of the server, or an option.

    >>> variable("max_texts")
    'TRANSLUCID_MAX_TEXTS'
    """
    return f"{_VARIABLES}{name.upper()}"


def _with_variable(annotation: Any, name: str) -> Any:
    """Return the annotation of an option with its variable, by the way the option is spelled."""
    kind, option = get_args(annotation)
    option = copy.copy(option)
    declared = (option.default, *(option.param_decls or ()))  # typer keeps the first one apart
    long = (str(one) for one in declared if str(one).startswith("--"))
    option.envvar = variable(next(long, name).removeprefix("--").replace("-", "_"))
    return Annotated[kind, option]


def find_misspelt_variables(environment: Mapping[str, str], known: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each variable that is hardly meant to be anything but a known one."""
    names = {one.removeprefix(_VARIABLES) for one in known}
    for given in environment:
        name = given.removeprefix(_VARIABLES)
        if given.startswith(_VARIABLES) and name not in names:
            for close in difflib.get_close_matches(name, names, n=1, cutoff=_MISSPELT):
                yield f"no setting has the variable {given}; did you mean {variable(close)}?"


@contextmanager
def naming_variables(environment: Mapping[str, str], known: Iterable[str]) -> Iterator[None]:
    """Add to the message of an InputError the variable that has the value which it is about.

    Messages begin with the value, or with the option and its value.
    """
    try:
        yield
    except InputError as error:
        first, second, *_ = (*str(error).replace(":", " ").split(), "", "")
        value = second if first.startswith("--") else first
        told = [one for one in known if value in environment.get(one, "").replace("=", " ").split()]
        if not told:
            raise
        raise InputError(f"{error}\n  This is the value of {' and '.join(told)}.") from error


def _option(field: FieldInfo, name: str, text: str | None, more: str = "") -> inspect.Parameter:
    """Return the parameter of a command that is an option for a setting."""
    kind, choices = _value_type(field.annotation)
    flags = (one.spelling for one in field.metadata if isinstance(one, Flag))
    spelling = next(flags, _spell(name, kind))
    option = typer.Option(
        spelling,
        metavar=None if kind is bool else "|".join(choices) or _METAVARS[kind],
        help=(text or _describe(field, show_default=kind is not bool or "/" in spelling)) + more,
        show_default=False,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def spell_option(name: str) -> str:
    """Return how the command line spells a setting."""
    return f"--{name.replace('_', '-')}"


def _spell(name: str, kind: type) -> str:
    option = spell_option(name)
    return f"{option}/--no-{option.removeprefix('--')}" if kind is bool else option


def _value_type(annotation: Any) -> tuple[type, tuple[str, ...]]:
    """Return the type of an option's value, and the choices if it has a few."""
    if get_origin(annotation) in (types.UnionType, typing.Union):
        annotation = next(one for one in get_args(annotation) if one is not type(None))
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal:
        return str, get_args(annotation)
    assert annotation in (*_METAVARS, bool), f"no option can be made for {annotation}"
    return annotation, ()


def _describe(field: FieldInfo, *, show_default: bool) -> str:
    """Return a field's description as a sentence, with its default."""
    text = str(field.description)
    sentence = f"{text[0].upper()}{text[1:]}."
    if field.default is None or not show_default:
        return sentence
    default = field.default
    if isinstance(default, bool):
        default = "on" if default else "off"
    elif isinstance(default, float):
        default = f"{default:g}"
    return f"{sentence}  [default: {default}]"


def choose(option: str, value: str, allowed: Sequence[Choice]) -> Choice:
    """Return the value of an option that takes one of a few words."""
    for choice in allowed:
        if choice == value:
            return choice
    raise InputError(f"{option} {value}: must be {' or '.join(allowed)}")


def with_sample(search: Given, *, sample: bool) -> Given:
    """Return the settings of a search, ``--sample`` being short for ``--method sampling``."""
    if not sample:
        return search
    if search.get("method", "sampling") != "sampling":
        raise InputError(
            f"--sample means --method sampling, and --method is {search['method']}: leave one out"
        )
    return {**search, "method": "sampling"}


def repeat_option(arguments: Sequence[str], names: Iterable[str]) -> list[str]:
    """Repeat an option for each of the values that follow it: ``--dev a b`` → ``--dev a --dev b``.

    Values end at the next option. ``--dev=a b`` means the same.
    """
    repeated: list[str] = []
    option: str | None = None
    taken = 0
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            name, equals, _ = argument.partition("=")
            option, taken = (name, len(equals)) if name in set(names) else (None, 0)
            repeated.append(argument)
            continue
        if option is not None and taken:
            repeated.append(option)
        taken += 1
        repeated.append(argument)
    return repeated


def load_reranker(models: Sequence[Path] | None, weight: float | None) -> Reranker | None:
    """Load what --rerank and --rerank-weight name; several models are an ensemble."""
    if not models:
        if weight is not None:
            raise InputError(
                "--rerank-weight without --rerank: name the model that reranks the translations"
            )
        return None
    from translucid.translator import Reranker, load
    from translucid.translator.rerank import WEIGHT

    return Reranker(load(*models), WEIGHT if weight is None else weight)


Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="Model directory, RUN of `translucid train`, or fr-en, the built-in model; several "
        "(-m A -m B) are an ensemble.  [default: fr-en]",
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANG", help="Target language, where a model has several."),
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Draw at random: the same as --method sampling.")
]
Rerank = Annotated[
    list[Path] | None,
    typer.Option(
        "--rerank",
        metavar="MODEL",
        help="Model of the other direction: choose the hypothesis of the beam from which it can "
        "best predict the source (noisy-channel reranking).",
    ),
]
RerankWeight = Annotated[
    float | None,
    typer.Option(metavar="W", help="Weight of --rerank beside the search.  [default: 0.2]"),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File to write.  [default: stdout]"),
]
WordScores = Annotated[bool, typer.Option("--word-scores", help="Add log P of each word.")]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="Stop at bytes that are not UTF-8, or read them as �.",
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, metavar="N", help="Sentences computed at once.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processor threads.  [default: all cores]"),
]
Engine = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        envvar="TRANSLUCID_ENGINE",
        help="What computes: ctranslate2, the fast one; pytorch, which can do everything; auto, "
        "the fast one for all that it can do.",
    ),
]
EnginePrecision = Annotated[
    Precision | None,
    typer.Option(
        "--precision",
        help="Weights of the fast engine: int8 or float32.  [default: the model's own]",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary on stderr.")]


def choose_models(models: Sequence[Path] | None) -> tuple[Path, ...]:
    """Return the models named with -m, or the one that comes with the package."""
    return tuple(models or (DEFAULT,))


def load_models(
    models: Sequence[Path] | None,
    threads: int | None,
    engine: EngineName = "auto",
    precision: Precision | None = None,
) -> Translator:
    """Return the translator of the chosen models; several are an ensemble."""
    from translucid.machine import set_thread_count
    from translucid.translator import load

    if threads is not None:
        set_thread_count(threads)
    return load(*choose_models(models), engine=engine, precision=precision)
