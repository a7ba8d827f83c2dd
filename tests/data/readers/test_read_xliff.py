"""Translation jobs, XLIFF 1 and 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_writers import corpus_of, read_all, save, skipped

from translucid.data.readers import Example, Pair, Skip
from translucid.errors import DataError

NAMESPACE = "urn:oasis:names:tc:xliff:document:"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.xlf"


def version_1(
    *units: str,
    languages: str = 'source-language="fr" target-language="en"',
    namespace: bool = True,
) -> str:
    space = f' xmlns="{NAMESPACE}1.2"' if namespace else ""
    body = "\n".join(units)
    return f'<xliff version="1.2"{space}><file {languages}><body>\n{body}\n</body></file></xliff>'


def version_2(*units: str, languages: str = 'srcLang="fr" trgLang="en"') -> str:
    body = "\n".join(units)
    head = f'<xliff version="2.1" xmlns="{NAMESPACE}2.0" {languages}>'
    return f'{head}<file id="1">\n{body}\n</file></xliff>'


def unit(source: str, target: str, attributes: str = "", target_attributes: str = "") -> str:
    return (
        f'<trans-unit id="1" {attributes}><source>{source}</source>'
        f"<target {target_attributes}>{target}</target></trans-unit>"
    )


@pytest.mark.parametrize("namespace", [True, False])
def test_version_1_with_groups_and_several_files(path: Path, namespace: bool) -> None:
    first = version_1(unit("un", "one"), namespace=namespace).removesuffix("</xliff>")
    save(
        path,
        first + '\n<file source-language="fr-CA" target-language="en-GB"><body><group><group>\n'
        f"{unit('deux', 'two')}</group>{unit('trois', 'three')}</group></body></file></xliff>",
    )
    pairs = [Pair("un", "one", 2), Pair("deux", "two", 5), Pair("trois", "three", 5)]
    assert read_all(corpus_of(path, "xliff"))[0] == pairs


def test_version_2_with_segments(path: Path) -> None:
    save(
        path,
        version_2(
            "<unit id='1'><notes><note>n</note></notes><segment><source>Un.</source>"
            "<target>One.</target></segment><ignorable><source> </source></ignorable>\n"
            "<segment><source>Deux <pc id='1'>gras</pc><ph id='2'/>.</source>"
            "<target>Two <pc id='1'>bold</pc><ph id='2'/>.</target></segment></unit>",
            "<group id='g'><unit id='2'><segment><source>Trois</source></segment></unit></group>",
        ),
    )
    pairs, report = read_all(corpus_of(path, "xliff"))
    assert pairs == [Pair("Un.", "One.", 2), Pair("Deux gras.", "Two bold.", 3)]
    assert skipped(report) == {"untranslated": 1}
    assert report.skipped[Skip.UNTRANSLATED].examples == [Example(4, "Trois")]


@pytest.mark.parametrize(
    "text",
    [
        version_1(unit("un", "one"), languages='source-language="fr" target-language="en-US"'),
        version_1(unit("un", "one"), languages='source-language="fr"'),
        version_1(unit("un", "one", "", 'xml:lang="en"'), languages='source-language="fr"'),
        version_1(unit("un", "one"), languages='target-language="en"'),
        version_1(unit("one", "un"), languages='source-language="en-GB" target-language="fr"'),
        version_1(unit("one", "un"), languages='source-language="en"'),
        version_1(unit("one", "un", "", 'xml:lang="fr"'), languages=""),
        version_2(
            "<unit id='1'><segment><source>one</source><target>un</target></segment></unit>",
            languages='srcLang="en" trgLang="fr"',
        ),
    ],
)
def test_languages_either_way_round(path: Path, text: str) -> None:
    save(path, text)
    assert read_all(corpus_of(path, "xliff"))[0] == [Pair("un", "one", 2)]
    assert read_all(corpus_of(path, "xliff", langs="en fr"))[0] == [Pair("one", "un", 2)]


def test_a_file_may_leave_the_region_out(path: Path) -> None:
    save(path, version_1(unit("un", "one")))
    assert read_all(corpus_of(path, "xliff", langs="fr-CA en-GB"))[0] == [Pair("un", "one", 2)]


def test_a_segmented_unit_gives_a_pair_for_each_mark(path: Path) -> None:
    save(
        path,
        version_1(
            '<trans-unit id="1"><source>Un. Deux. Trois.</source><seg-source>'
            '<g id="1"><mrk mtype="seg" mid="1">Un.</mrk> <mrk mtype="seg" mid="2">Deux '
            '<mrk mtype="protected">X</mrk>.</mrk></g> <mrk mtype="seg" mid="3">Trois.</mrk>'
            '</seg-source><target><mrk mtype="seg" mid="2">Two X.</mrk> '
            '<mrk mtype="seg" mid="1">One.</mrk></target>'
            "<alt-trans><source>no</source><target>no</target></alt-trans></trans-unit>"
        ),
    )
    pairs, report = read_all(corpus_of(path, "xliff"))
    assert pairs == [Pair("Un.", "One.", 2), Pair("Deux X.", "Two X.", 2)]
    assert report.skipped[Skip.UNTRANSLATED].examples == [Example(2, "Trois.")]


def marked(*marks: tuple[str, str]) -> str:
    return " ".join(f'<mrk mtype="seg" mid="{number}">{text}</mrk>' for number, text in marks)


def test_marks_that_do_not_meet_are_counted(path: Path) -> None:
    source, target = marked(("1", "Un.")), marked(("2", "Two."))
    save(
        path,
        version_1(
            f'<trans-unit id="1"><seg-source>{source}</seg-source><target>{target}</target>'
            "</trans-unit>"
        ),
    )
    pairs, report = read_all(corpus_of(path, "xliff"))
    assert pairs == []
    assert skipped(report) == {"untranslated": 1, "no source": 1}
    assert report.skipped[Skip.NO_SOURCE].examples == [Example(2, "Two.")]


def test_marks_without_numbers_of_their_own_give_the_whole_unit(path: Path) -> None:
    source, target = marked(("1", "Un."), ("1", "Deux.")), marked(("1", "One."), ("1", "Two."))
    save(
        path,
        version_1(
            f'<trans-unit id="1"><seg-source>{source}</seg-source><target>{target}</target>'
            "</trans-unit>"
        ),
    )
    assert read_all(corpus_of(path, "xliff"))[0] == [Pair("Un. Deux.", "One. Two.", 2)]


def test_a_segmented_source_with_a_whole_target_is_one_pair(path: Path) -> None:
    save(
        path,
        version_1(
            '<trans-unit id="1"><source>Un. Deux.</source><seg-source><mrk mtype="seg" mid="1">Un.'
            '</mrk><mrk mtype="seg" mid="2">Deux.</mrk></seg-source><target>One. Two.</target>'
            "</trans-unit>"
        ),
    )
    assert read_all(corpus_of(path, "xliff"))[0] == [Pair("Un. Deux.", "One. Two.", 2)]


def test_what_is_not_translated_is_counted_by_reason(path: Path) -> None:
    save(
        path,
        version_1(
            unit("un", "one"),
            '<trans-unit id="1"><source>no target</source></trans-unit>',
            unit("empty", ""),
            unit("new", "x", "", 'state="new"'),
            unit("needed", "x", "", 'state="needs-translation"'),
            unit("review", "x", "", 'state="needs-review-translation"'),
            unit("code", "x", 'translate="no"'),
            unit("done", "fait", "", 'state="translated"'),
            '<trans-unit id="1"/>',
        ),
    )
    pairs, report = read_all(corpus_of(path, "xliff"))
    assert [pair.source for pair in pairs] == ["un", "done"]
    assert skipped(report) == {
        "untranslated": 4,
        "fuzzy": 1,
        "not for translation": 1,
        "no source": 1,
    }


def test_a_file_in_other_languages(path: Path) -> None:
    german = version_1(unit("eins", "one"), languages='source-language="de" target-language="en"')
    save(path, german)
    with pytest.raises(DataError) as caught:
        read_all(corpus_of(path, "xliff"))
    assert caught.value.problem == "it translates de to en, not fr to en"
    assert caught.value.remedy == "Give its languages as --from and --to."
    save(
        path,
        version_1(unit("un", "one")).removesuffix("</xliff>") + german[german.index("<file") :],
    )
    pairs, report = read_all(corpus_of(path, "xliff"))
    assert pairs == [Pair("un", "one", 2)]
    assert skipped(report) == {"other languages": 1}
