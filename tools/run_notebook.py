"""Run a notebook's cells in order and keep their outputs in it, without Jupyter.

    python tools/run_notebook.py examples/inside-a-transformer.ipynb

The outputs of a cell are what it prints and the value of its last line: a picture if it can be SVG,
else its text. Cells tagged "varies" give other numbers on other machines.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def run_cells(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Execute all code cells in one namespace; return the outputs of each."""
    names: dict[str, Any] = {"__name__": "notebook"}
    return [_run(cell, names) for cell in code_cells(notebook)]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(cell: dict[str, Any], names: dict[str, Any]) -> list[dict[str, Any]]:
    body = ast.parse("".join(cell["source"])).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(text)})
    if value is not None:
        picture = getattr(value, "_repr_svg_", None)
        data = {"image/svg+xml": picture()} if picture else {"text/plain": repr(value)}
        outputs.append(
            {
                "output_type": "display_data",
                "data": {kind: _lines(content) for kind, content in data.items()},
                "metadata": {},
            }
        )
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = code_cells(notebook)
    for number, (cell, outputs) in enumerate(zip(cells, run_cells(notebook), strict=True), 1):
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
