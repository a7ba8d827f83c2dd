"""A model on a reference set: its translations, its perplexity, and what they are worth."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from small_translators import sentences, write_random_model
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.evaluation.evaluate import Evaluation, Frequencies, score_outputs
from translucid.evaluation.metrics import Scoring
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.system import (
    Likelihood,
    Outputs,
    given_outputs,
    model_outputs,
    reference_likelihood,
)
from translucid.events import Event, Notice, Progress, silent
from translucid.translator import Candidate, Flags, Translation, Translator, load

SCORING = Scoring("fr", "en", None, False, 20)
SOURCES = tuple(sentences(12, seed=5))
SEARCH = SearchConfig(max_length=12)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(write_random_model(tmp_path_factory.mktemp("models") / "random"))


def scored(texts: list[str], references: list[str], sources: list[str] | None = None) -> Evaluation:
    given = ReferenceSet("x", tuple(sources or references), (tuple(references),))
    return score_outputs("ours", given, given_outputs(texts), SCORING, None, silent)


def test_a_model_that_writes_the_references_has_full_marks(translator: Translator) -> None:
    found = translator.translate(SOURCES, search=SEARCH)
    given = ReferenceSet("x", SOURCES, (model_outputs(found, None).texts,))
    result = score_outputs("random", given, model_outputs(found, None), SCORING, None, silent)
    assert result.count_flags()["exact"] == len(SOURCES)
    assert result.worst(3) == ()
    assert len(result.best(3)[0].translation) == max(map(len, given.references[0]))
    scores = {score.name: score.score for score in result.scores}
    assert scores["chrF2"] == pytest.approx(100)
    assert scores["TER"] == pytest.approx(0)
    for one, translation in zip(result.sentences, found, strict=True):
        mean = sum(translation.log_probs) / len(translation.log_probs)
        assert one.confidence == pytest.approx(math.exp(mean))


def test_perplexity_is_that_of_each_reference_by_itself(translator: Translator) -> None:
    given = ReferenceSet(
        "x", ("chat noir", "", "eau", "livre"), (("black cat", "house", "", "old book"),)
    )
    found = reference_likelihood(translator, given, None, 2, silent)
    each = [
        translator.score([s], [t])[0]
        for s, t in (("chat noir", "black cat"), ("livre", "old book"))
    ]
    total = sum(one.log_prob for one in each)
    tokens = sum(len(one.log_probs) for one in each)
    assert found is not None
    assert (found.pairs, found.tokens) == (2, tokens)
    assert tokens >= 2 + len(["black", "cat"]) + len(["old", "book"])  # with both ends
    assert found.perplexity == pytest.approx(math.exp(-total / tokens), rel=1e-4)
    characters = len("black cat\n") + len("old book\n")
    assert found.bits_per_character == pytest.approx(-total / math.log(2) / characters, rel=1e-4)


def test_there_is_no_perplexity_of_blank_lines(translator: Translator) -> None:
    given = ReferenceSet("x", ("", "a"), (("b", " "),))
    assert reference_likelihood(translator, given, None, 2, silent) is None


def test_a_pair_too_long_to_be_scored_is_left_out_and_told(tmp_path: Path) -> None:
    """It was translated in parts; the scores of all others must not be lost for it."""
    learned = load(write_random_model(tmp_path / "m", positions="learned", max_positions=12))
    long = "a b c d e f g h i j k l"
    given = ReferenceSet("x", ("a", "b", long), (("c", long, "d"),))
    events: list[Event] = []
    found = reference_likelihood(learned, given, None, 2, events.append)
    assert found is not None
    assert found.pairs == 1
    assert found.log_prob == pytest.approx(learned.score(["a"], ["c"])[0].log_prob)
    assert [event.message for event in events if isinstance(event, Notice)] == [
        "perplexity leaves out 2 pairs too long to be scored at once"
    ]


def test_a_hopeless_model_has_a_finite_perplexity() -> None:
    assert math.isfinite(Likelihood(-1e9, 10, 10, 1).perplexity)


def test_flags_of_translations_are_counted(tmp_path: Path) -> None:
    random = load(write_random_model(tmp_path / "random", kind="char"))
    outputs = model_outputs(random.translate(["chat", "ζ"]), None)
    given = ReferenceSet("x", ("chat", "ζ"), (("cat", "z"),))
    found = score_outputs("random", given, outputs, SCORING, None, silent)
    counts = found.count_flags()
    for flag in ("truncated", "looped", "unknown"):
        assert counts[flag] == sum(getattr(flags, flag) for flags in outputs.flags)
    assert counts["truncated"] + counts["looped"] + counts["unknown"] > 0


def test_worst_and_best_sentences() -> None:
    found = scored(
        ["a good one", "xyz", "xyz", "", "an exact one", ""],
        ["a good one!", "quite another", "quite another, and longer", "blank", "an exact one", ""],
    )
    assert [one.line for one in found.worst(9)] == [3, 2, 4, 1]  # of equals the longest first
    assert [one.line for one in found.best(9)] == [5, 1, 3, 2, 4]
    assert [one.line for one in found.worst(2)] == [3, 2]
    assert found.count_flags() == {"blank": 1, "exact": 1}


def test_words_are_rare_by_the_training_data_or_else_by_the_references() -> None:
    by_references = scored(["a b"], ["a c"])
    assert by_references.frequency_origin == "the references"
    assert [group.label for group in by_references.by_frequency] == ["0", "1"]
    given = ReferenceSet("x", ("a",), (("a c",),))
    seen = Frequencies({"a": 2000, "c": 1}, "the training data")
    found = score_outputs("x", given, given_outputs(["a b"]), SCORING, seen, silent)
    assert found.frequency_origin == "the training data"
    assert [group.label for group in found.by_frequency] == ["0", "1", "1,000 or more"]


def test_tokenised_bleu_comes_on_request() -> None:
    given = ReferenceSet("x", ("a",), (("the man's dog",),))
    scoring = Scoring("fr", "en", None, True, 0)
    found = score_outputs("x", given, given_outputs(["the man's dog"]), scoring, None, silent)
    assert [score.name for score in found.scores] == [
        "BLEU", "chrF2", "TER", "BLEU (lower-cased, Moses-tokenised)",
    ]  # fmt: skip
    assert found.scores[0].score == 0  # three words have no four in a row
    assert found.scores[3].score == pytest.approx(100)


def test_progress_and_warnings_are_events() -> None:
    events: list[Event] = []
    given = ReferenceSet("x", ("a",) * 100, (("It is.",) * 100,))
    score_outputs("ours", given, given_outputs(["It is ."] * 100), SCORING, None, events.append)
    assert any(isinstance(event, Notice) for event in events)
    assert events[-1] == Progress("scoring", 3, 3, "metrics")


def test_there_must_be_a_translation_for_each_sentence() -> None:
    given = ReferenceSet("x", ("a", "b"), (("A", "B"),))
    with pytest.raises(InputError, match="ours has 1 translations of 2 sentences"):
        score_outputs("ours", given, given_outputs(["A"]), SCORING, None, silent)


def test_a_translation_is_one_line() -> None:
    translation = Translation(
        "a", (Candidate("a\nb\r\nc\rd", (), (), 0.0, 0, 0.0, "end"),), Flags(), None
    )
    assert model_outputs([translation], None).texts == ("a b c d",)


def test_of_a_file_only_the_text_is_known() -> None:
    assert given_outputs(["a"]) == Outputs(("a",), (None,), (Flags(),), None)


def test_a_calibrated_confidence_is_measured() -> None:
    """Half of the translations are right; the model is sure of these, but for one."""
    texts = ["the black cat", "zzz"] * 10
    candidate = Candidate("", ("x",), (-0.1, -0.1), -0.2, 2, -0.1, "end")
    found = model_outputs(
        [
            Translation(
                "x",
                (replace(candidate, text=text),),
                Flags(),
                None,
                confidence=0.9 if text != "zzz" and number else 0.2,
            )
            for number, text in enumerate(texts)
        ],
        None,
    )
    given = ReferenceSet("x", tuple(texts), (("the black cat",) * 20,))
    trust = score_outputs("m", given, found, SCORING, None, silent).confidence_quality
    assert trust is not None
    assert (trust.doubtful, trust.doubted_correctly) == (11, 10)
    assert trust.auc == pytest.approx((9 * 10 + 10 / 2) / 100)
    assert [one.acceptable for one in trust.curve][-1] == 1.0
    assert scored(["the cat"], ["the cat"]).confidence_quality is None
