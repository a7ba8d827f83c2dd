from __future__ import annotations

import json
from pathlib import Path

import pytest

from translucid.errors import InputError
from translucid.evaluation.compare import compare
from translucid.evaluation.evaluate import score_outputs
from translucid.evaluation.metrics import Scoring
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.results import (
    check_folder,
    dump_json,
    join_lines,
    write_results,
)
from translucid.evaluation.system import System, given_outputs
from translucid.events import silent

RESULTS = {"scores.json": "{}", "settings.json": "{}", "translations.txt": "é\n"}
SCORING = Scoring("fr", "en", None, False, 10)
GIVEN = ReferenceSet("x", ("un", "deux"), (("one", "two"), ("One", "Two")))


def test_results_are_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    write_results(folder, {**RESULTS, "report.html": "old"})
    assert (folder / "translations.txt").read_text(encoding="utf-8") == "é\n"
    write_results(folder, RESULTS)
    assert sorted(path.name for path in folder.iterdir()) == sorted(RESULTS)
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    check_folder(tmp_path / "nothing" / "here")
    (tmp_path / "empty").mkdir()
    write_results(tmp_path / "empty", RESULTS)


@pytest.mark.parametrize("name", ["notes.txt", "settings.json"])
def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="has no results of an evaluation"):
        write_results(tmp_path, RESULTS)
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="has no results of an evaluation"):
        check_folder(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot be created: .*Give another one \(-o\)"):
        check_folder(tmp_path / "file" / "results")


def test_lines_are_kept_one_per_text() -> None:
    assert join_lines(("a", "", "b\u2028c")) == "a\n\nb\u2028c\n"


def test_an_evaluation_as_json() -> None:
    found = score_outputs("ours", GIVEN, given_outputs(["one", ""]), SCORING, None, silent)
    content = json.loads(dump_json(found.to_json(5)))
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
    found = compare(systems, GIVEN, target="en", resamples=10, trials=10)
    content = json.loads(dump_json(found.to_json(5)))
    assert content["baseline"] == "a"
    assert content["against_baseline"] == [
        {"system": "b", "better": 0, "worse": 1, "alike": 1, "same": 1}
    ]
    assert content["most_different"][0]["translations"] == {"a": "two", "b": "deux"}
    assert [metric["metric"] for metric in content["metrics"]] == ["BLEU", "chrF2", "TER"]
