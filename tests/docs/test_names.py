"""Files, modules and functions that the documentation names exist."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from doc_pages import DOCS, ROOT

PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("recipes/*.md")])
PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"]  # it names what is gone
ROOTS = (ROOT, ROOT / "src" / "translucid", ROOT / "tests", DOCS)
PRIVATE = re.compile(r"(/tmp|data|run|out|model)/")  # files of a reader


def find_file(name: str) -> Path | None:
    return next((root / name for root in ROOTS if (root / name).exists()), None)


def defined_names(path: Path) -> set[str]:
    """Return functions, classes, methods and constants of a module, such as Trainer.train_step."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{part.name}" for part in node.body if hasattr(part, "name")}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|tsx?)|[\w-]+(?:/[\w-]+)*/)`", text)
    missing = [name for name in code if not PRIVATE.match(name) and find_file(name) is None]
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    missing += [link for link in links if not (page.parent / link).exists()]
    assert not missing, f"{page.name} names {', '.join(missing)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_functions_exist_in_the_files_named_before_them(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, functions in re.findall(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:, )?)+)", text):
        path = find_file(name)
        assert path is not None, name
        missing = set(re.findall(r"`([\w.]+)`", functions)) - defined_names(path)
        assert not missing, f"{page.name}: {name} has no {', '.join(sorted(missing))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_dotted_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"(?<![\w/.-])translucid(?:\.[a-zA-Z_]\w*)+", text)):
        resolve(name)


def resolve(dotted: str) -> object:
    found: object = importlib.import_module("translucid")
    path = "translucid"
    for part in dotted.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(path)
    return found


def test_headings_that_links_point_to_exist() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
            target = (page.parent / link) if link else page
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in headings}
            assert anchor in anchors, f"{page.name} links to {link}#{anchor}"
