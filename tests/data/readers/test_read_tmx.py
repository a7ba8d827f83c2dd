"""Translation memories."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_writers import corpus_of, read_all, save, skipped

from translucid.data.readers import Example, Pair, Skip
from translucid.errors import DataError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.tmx"


def write(path: Path, *units: str) -> None:
    body = "\n".join(f"<tu>{unit}</tu>" for unit in units)
    save(path, f'<tmx version="1.4"><header/><body>\n{body}\n</body></tmx>')


def tuv(language: str, text: str) -> str:
    return f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>'


@pytest.mark.parametrize(
    ("french", "english"), [("fr", "en"), ("fr-FR", "EN_us"), ("FR_ca", "en-GB"), ("FRA", "eng")]
)
def test_codes_with_regions_in_any_order(path: Path, french: str, english: str) -> None:
    write(path, tuv(french, "un") + tuv(english, "one"), tuv(english, "two") + tuv(french, "deux"))
    assert read_all(corpus_of(path, "tmx"))[0] == [Pair("un", "one", 2), Pair("deux", "two", 3)]
    swapped = read_all(corpus_of(path, "tmx", langs="en fr"))[0]
    assert swapped == [Pair("one", "un", 2), Pair("two", "deux", 3)]


def test_the_older_attribute_lang(path: Path) -> None:
    write(path, '<tuv lang="FR"><seg>un</seg></tuv><tuv lang="EN"><seg>one</seg></tuv>')
    assert read_all(corpus_of(path, "tmx"))[0] == [Pair("un", "one", 2)]


def test_several_variants_give_every_combination(path: Path) -> None:
    write(path, tuv("en", "a") + tuv("fr-FR", "b") + tuv("fr-CA", "c") + tuv("de", "d"))
    assert read_all(corpus_of(path, "tmx"))[0] == [Pair("b", "a", 2), Pair("c", "a", 2)]
    swapped = read_all(corpus_of(path, "tmx", langs="en fr"))[0]
    assert swapped == [Pair("a", "b", 2), Pair("a", "c", 2)]
    only = read_all(corpus_of(path, "tmx", langs="fr-CA en"))[0]
    assert only == [Pair("c", "a", 2)]


def test_a_unit_that_lacks_a_language_is_counted(path: Path) -> None:
    write(
        path,
        tuv("fr", "un") + tuv("en", "one"),
        tuv("fr", "deux") + tuv("de", "zwei"),
        "",
        '<tuv xml:lang="fr"/>' + tuv("en", "x"),
        "<tuv><seg>unnamed</seg></tuv>",
        tuv("fr", "") + tuv("en", "empty"),
    )
    pairs, report = read_all(corpus_of(path, "tmx"))
    assert pairs == [Pair("un", "one", 2), Pair("", "empty", 7)]
    assert skipped(report) == {"missing language": 4}
    assert report.skipped[Skip.MISSING_LANGUAGE].examples == [
        Example(3, "fr: deux | de: zwei"),
        Example(4, ""),
        Example(5, "en: x"),
        Example(6, "?: unnamed"),
    ]


def test_a_memory_in_other_languages_lists_them(path: Path) -> None:
    write(path, tuv("de-DE", "eins") + tuv("en", "one"), tuv("de-DE", "zwei") + tuv("en", "two"))
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "tmx"))
    assert caught.value.problem == (
        "no unit has both fr and en; languages in the file: de-DE (2), en (2)"
    ) or caught.value.problem.endswith("languages in the file: en (2), de-DE (2)")
    assert caught.value.remedy == "Give two of these as --from and --to."


def test_an_empty_memory_has_no_pairs(path: Path) -> None:
    write(path)
    assert read_all(corpus_of(path, "tmx"))[0] == []


def test_inline_markup_and_line_breaks(path: Path) -> None:
    write(path, tuv("fr", "un <hi>deux</hi><ph>{0}</ph>\ntrois") + tuv("en", "one"))
    (pair,) = read_all(corpus_of(path, "tmx"))[0]
    assert pair.source == "un deux\ntrois"
