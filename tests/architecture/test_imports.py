"""The one-way arrows of docs/design.md, and what a cheap import may not load."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "translucid"

# The foundation, which every area may import; a name in it may import those before it.
FOUNDATION = [
    *("errors", "machine", "files", "checksums", "registry", "config"),
    *("presets", "anatomy", "events", "built_in"),
]
# Which area may import which, beside itself and the foundation.
ARROWS: dict[str, set[str]] = {
    "text": set(),
    "model": set(),
    "decoding": set(),
    "data": {"text"},
    "checkpoint": {"model", "text"},
    "engines": {"checkpoint", "decoding", "model", "text"},
    "training": {
        *("text", "data", "model", "checkpoint", "decoding", "engines", "translator", "interpret"),
    },
    "translator": {"engines", "checkpoint", "decoding", "text"},
    "evaluation": {"translator", "data", "decoding", "text"},
    "interop": {"translator", "engines", "decoding", "checkpoint", "data", "model", "text"},
    "interpret": {"translator", "engines", "decoding", "checkpoint", "data", "model", "text"},
    "serving": {"translator", "interpret", "engines", "decoding", "checkpoint", "text"},
    "cli": {
        *("text", "model", "decoding", "data", "checkpoint", "training", "translator"),
        *("evaluation", "interop", "interpret", "serving"),
    },
}
OPTIONAL = (
    "lxml",
    "polib",
    "ftfy",
    "py3langid",
    "pyarrow",
    "fastapi",
    "uvicorn",
    "prometheus_client",
    "ctranslate2",
    "resvg_py",
)
HEAVY = {"torch", "numpy", "sentencepiece", "pydantic", *OPTIONAL}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of every import in a file, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            assert node.module is not None
            yield node.lineno, node.module
            if node.module == "translucid":
                yield from ((node.lineno, f"translucid.{alias.name}") for alias in node.names)


def area(dotted: str) -> str | None:
    parts = dotted.split(".")
    return parts[1] if parts[0] == "translucid" and len(parts) > 1 else None


def allowed(here: str) -> set[str]:
    if here in FOUNDATION:
        return set(FOUNDATION[: FOUNDATION.index(here) + 1])
    return {*FOUNDATION, here} | ARROWS[here]


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_imports_point_one_way(path: Path) -> None:
    here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if here in {"__init__", "__main__"}:
        return
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} ({here}) imports {name}"
        for line, name in imports(path)
        if (there := area(name)) not in {None, "__version__"} and there not in allowed(here)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_file_without_a_concept() -> None:
    homeless = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
    assert not [path for path in SOURCE.rglob("*.py") if path.name in homeless]


@pytest.mark.parametrize(
    "code",
    [
        "import translucid",
        "import translucid.cli.main",
        "import sys; sys.argv = ['translucid', '--help']\n"
        "import translucid.cli.main as m\n"
        "try: m.main()\nexcept SystemExit as e: assert not e.code",
        "import sys; sys.argv = ['translucid', '--version']\n"
        "import translucid.cli.main as m\n"
        "try: m.main()\nexcept SystemExit as e: assert not e.code",
    ],
    ids=["package", "command line", "--help", "--version"],
)
def test_a_cheap_import_loads_nothing_heavy(code: str) -> None:
    probe = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert "translucid" in loaded
    assert not loaded & (HEAVY - ({"pydantic"} if "cli" in code else set()))


@pytest.mark.parametrize(
    "module", ["translator", "evaluation.evaluate", "evaluation.compare", "data.prepare", "fetch"]
)
def test_what_needs_no_pytorch_does_not_load_it(module: str) -> None:
    module = "data.fetch" if module == "fetch" else module
    probe = f"import translucid.{module}, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_translating_with_the_built_in_model_loads_no_pytorch() -> None:
    probe = (
        "import sys; sys.argv = ['translucid', 'translate', 'je suis étudiant']\n"
        "import translucid.cli.main as m\n"
        "try: m.main()\nexcept SystemExit as e: assert not e.code\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "I'm a student.\n"
