"""The model is read in one sitting: short functions, and docstrings in the paper's terms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "translucid"
MODEL = sorted((SOURCE / "model").glob("*.py"))
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(path: Path) -> Iterator[tuple[str, Definition]]:
    """Yield (qualified name, node) of every function, method and class of a file."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Definition):
                name = f"{prefix}{child.name}"
                yield name, child
                yield from walk(child, f"{name}.")

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), "")


def length(node: Definition) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", MODEL, ids=lambda path: path.name)
def test_functions_of_the_model_have_at_most_40_lines(path: Path) -> None:
    long = [
        f"{name} has {length(node)} lines"
        for name, node in definitions(path)
        if not isinstance(node, ast.ClassDef) and length(node) > 40
    ]
    assert not long


def test_the_model_is_read_in_one_sitting() -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in MODEL) <= 1405


@pytest.mark.parametrize("path", MODEL, ids=lambda path: path.name)
def test_every_public_name_of_the_model_is_documented_in_the_papers_terms(path: Path) -> None:
    """Methods have a docstring; classes and functions point at the paper, or say it has none."""
    paper = re.compile(r"(sections?|equation|table|figure) \d|\bthe paper\b")
    silent, parents = [], {"": None, **dict(definitions(path))}
    for name, node in definitions(path):
        if any(part.startswith("_") for part in name.split(".")):
            continue
        docstring = ast.get_docstring(node)
        top_level = "." not in name
        if top_level and not (docstring and paper.search(" ".join(docstring.split()))):
            silent.append(name)
        if not docstring and isinstance(parents[name.rpartition(".")[0]], ast.ClassDef):
            silent.append(name)
    assert not silent


def test_no_inner_constructor_of_the_model_has_defaults() -> None:
    found = [
        f"{path.name}: {name}"
        for path in MODEL
        for name, node in definitions(path)
        if name.endswith("__init__") and not isinstance(node, ast.ClassDef)
        if node.args.defaults or any(default is not None for default in node.args.kw_defaults)
    ]
    assert not found
