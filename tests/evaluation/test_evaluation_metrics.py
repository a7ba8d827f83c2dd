"""Scores, signatures and intervals are those of sacrebleu's own command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import sacrebleu_command
from scored_texts import damaged, references
from translucid.errors import InputError
from translucid.evaluation.metrics import (
    bleu_metric,
    check_case,
    check_memory,
    check_tokenized,
    evaluation_metrics,
    measure_lengths,
    score_corpus,
    sentence_chrf,
    tokenized_bleu_metric,
)

REFERENCES = references(60, seed=1)
TRANSLATIONS = damaged(REFERENCES, 0.4, seed=2)
SECOND = damaged(REFERENCES, 0.2, seed=3)


def ours(
    translations: list[str], refs: list[list[str]], resamples: int, tokenizer: str | None = None
) -> list[dict[str, object]]:
    return [
        vars(score_corpus(name, metric, translations, refs, resamples))
        for name, metric in evaluation_metrics("en", tokenizer).items()
    ]


@pytest.mark.parametrize("several", [False, True], ids=["one reference", "two references"])
@pytest.mark.parametrize("resamples", [0, 150], ids=["plain", "bootstrap"])
def test_scores_equal_sacrebleus_command_line(
    tmp_path: Path, several: bool, resamples: int
) -> None:
    refs = [REFERENCES, SECOND] if several else [REFERENCES]
    files = [sacrebleu_command.write_lines(tmp_path / f"r{i}", ref) for i, ref in enumerate(refs)]
    output = sacrebleu_command.write_lines(tmp_path / "output", TRANSLATIONS)
    more = ("--confidence", "--confidence-n", str(resamples)) if resamples else ()
    theirs = sacrebleu_command.scores(files, output, *more)
    for our, their in zip(ours(TRANSLATIONS, refs, resamples), theirs, strict=True):
        assert our["name"] == their["name"]
        assert our["signature"] == their["signature"]
        assert our["score"] == pytest.approx(their["score"], abs=1e-8)
        assert our["detail"] == their.get("verbose_score", "")
        if resamples:  # sacrebleu takes the mean in single precision
            assert our["mean"] == pytest.approx(their["confidence_mean"], abs=1e-5)
            assert our["margin"] == pytest.approx(their["confidence_var"], abs=1e-5)
        else:
            assert our["mean"] is our["margin"] is None


def test_a_score_is_cited_as_sacrebleu_writes_it(tmp_path: Path) -> None:
    output = sacrebleu_command.write_lines(tmp_path / "output", TRANSLATIONS)
    given = sacrebleu_command.write_lines(tmp_path / "given", REFERENCES)
    options = ("-w", "2", "-f", "text", "-q", "--confidence", "--confidence-n", "100")
    printed = sacrebleu_command.sacrebleu(given, "-i", output, *sacrebleu_command.METRICS, *options)
    cited = [
        score_corpus(name, metric, TRANSLATIONS, [REFERENCES], 100).cite()
        for name, metric in evaluation_metrics("en", None).items()
    ]
    assert cited == [line.strip() for line in printed.splitlines()]


@pytest.mark.parametrize(
    ("language", "tokenizer", "signed"),
    [
        ("zh", None, "tok:zh"),
        ("ja", None, "tok:char"),
        ("de", None, "tok:13a"),
        (None, None, "tok:13a"),
        ("de", "intl", "tok:intl"),
        ("zh", "none", "tok:none"),
    ],
)
def test_bleus_tokenizer_stands_in_the_signature(
    language: str | None, tokenizer: str | None, signed: str
) -> None:
    metric = bleu_metric(language, tokenizer)
    metric.corpus_score(TRANSLATIONS, [REFERENCES])
    assert signed in str(metric.get_signature())


def test_chinese_is_scored_by_characters(tmp_path: Path) -> None:
    refs, translations = ["我喜欢喝茶。", "他在图书馆看书。"], ["我爱喝茶。", "他在家看书。"]
    files = [sacrebleu_command.write_lines(tmp_path / "refs", refs)]
    output = sacrebleu_command.write_lines(tmp_path / "output", translations)
    theirs = sacrebleu_command.scores(files, output, "--tokenize", "zh")[0]
    our = score_corpus("BLEU", bleu_metric("zh-Hans", None), translations, [refs], 0)
    assert (our.score, our.signature) == (pytest.approx(theirs["score"]), theirs["signature"])


def test_a_tokenizer_that_bleu_does_not_have() -> None:
    with pytest.raises(InputError, match=r"no tokenizer 'moses'; it has 13a, intl, zh"):
        bleu_metric("en", "moses")


def test_a_tokenizer_whose_package_is_missing() -> None:
    with pytest.raises(InputError, match=r"'ja-mecab' cannot be used(?s:.*)pip install sacrebleu"):
        bleu_metric("ja", "ja-mecab")


def test_intervals_of_a_set_with_blank_lines() -> None:
    """Resamples of blank lines only are drawn too; sacrebleu 2.6.0 itself fails on them."""
    translations, refs = ["", "", "yes it is"], ["", "", "yes it was"]
    for found in ours(translations, [refs], 200):
        assert isinstance(found["mean"], float)
        assert isinstance(found["margin"], float)


def test_lower_cased_tokenised_bleu_is_bleu_of_text_that_moses_has_divided(tmp_path: Path) -> None:
    refs = ['Der Mann sagte: "Ich gehe."', "Es kostet 5,50 Euro am 3. Tag."]
    output = ['Der mann sagt: "ich gehe".', "Es kostet 5,50 Euro am 3. tag."]
    divided = (
        ['der mann sagte : " ich gehe . "', "es kostet 5,50 euro am 3. tag ."],
        ['der mann sagt : " ich gehe " .', "es kostet 5,50 euro am 3. tag ."],
    )
    files = [sacrebleu_command.write_lines(tmp_path / str(i), d) for i, d in enumerate(divided)]
    options = ("--tokenize", "none", "--smooth-method", "none", "--force")
    theirs = sacrebleu_command.scores(files[:1], files[1], *options)[0]
    metric = tokenized_bleu_metric("de")
    found = score_corpus("BLEU", metric, output, [refs], 0)
    assert 0 < found.score == pytest.approx(theirs["score"], abs=1e-8)
    assert "case:lc" in found.signature
    assert "tok:moses-norm-de-translucid1|smooth:none" in found.signature


def test_lengths_are_counted_in_words_of_bleu() -> None:
    found = measure_lengths(bleu_metric("en", None), ["a b, c"], [["a b c d e."]])
    assert (found.translations, found.references) == (4, 6)
    assert found.ratio == pytest.approx(4 / 6)
    assert measure_lengths(bleu_metric("en", None), ["x"], [[""]]).ratio is None


def test_chrf_of_a_sentence() -> None:
    same, other = sentence_chrf(["the cat", "xyz"], [["the cat", "the dog"]])
    assert (same, other) == (100.0, 0.0)
    assert sentence_chrf(["the cat"], [["dogs"], ["the cat"]]) == [100.0]


def test_tokenised_text_is_noticed() -> None:
    assert check_tokenized("ours", ["It is ."] * 99 + ["It is."]) is None
    notice = check_tokenized("ours", ["It is ."] * 100)
    assert notice is not None
    assert "100 translations of ours end in ' .'" in notice.message


def test_capitals_on_one_side_only_are_noticed() -> None:
    cased, lower = ["It is.", "He was.", "so be it"], ["it is.", "he was.", "so be it"]
    notice = check_case("ours", lower, [cased])
    assert notice is not None
    assert "2 references have capitals and the translations of ours none" in notice.message
    notice = check_case("ours", cased, [lower])
    assert notice is not None
    assert "2 translations of ours have capitals and the references none" in notice.message
    assert check_case("ours", ["it is.", "He was.", "so be it"], [cased]) is None
    assert check_case("ours", ["it is.", "he was."], [["it is.", "He was."]]) is None
    assert check_case("ours", lower, [lower]) is check_case("ours", [], [[]]) is None


def test_the_memory_of_a_large_test() -> None:
    assert check_memory(5_000, 1000, 10_000) is None
    notice = check_memory(100_000, 1000, 10_000)
    assert notice is not None
    assert "the tests of 100,000 sentences take about 10 GB" in notice.message
