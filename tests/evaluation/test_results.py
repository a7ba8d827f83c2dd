from __future__ import annotations

import json
from pathlib import Path

import pytest

from translucid.errors import InputError
from translucid.evaluation.compare import System, compare
from translucid.evaluation.evaluate import Scoring, evaluate
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.results import (
    check_place,
    comparison_json,
    evaluation_json,
    in_json,
    in_lines,
    save,
)
from translucid.evaluation.system import given_outputs
from translucid.events import silent

RESULTS = {"scores.json": "{}", "settings.json": "{}", "translations.txt": "é\n"}
SCORING = Scoring("fr", "en", None, False, 10)
GIVEN = ReferenceSet("x", ("un", "deux"), (("one", "two"), ("One", "Two")))


def test_results_are_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    save(folder, {**RESULTS, "report.html": "old"})
    assert (folder / "translations.txt").read_text(encoding="utf-8") == "é\n"
    save(folder, RESULTS)
    assert sorted(path.name for path in folder.iterdir()) == sorted(RESULTS)
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    check_place(tmp_path / "nothing" / "here")
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty", RESULTS)


@pytest.mark.parametrize("name", ["notes.txt", "settings.json"])
def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="holds no results of an evaluation"):
        save(tmp_path, RESULTS)
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="holds no results of an evaluation"):
        check_place(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot be made: .*Give another place \(-o\)"):
        check_place(tmp_path / "file" / "results")


def test_lines_are_kept_one_a_text() -> None:
    assert in_lines(("a", "", "b\u2028c")) == "a\n\nb\u2028c\n"


def test_an_evaluation_as_json() -> None:
    found = evaluate("ours", GIVEN, given_outputs(["one", ""]), SCORING, None, silent)
    content = json.loads(in_json(evaluation_json(found, 5)))
    assert content["scores"][0]["cite"].startswith("BLEU|nrefs:2|bs:10|seed:12345|")
    assert [score["name"] for score in content["scores"]] == ["BLEU", "chrF2", "TER"]
    assert [score["higher_is_better"] for score in content["scores"]] == [True, True, False]
    assert content["length"] == {"translations": 1, "references": 2, "ratio": 0.5}
    assert content["flags"] == {"blank": 1, "exact": 1}
    assert content["perplexity"] is None
    assert content["worst"][0] | {"chrf": None} == {
        "line": 2,
        "source": "deux",
        "references": ["two", "Two"],
        "translation": "",
        "chrf": None,
        "confidence": None,
        "flags": [],
    }
    assert content["by_source_length"][0]["words"] == "1–5"
    assert content["by_word_frequency"]["seen_in"] == "the references"


def test_a_comparison_as_json() -> None:
    systems = [System("a", ("one", "two")), System("b", ("one", "deux"))]
    content = json.loads(in_json(comparison_json(compare(systems, GIVEN, SCORING, 10, silent), 5)))
    assert content["baseline"] == "a"
    assert content["against_baseline"] == [
        {"system": "b", "better": 0, "worse": 1, "alike": 1, "same": 1}
    ]
    assert content["most_different"][0]["translations"] == {"a": "two", "b": "deux"}
    assert [metric["metric"] for metric in content["metrics"]] == ["BLEU", "chrF2", "TER"]
