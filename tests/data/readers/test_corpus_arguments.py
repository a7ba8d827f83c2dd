"""What a person types, and the corpora it stands for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from translucid.data.readers import Corpus, find_corpora
from translucid.errors import InputError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def find(
    *arguments: str, langs: str = "fr en", fields: tuple[str, str] | None = None
) -> list[Corpus]:
    source, target = langs.split()
    return find_corpora(arguments, source_lang=source, target_lang=target, fields=fields)


def names(corpus: Corpus) -> list[str]:
    return [str(path) for path in corpus.paths]


def refused(*arguments: str, langs: str = "fr en", fields: tuple[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        find(*arguments, langs=langs, fields=fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("train.fr", "train.en"),
        ("train.fr.gz", "train.en"),
        ("train.FR", "train.EN"),
        ("train.fra", "train.eng"),
        ("train.fr_FR", "train.en-GB"),
        ("europarl.en-fr.fr", "europarl.en-fr.en"),
        ("train.fr.txt", "train.en.txt"),
        ("news_fr.txt.gz", "news_en.txt.gz"),
        ("fr.txt", "en.txt"),
        ("src-train.txt", "tgt-train.txt"),
        ("train.src", "train.trg"),
        ("a/train.fr", "a/train.en"),
        ("un@deux.fr", "un@deux.en"),
        ("french.fr", "english.en"),  # the only two: different names, and yet a pair
    ],
)
def test_two_text_files_are_one_corpus_in_either_order(
    here: Path, source: str, target: str
) -> None:
    touch(source, target)
    for arguments in ((source, target), (target, source)):
        (corpus,) = find(*arguments)
        assert names(corpus) == [source, target]
        assert (corpus.format, corpus.weight) == ("text", 1.0)
    (swapped,) = find(source, target, langs="en fr") if "fr" in source else find(source, target)
    assert names(swapped) == ([target, source] if "fr" in source else [source, target])


def test_text_files_find_their_partner_by_name(here: Path) -> None:
    touch("a.fr", "b.fr", "a.en", "b.en", "x.tsv")
    corpora = find("a.fr", "b.fr", "x.tsv", "b.en", "a.en")
    assert [names(corpus) for corpus in corpora] == [["a.fr", "a.en"], ["b.fr", "b.en"], ["x.tsv"]]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.tsv", "tsv"),
        ("corpus.fr-en.tsv.gz", "tsv"),
        ("x.tab", "tsv"),
        ("x.jsonl", "jsonl"),
        ("x.ndjson", "jsonl"),
        ("x.json", "jsonl"),
        ("x.tmx", "tmx"),
        ("X.TMX.GZ", "tmx"),
        ("fr.po", "po"),
        ("x.pot", "po"),
        ("x.xlf", "xliff"),
        ("x.xliff.gz", "xliff"),
        ("x.sdlxliff", "xliff"),
        ("x.parquet", "parquet"),
    ],
)
def test_one_file_is_known_by_its_extension(here: Path, name: str, kind: str) -> None:
    touch(name)
    (corpus,) = find(name)
    assert corpus == Corpus((Path(name),), kind, 1.0, "fr", "en", None)
    assert corpus.name == name


def test_weights(here: Path) -> None:
    touch("a.fr", "a.en", "b.tmx", "c@home.tsv", "d@2.tsv", "e.tsv@2")
    corpora = find("a.fr@3", "a.en", "b.tmx@0.5", "c@home.tsv", "d@2.tsv@4", "lesson@1.5")
    assert [corpus.weight for corpus in corpora] == [3.0, 0.5, 1.0, 4.0, 1.5]
    assert find("a.fr", "a.en@3") == find("a.fr@3", "a.en@3.0") == find("a.fr@3", "a.en")


def test_a_file_of_that_very_name_wins_over_a_weight(here: Path) -> None:
    touch("x.fr@2.tsv", "x.fr@2")
    (corpus,) = find("x.fr@2.tsv")
    assert (names(corpus), corpus.weight) == (["x.fr@2.tsv"], 1.0)
    assert "'x.fr@2' has no partner" in refused("x.fr@2")


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf", "two", "", "1e999"])
def test_a_weight_must_be_a_number_above_zero(here: Path, weight: str) -> None:
    touch("x.tsv")
    message = refused(f"x.tsv@{weight}")
    assert f"'x.tsv@{weight}': there is no such file, and {weight!r} after the @" in message
    assert "give a number above 0, such as x.tsv@2 or x.tsv@0.5" in message


def test_the_weights_of_a_pair_must_agree(here: Path) -> None:
    touch("a.fr", "a.en")
    assert refused("a.fr@2", "a.en@3") == (
        "a.fr has weight 2 and a.en has weight 3, but they are one corpus: "
        "give one weight, or the same twice"
    )


def test_an_odd_text_file_out_names_the_partner_it_lacks(here: Path) -> None:
    touch("a.fr", "a.en", "b.en", "c.fr.txt", "deep/d.fr.gz")
    message = refused("a.fr", "a.en", "b.en")
    assert message.startswith("'b.en' has no partner: line-aligned text comes in two files")
    assert message.endswith("give b.fr as well")
    assert refused("c.fr.txt").endswith("give c.en.txt as well")
    assert refused("deep/d.fr.gz").endswith("give deep/d.en as well")


def test_two_files_of_one_side_are_no_pair(here: Path) -> None:
    touch("a.fr", "a.fra")
    assert "'a.fr' has no partner" in refused("a.fr", "a.fra")


@pytest.mark.parametrize("name", ["x.doc", "train.de", "readme", "notes.txt", "x.gz"])
def test_an_unknown_name_lists_what_is_known(here: Path, name: str) -> None:
    touch(name)
    message = refused(name)
    assert f"'{name}': the name shows neither a format nor the language of a text file." in message
    assert "NAME.fr and NAME.en" in message
    for extension in (".tsv", ".jsonl", ".tmx", ".po", ".xlf", ".parquet", ".gz"):
        assert extension in message


def test_a_missing_file_with_a_near_name(here: Path) -> None:
    touch("corpora/train.tsv.gz")
    assert refused("corpora/train.tsv") == (
        "'corpora/train.tsv': there is no such file; did you mean 'corpora/train.tsv.gz'?"
    )
    assert refused("corpora/q") == "'corpora/q': there is no such file"
    assert refused("nowhere/q.tsv") == (
        "'nowhere/q.tsv': there is no such file; there is no folder 'nowhere'"
    )
    assert "there is no such file" in refused("x" * 5000)
    assert "there is no such file" in refused("a\0b.tsv")


def test_a_link_that_leads_nowhere_is_a_missing_file(here: Path) -> None:
    Path("x.tsv").symlink_to("x.tsv")
    assert refused("x.tsv").startswith("'x.tsv': there is no such file")


def test_a_folder_a_pipe_and_standard_input(here: Path) -> None:
    Path("folder.tsv").mkdir()
    assert refused("folder.tsv") == "'folder.tsv' is a folder: give the files in it"
    assert "is a folder" in refused("")
    os.mkfifo("pipe.tsv")
    assert "'pipe.tsv' is not a regular file; a corpus is read more than once" in refused(
        "pipe.tsv"
    )
    assert "cannot come from standard input, since it is read more than once" in refused("-")


def test_nothing_given() -> None:
    assert refused().startswith("no corpus was given. Known are two text files")


def test_a_file_given_twice(here: Path) -> None:
    touch("x.tsv", "a.fr", "a.en")
    assert refused("x.tsv", "./x.tsv") == (
        "x.tsv was given twice; to see it twice as often, give it a weight: x.tsv@2"
    )
    assert "a.fr + a.en was given twice" in refused("a.fr", "a.en", "a.fr", "a.en")
    assert refused("lesson", "lesson").endswith("give it a weight: lesson@2")


def test_the_lesson_is_built_in_unless_a_file_has_its_name(here: Path) -> None:
    for langs in ("fr en", "en fr", "fr-FR en-GB"):
        source, target = langs.split()
        assert find("lesson", langs=langs) == [Corpus((), "lesson", 1.0, source, target, None)]
    assert find("lesson@2")[0].name == "lesson"
    assert refused("lesson", langs="de en") == (
        "the built-in lesson is in fr and en, not in de and en"
    )
    touch("lesson")
    assert "'lesson': the name shows neither a format" in refused("lesson")


def test_fields_go_to_the_formats_that_have_them(here: Path) -> None:
    touch("x.tsv", "x.jsonl", "x.parquet", "x.tmx")
    corpora = find("x.tsv", "x.jsonl", "x.parquet", "x.tmx", fields=("a", "b"))
    assert [corpus.fields for corpus in corpora] == [("a", "b")] * 3 + [None]
    assert "but no corpus has fields: only jsonl, parquet, tsv have" in refused(
        "x.tmx", fields=("a", "b")
    )
    for fields in (("a", "a"), ("", "b")):
        assert "give two different names (or column numbers)" in refused("x.tsv", fields=fields)


def test_languages_are_checked_first(here: Path) -> None:
    assert "is not a language code" in refused("x.tsv", langs="french english")


def test_size_counts_both_files(here: Path) -> None:
    Path("a.fr").write_bytes(b"12345")
    Path("a.en").write_bytes(b"123")
    (corpus,) = find("a.fr", "a.en")
    assert corpus.size() == 8
    assert find("lesson")[0].size() == 0
