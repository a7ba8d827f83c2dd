"""Catalogues of gettext."""

from __future__ import annotations

import gettext
import gzip
import sys
from pathlib import Path

import polib
import pytest
from corpus_writers import corpus_of, po, read_all, save, skipped, write_po

from translucid.data.readers import Example, Pair, Skip
from translucid.errors import DataError, MissingPackageError

HEADER = 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n"Content-Type: text/plain; charset={}\\n"\n\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "messages.po"


def broken(path: Path, text: str) -> DataError:
    save(path, text)
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "po", langs="en fr"))
    return caught.value


CATALOGUE = r"""# A comment
msgid ""
msgstr ""
"Language: fr_FR\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#: app.c:1
msgctxt "menu"
msgid "Open \"file\"\t\\"
msgstr "Ouvrir « fichier »\t\\"

#, fuzzy, c-format
#| msgid "old"
msgid "guess"
msgstr "devinette"

msgid ""
"Two "
"lines\n"
msgstr ""
"Deux "
"lignes\n"

msgid "nothing"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

#~ msgid "gone"
#~ msgstr "parti"
"""


def test_a_catalogue(path: Path) -> None:
    save(path, CATALOGUE)
    pairs, report = read_all(corpus_of(path, "po", langs="en fr"))
    assert pairs == [
        Pair('Open "file"\t\\', "Ouvrir « fichier »\t\\", 8),
        Pair("Two lines\n", "Deux lignes\n", 18),
        Pair("%d file", "%d fichier", 28),
        Pair("%d files", "%d fichiers", 28),
    ]
    assert skipped(report) == {"header": 1, "fuzzy": 1, "untranslated": 1, "obsolete": 1}
    assert report.skipped[Skip.FUZZY].examples == [Example(13, "guess")]
    assert report.skipped[Skip.OBSOLETE].examples[0].text == "gone"


def test_the_language_it_translates_into_may_be_the_source(path: Path) -> None:
    save(path, CATALOGUE)
    swapped = read_all(corpus_of(path, "po", langs="fr en"))[0]
    straight = read_all(corpus_of(path, "po", langs="en fr"))[0]
    assert [(two, one, line) for one, two, line in straight] == [tuple(pair) for pair in swapped]


def test_a_header_may_leave_the_region_out(path: Path) -> None:
    save(path, HEADER.format("pt", "UTF-8") + 'msgid "one"\nmsgstr "um"\n')
    assert read_all(corpus_of(path, "po", langs="en pt-BR"))[0] == [Pair("one", "um", 6)]
    assert read_all(corpus_of(path, "po", langs="pt-BR en"))[0] == [Pair("um", "one", 6)]


def test_a_catalogue_in_another_language(path: Path) -> None:
    error = broken(path, HEADER.format("de", "UTF-8") + 'msgid "one"\nmsgstr "eins"\n')
    assert error.problem == "translates into 'de', which is neither en nor fr"
    assert "correct Language: in its header" in error.remedy


@pytest.mark.parametrize(
    ("name", "swapped"),
    [
        ("fr.po", True),
        ("app-fr.po", True),
        ("app.fr_FR.po.gz", True),
        ("fr/LC_MESSAGES/app.po", True),
        ("en.po", False),
        ("fr-en.po", False),
        ("app.po", False),
    ],
)
@pytest.mark.parametrize(
    "header", ["", HEADER.format("", "UTF-8"), HEADER.format("French", "UTF-8")]
)
def test_a_silent_header_leaves_it_to_the_name(
    tmp_path: Path, name: str, swapped: bool, header: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, header + 'msgid "a"\nmsgstr "b"\n')
    ((source, target, _),) = read_all(corpus_of(path, "po", langs="fr en"))[0]
    assert (source, target) == (("b", "a") if swapped else ("a", "b"))


def plural(path: Path, rule: str, forms: list[str]) -> list[tuple[str, str]]:
    header = f'msgid ""\nmsgstr ""\n"Language: fr\\n"\n{rule}\n'
    strings = "".join(f"msgstr[{number}] {po(form)}\n" for number, form in enumerate(forms))
    save(path, f'{header}msgid "one"\nmsgid_plural "many"\n{strings}')
    return [
        (pair.source, pair.target) for pair in read_all(corpus_of(path, "po", langs="en fr"))[0]
    ]


ARABIC = (
    '"Plural-Forms: nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : '
    'n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);\\n"\n'
)


def test_plural_forms_follow_the_rule_of_the_header(path: Path) -> None:
    assert plural(path, ARABIC, list("abcdef")) == [
        *(("many", "a"), ("one", "b"), ("many", "c"), ("many", "d"), ("many", "e"), ("many", "f"))
    ]
    assert gettext.c2py("n==0 ? 0 : n==1 ? 1 : 2")(1) == 1


@pytest.mark.parametrize(
    "rule", ["", '"Plural-Forms: nplurals=2; plural=n/0;\\n"', '"Plural-Forms: plural=(;\\n"']
)
def test_without_a_sound_rule_the_first_form_is_for_one(path: Path, rule: str) -> None:
    assert plural(path, rule, ["un", "plusieurs"]) == [("one", "un"), ("many", "plusieurs")]


def test_one_form_for_every_number_goes_with_both(path: Path) -> None:
    assert plural(path, "", ["x"]) == [("one", "x"), ("many", "x")]


def test_an_empty_plural_form_is_untranslated(path: Path) -> None:
    assert plural(path, "", ["un", ""]) == [("one", "un")]
    assert skipped(read_all(corpus_of(path, "po", langs="en fr"))[1])["untranslated"] == 1


def test_a_template_has_nothing_translated(tmp_path: Path) -> None:
    path = tmp_path / "x.pot"
    save(path, HEADER.format("", "CHARSET") + 'msgid "é"\nmsgstr ""\n')
    pairs, report = read_all(corpus_of(path, "po"))
    assert pairs == []
    assert skipped(report) == {"header": 1, "untranslated": 1}


@pytest.mark.parametrize("charset", ["ISO-8859-15", "KOI8-R", "UTF-8", "Shift_JIS"])
def test_the_charset_of_the_header(path: Path, charset: str) -> None:
    word = {"KOI8-R": "слово", "Shift_JIS": "言葉"}.get(charset, "été")
    text = HEADER.format("fr", charset) + f'msgid "word"\nmsgstr "{word}"\n'
    path.write_bytes(gzip.compress(text.encode(charset)))
    assert read_all(corpus_of(path, "po", langs="en fr"))[0][0].target == word


def test_a_charset_that_is_unknown_or_wrong(path: Path) -> None:
    for name in ("KLINGON", "rot13", "UTF-32"):
        error = broken(path, HEADER.format("fr", name))
        assert error.problem == (
            f"its header names the charset {name!r}, which is unknown or not one for PO files"
        )
        assert error.line == 4
    error = broken(path, HEADER.format("fr", "ASCII") + 'msgid "a"\nmsgstr "é"\n')
    assert error.problem == (
        "byte 9 of the line is 0xC3, which ascii, the charset that its header names, does not have"
    )
    assert error.line == 7
    path.write_bytes(b'msgid "a"\nmsgstr "\xe9"\n')
    with pytest.raises(DataError, match=r"not UTF-8: byte 9 of the line is 0xE9"):
        read_all(corpus_of(path, "po", langs="en fr"))


@pytest.mark.parametrize(
    "line", ['msgstr "cut of', 'msgstr "', '"open', '#~ msgid "x', 'msgstr "a" b"', 'msgstr "a\\"']
)
def test_a_string_that_does_not_end(path: Path, line: str) -> None:
    error = broken(path, f'msgid "a"\n{line}')
    assert error.line == 2
    assert error.problem == f"a string does not end properly: {line}"
    assert "If this is the last line, the file was cut off." in error.remedy


@pytest.mark.parametrize(
    "line", ["what is this?", 'msgstr[x] "a"', 'msgstr "a"\nmsgstr "b"', "#| nonsense"]
)
def test_what_is_no_po_file(path: Path, line: str) -> None:
    error = broken(path, HEADER.format("fr", "UTF-8") * 2000 + 'msgid "a"\n' + line + "\n")
    assert error.problem == f"is not a PO file here: {line.splitlines()[-1]}"
    assert error.line == 2000 * 5 + 1 + len(line.splitlines())
    assert "msgfmt -c -o /dev/null" in error.remedy


def test_a_string_that_belongs_to_nothing(path: Path) -> None:
    error = broken(path, '\n\n"stray"\n')
    assert (error.line, error.problem) == (3, 'is not a PO file here: "stray"')


def test_blocks_of_entries_are_the_same_as_the_whole(path: Path) -> None:
    """Entries of every kind, far more than a block, read as polib reads the whole file."""
    kinds = CATALOGUE[CATALOGUE.index("#: app.c") :].split("\n\n")
    entries = [
        kind.replace("gone", f"gone{number}").strip("\n") + "\n" * (1 + number % 3)
        for number, kind in enumerate(kinds * 1000)
    ]
    save(path, CATALOGUE[: CATALOGUE.index("#: app.c")] + "".join(entries))
    pairs, report = read_all(corpus_of(path, "po", langs="en fr"))
    whole = polib.pofile(str(path))
    expected = [
        (*pair, entry.linenum)
        for entry in whole
        if not (entry.obsolete or entry.fuzzy or not entry.translated())
        for pair in (
            [(entry.msgid, entry.msgstr)]
            if not entry.msgid_plural
            else [
                (entry.msgid, entry.msgstr_plural[0]),
                (entry.msgid_plural, entry.msgstr_plural[1]),
            ]
        )
    ]
    assert [tuple(pair) for pair in pairs] == expected
    assert skipped(report) == {
        "header": 1,
        "fuzzy": len([entry for entry in whole if entry.fuzzy]),
        "untranslated": 1000,
        "obsolete": len(whole.obsolete_entries()),
    }


def test_a_second_header_in_the_middle_is_counted(path: Path) -> None:
    save(path, HEADER.format("fr", "UTF-8") * 3 + 'msgid "a"\nmsgstr "b"\n')
    pairs, report = read_all(corpus_of(path, "po", langs="en fr"))
    assert len(pairs) == 1
    assert skipped(report) == {"header": 3}


def test_without_polib_the_message_says_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_po(path, [("a", "b")], "en", "fr")
    monkeypatch.delitem(sys.modules, "polib")
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingPackageError, match=r"Reading messages\.po needs .*'polib'"):
        read_all(corpus_of(path, "po", langs="en fr"))
