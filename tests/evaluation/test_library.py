"""Evaluating and comparing from Python, in one call each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import translucid
from scored_texts import damaged, references
from small_translators import sentences, write_random_model
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.evaluation import ReferenceSet, System
from translucid.evaluation.evaluate import score_outputs
from translucid.evaluation.metrics import Scoring
from translucid.evaluation.system import load_systems, model_outputs
from translucid.events import silent
from translucid.translator import Translator, load

SOURCES = sentences(8, seed=5)
REFERENCES = references(8, seed=6)
SEARCH = SearchConfig(max_length=9)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_random_model(tmp_path_factory.mktemp("models") / "random"))


def test_one_call_translates_and_scores(model: Translator, tmp_path: Path) -> None:
    found = translucid.evaluate(
        model, sources=SOURCES, references=REFERENCES, search=SEARCH, resamples=20
    )
    test = ReferenceSet.from_texts(SOURCES, REFERENCES)
    outputs = model_outputs(model.translate(SOURCES, search=SEARCH), None)
    scoring = Scoring("fr", "en", None, False, 20)
    expected = score_outputs("random", test, outputs, scoring, None, silent)
    assert found.scores == expected.scores
    assert found.bleu == expected.scores[0]
    assert found.chrf.name == "chrF2"
    assert found.ter.name == "TER"
    assert "tok:13a" in found.bleu.signature
    assert found.likelihood is not None
    (system,) = found.settings["systems"]
    assert system["models"] == [str(model.folders[0])]
    assert system["search"]["max_length"] == 9
    found.save(tmp_path / "results")
    saved = json.loads((tmp_path / "results" / "scores.json").read_text(encoding="utf-8"))
    assert saved == json.loads(json.dumps(found.to_json()))
    lines = (tmp_path / "results" / "translations.txt").read_text(encoding="utf-8")
    assert lines == "".join(f"{text}\n" for text in outputs.texts)


def test_translations_made_elsewhere_are_scored(model: Translator) -> None:
    found = translucid.evaluate(
        System("theirs", tuple(REFERENCES)),
        sources=SOURCES,
        references=[REFERENCES, damaged(REFERENCES, 0.5, seed=1)],
        target="en",
        resamples=0,
    )
    assert found.bleu.score == pytest.approx(100)
    assert found.bleu.signature.startswith("nrefs:2|")
    assert found.settings["systems"] == [{"name": "theirs"}]
    with pytest.raises(InputError, match="belong to the System"):
        translucid.evaluate(
            System("x", ("a",)), sources=["a"], references=["a"], search=SearchConfig()
        )


def test_a_model_is_compared_with_translations(model: Translator, tmp_path: Path) -> None:
    found = translucid.compare(
        [System.from_model(model, SEARCH), System("theirs", tuple(REFERENCES))],
        sources=SOURCES,
        references=REFERENCES,
        resamples=20,
        trials=20,
    )
    assert found.systems == ("random", "theirs")
    assert found.metrics[0].systems[1].score == pytest.approx(100)
    assert found.settings["trials"] == 20
    found.save(tmp_path / "results")
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "translations-1-random.txt",
        "translations-2-theirs.txt",
        "scores.json",
        "settings.json",
        "report.html",
    }
    (again,) = load_systems([tmp_path / "results" / "translations-2-theirs.txt"])
    test = ReferenceSet.from_texts(SOURCES, REFERENCES)
    assert again.translate(test, "en", 4, silent).texts == tuple(REFERENCES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either a test set, or both sources and references"),
        ({"sources": ["a"]}, "either a test set, or both sources and references"),
        ({"sources": "a", "references": ["b"]}, "give lists"),
        ({"sources": ["a"], "references": ["b", ["c"]]}, "do not mix them"),
        ({"sources": ["a", "b"], "references": ["b"]}, "2 sources and 1 references"),
        ({"sources": [], "references": []}, "give at least one sentence"),
    ],
)
def test_what_is_no_test_set(model: Translator, given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        translucid.evaluate(model, **given)  # type: ignore[arg-type]


def test_a_system_without_translations() -> None:
    test = ReferenceSet.from_texts(["a"], ["b"])
    with pytest.raises(InputError, match="neither translations nor a model"):
        translucid.evaluate(System("x"), test)
    with pytest.raises(InputError, match="x has 2 translations of 1 sentences"):
        translucid.evaluate(System("x", ("a", "b")), test)
