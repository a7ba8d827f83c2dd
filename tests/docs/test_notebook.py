"""The example notebook: its cells run in order, and its stored outputs are what they give."""

from __future__ import annotations

import json

from doc_pages import ROOT
from run_notebook import code_cells, run_cells

NOTEBOOK = ROOT / "examples" / "inside-a-transformer.ipynb"


def test_stored_outputs_are_those_of_the_cells() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell, outputs in zip(cells, run_cells(notebook), strict=True):
        kinds = [
            [list(output.get("data", [])) for output in out] for out in (cell["outputs"], outputs)
        ]
        assert kinds[0] == kinds[1]
        if "varies" not in cell["metadata"].get("tags", []):
            stored = [output.get("text") for output in cell["outputs"]]
            assert stored == [output.get("text") for output in outputs]


def test_it_is_small_and_has_pictures() -> None:
    assert NOTEBOOK.stat().st_size < 500_000
    assert NOTEBOOK.read_text(encoding="utf-8").count("image/svg+xml") >= 5
