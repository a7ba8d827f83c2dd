"""Which of its source languages a model takes a text for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import translucid
from small_translators import write_random_model
from translucid.checksums import write_checksums
from translucid.cli.main import app
from translucid.decoding.config import SearchConfig
from translucid.errors import DataError, InputError
from translucid.interpret.ablation import disable_heads
from translucid.text.tokenizer import FIRST_PIECE
from translucid.translator import SourceLanguages, Translator, load, save_source_languages
from translucid.translator.source_language import LANGUAGES, read_source_languages

TWO_WAYS = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}
QUICK = SearchConfig(method="greedy", max_length=4)
FRENCH, ENGLISH = "où est le chat été", "the dog where is it"


def model_of(folder: Path) -> Path:
    """A model of two directions that knows the letters of two sentences."""
    model = write_random_model(folder, generation=TWO_WAYS)
    tokenizer = load(model).tokenizer
    counts = {
        language: torch.from_numpy(
            np.bincount(tokenizer.encode(text), minlength=tokenizer.vocab_size)
        )
        for language, text in (("fr", FRENCH), ("en", ENGLISH))
    }
    save_source_languages(model, SourceLanguages.from_counts(counts))
    return model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_of(tmp_path_factory.mktemp("two") / "both")


@pytest.fixture(scope="module")
def both(model: Path) -> Translator:
    return load(model)


def read_with(translator: Translator, texts: list[str], target: str | None = None) -> list[str]:
    """The tags that the sources begin with."""
    found = translator.translate(texts, target=target, search=QUICK, alignment=True)
    return [one.alignment.source_tokens[0] for one in found if one.alignment is not None]


def test_each_text_is_translated_out_of_its_own_language(both: Translator) -> None:
    assert read_with(both, [FRENCH, ENGLISH, FRENCH]) == ["<tag0>", "<tag1>", "<tag0>"]
    assert both.target_language(None, [FRENCH]) == "en"
    assert both.target_language(None, [FRENCH, ENGLISH, ENGLISH]) == "fr"


def test_who_says_the_language_is_obeyed(both: Translator) -> None:
    assert read_with(both, [FRENCH, ENGLISH], target="fr") == ["<tag1>", "<tag1>"]


def test_a_text_that_fits_all_is_in_the_first(both: Translator) -> None:
    assert both.target_language(None, [""]) == "en"
    assert both.translate([""])[0].text == ""


def test_without_a_text_nothing_is_known(both: Translator) -> None:
    with pytest.raises(InputError, match="translates into en, fr: say which"):
        both.target_language(None)


def test_stream_score_and_explain_know_it_too(both: Translator) -> None:
    *_, last = both.stream(ENGLISH, search=QUICK)
    assert last.translation is not None
    assert last.translation.text == both.translate(ENGLISH, target="fr", search=QUICK).text
    assert both.score([ENGLISH], ["été"]) == both.score([ENGLISH], ["été"], target="fr")
    trace = translucid.explain(both, ENGLISH, search=QUICK)
    assert trace.source_tokens[0].piece == "→ fr"


def test_every_pair_is_scored_in_its_own_direction(both: Translator) -> None:
    alone = [both.score([text], ["été it"])[0].log_prob for text in (FRENCH, ENGLISH)]
    together = both.score([FRENCH, ENGLISH], ["été it"] * 2)
    assert [one.log_prob for one in together] == pytest.approx(alone, rel=1e-5)
    other = both.score([FRENCH], ["été it"], target="fr")[0].log_prob
    assert other != pytest.approx(alone[0], rel=1e-3)


def test_a_changed_twin_knows_the_languages_too(both: Translator) -> None:
    assert disable_heads(both, []).target_language(None, [ENGLISH]) == "fr"


def test_what_cannot_be_is_refused_without_texts_too(both: Translator) -> None:
    with pytest.raises(InputError, match="does not translate into 'de'"):
        both.translate([], target="de")


def test_of_several_targets_of_a_language_one_must_be_said(model: Path) -> None:
    translator = load(model)
    translator.generation = translator.generation.replace(
        directions=[("fr", "en"), ("fr", "de"), ("en", "de")], tags={"en": 4, "de": 5}
    )
    assert translator.target_language(None, [ENGLISH]) == "de"
    with pytest.raises(InputError, match="translates into en, de: say which"):
        translator.target_language(None, [FRENCH])
    assert translator.target_language(None, ["  "]) == "en"  # whatever it is in, it stays blank


@given(st.data())
def test_the_likeliest_language_by_counting(data: st.DataObject) -> None:
    pieces = st.integers(FIRST_PIECE, FIRST_PIECE + 5)
    corpora = {name: data.draw(st.lists(pieces, max_size=30)) for name in ("a", "b")}
    text = data.draw(st.lists(st.one_of(pieces, st.integers(0, FIRST_PIECE - 1)), max_size=8))
    size = FIRST_PIECE + 6
    found = SourceLanguages.from_counts(
        {name: np.bincount(c, minlength=size) for name, c in corpora.items()}
    )

    def likelihood(corpus: list[int]) -> float:
        known = [token for token in text if token >= FIRST_PIECE]
        return float(np.prod([(corpus.count(t) + 0.5) / (len(corpus) + 0.5 * size) for t in known]))

    one, other = likelihood(corpora["a"]), likelihood(corpora["b"])
    if abs(one - other) > 1e-3 * max(one, other):
        assert found.detect(text, ("a", "b")) == ("a" if one > other else "b")


@pytest.mark.parametrize("content", [b"", b"no tensors"])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    model = model_of(tmp_path / "both")
    (model / LANGUAGES).write_bytes(content)
    write_checksums(model)
    with pytest.raises(DataError, match=rf"{LANGUAGES}.*\n?.*Delete {LANGUAGES}"):
        load(model)


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    model = model_of(tmp_path / "both")
    with pytest.raises(DataError, match="needs one number for each of 9 tokens of fr, en"):
        read_source_languages(model, ["fr", "en"], 9)
    size = load(model).tokenizer.vocab_size
    spoiled = SourceLanguages({"fr": np.full(size, np.nan), "en": np.zeros(size)})
    save_source_languages(model, spoiled)
    with pytest.raises(DataError, match=f"needs one number for each of {size} tokens"):
        load(model)
    save_source_languages(model, SourceLanguages({"fr": np.zeros(size), "en": np.zeros(size)}))
    with pytest.raises(DataError, match="tokens of fr, de"):
        read_source_languages(model, ["fr", "de"], size)


def test_it_is_kept_inside_a_model_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a model directory"):
        save_source_languages(tmp_path / "none", SourceLanguages({}))


def test_a_file_is_of_one_language_and_it_is_told_which(model: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text(f"{ENGLISH}\n{ENGLISH}\n{FRENCH}\n", encoding="utf-8")
    options = ["-i", str(lines), "--method", "greedy", "--max-length", "4"]
    guessed = CliRunner().invoke(app, ["translate", "-m", str(model), *options])
    said = CliRunner().invoke(app, ["translate", "-m", str(model), *options, "--to", "fr"])
    assert guessed.exit_code == 0, guessed.output
    assert guessed.stdout == said.stdout
    assert f"{lines}: into fr; --to LANG chooses another language" in guessed.stderr
    assert "--to LANG" not in said.stderr
    other = CliRunner().invoke(app, ["translate", "-m", str(model), *options, "--to", "en"])
    assert other.stdout != said.stdout


def test_scores_of_a_file_do_not_depend_on_the_size_of_batches(model: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text(f"{ENGLISH}\n" * 16 + f"{FRENCH}\n", encoding="utf-8")
    options = ["score", "-m", str(model), "--src", str(lines), "--tgt", str(lines)]
    one, many = (CliRunner().invoke(app, [*options, "--batch-size", size]) for size in "19")
    assert one.exit_code == 0, one.output
    assert one.stdout == many.stdout
    assert "into fr" in one.stderr


def test_heads_are_measured_in_the_direction_of_the_file(model: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text(f"{ENGLISH}\n" * 3, encoding="utf-8")
    options = ["heads", "-m", str(model), "--src", str(lines), "--json"]
    guessed = CliRunner().invoke(app, options)
    assert guessed.exit_code == 0, guessed.output
    assert guessed.stdout == CliRunner().invoke(app, [*options, "--to", "fr"]).stdout
