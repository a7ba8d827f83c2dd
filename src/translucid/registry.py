"""Registries: parts that settings choose by name, to which a program can add its own.

::

    @register_loss("focal")              # register first …
    def focal(…): …

    train(data, output="run", loss="focal")      # … then name it, in Python or in a settings file

A part is saved by its name. A file with a name that is not registered is refused, with an error
that lists the known names and says how to register another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from translucid.errors import InputError

HOW_TO = "register it first"
Part = TypeVar("Part")
Given = TypeVar("Given", bound=Callable[..., Any])


class Registry(Generic[Part]):
    """Parts of one kind by name; `built_in` ones register themselves when their module loads."""

    def __init__(self, kind: str, decorator: str, built_in: Iterable[str]) -> None:
        self.kind = kind
        self.decorator = decorator
        self.built_in = tuple(built_in)
        self._parts: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that settings may have: the built-in ones first."""
        return tuple(dict.fromkeys((*self.built_in, *self._parts)))

    def register(self, name: str) -> Callable[[Given], Given]:
        """Return a decorator that registers a part, in place of an earlier one of that name.

        The names of built-in parts are taken.
        """

        def decorate(part: Given) -> Given:
            if name in self.built_in and name in self._parts:
                raise InputError(f"{self.kind} = {name!r} is built in: choose another name")
            self._parts[name] = part
            return part

        return decorate

    def find(self, name: str) -> Part:
        """Return the part of a name."""
        if fault := self.find_fault(name):
            raise InputError(fault)
        part: Part = self._parts[name]
        return part

    def find_fault(self, name: str) -> str | None:
        """Return what is wrong with a name, or None: known ones, and how to register another."""
        if name in self.names:
            return None
        return (
            f"{self.kind} = {name!r} is unknown; available: {', '.join(self.names)}. If it is "
            f"your own, {HOW_TO}: @{self.decorator}({name!r})"
        )
