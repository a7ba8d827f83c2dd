"""XML read unit by unit: constant memory, nothing expanded, every fault with its line."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

import pytest
from lxml import etree

from translucid.data.readers.corpus import ReadReport
from translucid.data.readers.xml import MAX_UNIT_BYTES, XmlFile, inline_text
from translucid.errors import DataError, MissingPackageError


def xml_file(path: Path) -> XmlFile:
    return XmlFile(path, root="tmx", units=("tu",), languages=("fr", "en"))


def units(path: Path) -> list[str]:
    return ["".join(unit.itertext()) for unit in xml_file(path).read(ReadReport())]


def broken(path: Path, data: bytes) -> DataError:
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        units(path)
    assert caught.value.path == path
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.tmx"


@pytest.mark.parametrize("namespace", [b"", b' xmlns="urn:t"'])
def test_units_are_found_at_any_depth_in_the_namespace_of_the_root(
    path: Path, namespace: bytes
) -> None:
    """An element of some tool that is called the same is no unit, even inside one."""
    path.write_bytes(
        b"<tmx%s><tu>a</tu><x><tu>b</tu></x>"
        b'<tu>c<o:tu xmlns:o="urn:o">d</o:tu>e</tu></tmx>' % namespace
    )
    assert units(path) == ["a", "b", "cde"]


def test_the_tree_does_not_grow_with_the_file(path: Path) -> None:
    unit = b"<note>x</note><!-- c --><?pi?><group><deep><tu><seg>text</seg></tu></deep></group>\n"
    path.write_bytes(b"<tmx>" + b"<prop/>" * 9 + b"<body>" + unit * 20_000 + b"</body></tmx>")
    sizes = [
        sum(1 for _ in unit.getroottree().iter())
        for number, unit in enumerate(xml_file(path).read(ReadReport()))
        if number % 500 == 0
    ]
    assert len(sizes) == 40
    # The parser is up to one block of 32 KB ahead.
    assert max(sizes) < 6 * (2 * 32768 // len(unit))


BOMB = b"<!DOCTYPE tmx [<!ENTITY a0 'ha'>%s]>\n<tmx>\n<tu>&a9;</tu></tmx>" % b"".join(
    b"<!ENTITY a%d '%s'>" % (level, b"&a%d;" % (level - 1) * 10) for level in range(1, 10)
)


@pytest.mark.parametrize(
    "data",
    [
        BOMB,
        BOMB.replace(b"<tu>", b"<tu x='&a9;'>"),
        BOMB.replace(b"&a9;</tu>", b"</tu>"),
        b"<!DOCTYPE tmx [<!ENTITY a 'b'>]><tmx><tu>&a;</tu></tmx>",
        b"<!DOCTYPE tmx [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><tmx><tu>&a;</tu></tmx>",
        b"<!DOCTYPE tmx [<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;]><tmx><tu/></tmx>",
        b"<!DOCTYPE tmx [<!ENTITY a 'b'>]><tmx></tmx>",
        b"<tmx><tu>caf&eacute;</tu></tmx>",
    ],
)
def test_entities_are_refused(path: Path, data: bytes) -> None:
    error = broken(path, data)
    assert "entit" in error.problem.lower()
    assert error.line is not None
    assert "Entities other than &amp; &lt; &gt; &quot; &apos; are refused" in error.remedy
    assert f"xmllint --noent {path} > NEW" in error.remedy


def test_an_undeclared_entity_under_an_outside_document_type_is_kept_as_written(path: Path) -> None:
    path.write_bytes(b'<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><tu>caf&eacute; noir</tu></tmx>')
    assert [inline_text(unit) for unit in xml_file(path).read(ReadReport())] == ["caf&eacute; noir"]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"<tmx>\n<tu>\n<seg>a</tu></tmx>", 3, "tag mismatch"),
        (b"<tmx>\n<tu>&#x1f;</tu></tmx>", 2, "invalid xmlChar value 31"),
        (b"<tmx>\n<tu>a & b</tu></tmx>", 2, "EntityRef: no name"),
        (b"<tmx>\n<tu/></tmx>\n<more/>", 3, "Extra content"),
        (b"plain text", 1, "'<' not found"),
        (b"", 1, "no element found"),
    ],
)
def test_malformed_xml_names_the_line(path: Path, data: bytes, line: int, words: str) -> None:
    error = broken(path, data)
    assert error.line == line
    assert error.problem.startswith("is not well-formed XML: ")
    assert words in error.problem
    assert f"`xmllint --noout {path}` checks" in error.remedy


def test_a_file_that_was_cut_off(path: Path) -> None:
    error = broken(path, b"<tmx>\n<tu></tu>\n<tu>a")
    assert error.line == 3
    assert error.remedy == "The file ends too early: copy, download or export it again."


def test_a_bare_ampersand_has_its_own_remedy(path: Path) -> None:
    error = broken(path, b"<tmx>\n<tu>AT&T</tu></tmx>")
    assert error.remedy.startswith("A plain & must be written &amp;. Repair")


def test_units_before_the_fault_were_given_first(path: Path) -> None:
    path.write_bytes(b"<tmx>" + b"<tu>a</tu>\n" * 10_000 + b"<tu>")
    seen: list[object] = []
    with pytest.raises(DataError):
        seen.extend(unit.tag for unit in xml_file(path).read(ReadReport()))
    assert len(seen) == 10_000


def test_bytes_that_are_not_in_the_declared_encoding(path: Path) -> None:
    error = broken(path, b"<tmx>\n<tu>\xe9t\xe9</tu></tmx>")
    assert error.line == 2
    assert 'encoding="WINDOWS-1252"' in error.remedy
    assert f"iconv -f WINDOWS-1252 -t UTF-8 {path} > NEW" in error.remedy


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig"])
def test_other_encodings_that_are_declared_are_read(path: Path, encoding: str) -> None:
    name = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{name}"?>\n<tmx><tu>été</tu></tmx>'
    path.write_bytes(text.encode(encoding))
    assert units(path) == ["été"]


def test_a_document_of_another_kind(path: Path) -> None:
    for data in (b"<html>\n<tu/></html>", b"<html/>"):
        error = broken(path, data)
        assert error.problem == ("is not what its name says: the root element is <html>, not <tmx>")
        assert "Give the file the extension of its format" in error.remedy


def test_a_text_of_more_than_ten_megabytes(path: Path) -> None:
    error = broken(path, b"<tmx>\n<tu>" + b"x" * 50_000_000 + b"</tu></tmx>")
    assert error.line == 2
    assert error.remedy == "A text of more than 10 MB is not a sentence: remove it."


def test_a_unit_that_does_not_end(path: Path) -> None:
    with path.open("wb") as file:  # each piece is small, so that the parser itself has no objection
        file.write(gzip.compress(b"<tmx>\n<tu>"))
        piece = gzip.compress((b"<!--" + b"x" * 1020 + b"-->\n") * 1024)
        for _ in range(MAX_UNIT_BYTES // (1 << 20) + 1):
            file.write(piece)
    with pytest.raises(DataError) as caught:
        units(path)
    assert caught.value.problem == "no <tu> ends within 64 MB"
    assert caught.value.line is not None
    assert caught.value.line > 60_000


def test_truncated_gzip(path: Path) -> None:
    data = b"<tmx>\n" + b"".join(b"<tu>%d</tu>\n" % number for number in range(20_000))
    cut = gzip.compress(data)[:-3000]
    path.write_bytes(cut)
    seen: list[str] = []
    with pytest.raises(DataError) as caught:
        seen.extend(unit.text for unit in xml_file(path).read(ReadReport()))
    lines = zlib.decompressobj(wbits=31).decompress(cut).count(b"\n")
    assert f"its gzip data ends too early after {lines:,} complete lines" in caught.value.problem
    assert caught.value.line == lines + 1
    # All that can be had is given; the parser itself holds back the last few bytes.
    assert seen == [str(number) for number in range(len(seen))]
    assert lines - 20 <= len(seen) <= lines


def test_a_file_that_cannot_be_opened(path: Path) -> None:
    path.symlink_to(path)
    with pytest.raises(DataError, match="cannot be read: Too many levels"):
        units(path)


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("<seg/>", ""),
        ("<seg>a &amp; b</seg>", "a & b"),
        ("<seg><![CDATA[<b>]]> x</seg>", "<b> x"),
        ('<seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept>!</seg>', "Press OK!"),
        ('<seg>a<ph x="1">{0}</ph> b <it pos="begin">&lt;i&gt;</it>c</seg>', "a b c"),
        ("<seg>a <hi>bold <hi>deep</hi></hi> c<ut>{\\cs6}</ut></seg>", "a bold deep c"),
        ("<seg>see<ph>&lt;fn&gt;<sub>a note</sub></ph> here</seg>", "see here"),
        (
            '<seg>one<ph type="lb"/>two<x ctype="lb"/>three<ph subType="xlf:lb"/>four</seg>',
            "one two three four",
        ),
        ('<seg><g id="1">a <mrk mtype="x">b</mrk></g><x id="2"/><pc id="3"> c</pc></seg>', "a b c"),
        (
            '<seg>nul<cp hex="0000"/><cp hex="1F600"/><cp hex="D800"/><cp hex="z"/><cp/></seg>',
            "nul\0😀\ufffd\ufffd\ufffd",
        ),
        ("<seg> a\n\tb </seg>", " a\n\tb "),
        ('<s:seg xmlns:s="urn:s">a<s:ph>code</s:ph>b</s:seg>', "ab"),
    ],
)
def test_inline_markup_is_stripped_to_text(segment: str, text: str) -> None:
    assert inline_text(etree.fromstring(segment)) == text


def test_without_lxml_the_message_says_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lxml", "lxml.etree"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingPackageError, match=r"Reading x\.tmx needs the package 'lxml'"):
        units(path)
